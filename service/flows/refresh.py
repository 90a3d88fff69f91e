"""Refresh: read one provider and hand its batch to storage; a failure is noted and leaves the last good prices."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final

import httpx
from sqlalchemy import Engine

from providers.base import Adapter
from providers.errors import OptimizerError, ProviderError, ProviderNeedsKey
from providers.offer import DUPLICATE, NO_PRICE, Batch, CapacityType, Offer, Rejected
from service.flows.storing import RefreshResult, RefreshRun, store_batch
from service.store import feeds
from service.store.engine import reading, writing
from service.store.feeds import WHOLE_FEED, StateChange
from service.store.lease import check_fence

__all__ = ["RefreshResult", "RefreshRun", "record_failure", "refresh_feed"]

_TRIES: Final = 3  # of the comparison, when another refresh of the same feed came between
_LEAST_STORED_USD: Final = Decimal("0.0000005")  # below it a price would be stored as 0
_MOST_DETAIL: Final = 500


class RefreshConflict(OptimizerError):
    """The feed was changed by others each time that this refresh came to write."""

    code = "refresh-conflict"


def refresh_feed(adapter: Adapter, http: httpx.Client, run: RefreshRun) -> RefreshResult:
    """Reads a provider and stores what it sells; a failed or refused refresh leaves the last good prices.

    No transaction is open during the fetch.

    Raises:
        LeaseLost: another process has taken over; nothing was written.
    """
    try:
        if missing := adapter.missing_credentials():
            raise ProviderNeedsKey(adapter.name, missing)
        payload = adapter.fetch(http)
        observed_at = run.clock()
        batch, offers = _by_id(adapter.parse(payload, observed_at))
    except ProviderError as error:
        return record_failure(adapter.name, run, error)
    return _stored(adapter.name, batch, offers, run, observed_at)


def _stored(feed: str, batch: Batch, offers: dict[str, Offer], run: RefreshRun, observed_at: datetime) -> RefreshResult:
    for _ in range(_TRIES):
        if result := store_batch(feed, batch, offers, run, observed_at=observed_at):
            return result
    return record_failure(feed, run, RefreshConflict(f"{feed}: another refresh kept changing it"))


def record_failure(feed: str, run: RefreshRun, error: OptimizerError) -> RefreshResult:
    """Notes a refresh that gave nothing: the window stays open, so that it may be tried again in it."""
    detail = str(error)[:_MOST_DETAIL]
    with writing(run.engine) as connection:
        check_fence(connection, run.lease)
        known = feeds.feed_states(connection, feed).get((feed, WHOLE_FEED), {})
        values = {
            "last_attempt_at": run.clock(),
            "consecutive_failures": known.get("consecutive_failures", 0) + 1,
            "outcome": "failed",
            "error": error.code,
            "detail": detail,
        }
        feeds.save_states(connection, feed, {WHOLE_FEED: StateChange(values=values)}, interval_seconds=run.interval_seconds)
    wait = error.retry_after if isinstance(error, ProviderError) else None
    return RefreshResult(
        feed=feed,
        outcome="failed",
        offers=known.get("offers", 0),
        error=error.code,
        detail=detail,
        retry_after_seconds=None if wait is None else wait.total_seconds(),
    )


def _by_id(batch: Batch) -> tuple[Batch, dict[str, Offer]]:
    """The offers ordered by id, and the batch with what cannot be stored counted as rejected."""
    found: dict[str, Offer] = {}
    rejected: list[Rejected] = []
    for offer in batch.offers:
        offer_id = offer.offer_id
        if offer_id in found:
            rejected.append(Rejected(reason=DUPLICATE, row=offer_id))
        elif offer.usd_per_hour <= _LEAST_STORED_USD and offer.capacity_type is not CapacityType.FREE_TIER:
            rejected.append(Rejected(reason=NO_PRICE, row=offer_id, detail="below a millionth of a dollar"))
        else:
            found[offer_id] = offer
    offers = {offer_id: found[offer_id] for offer_id in sorted(found)}
    if rejected:
        batch = replace(batch, offers=tuple(offers.values()), rejected=(*batch.rejected, *rejected))
    return batch, offers


def feed_is_done(engine: Engine, feed: str, window: int) -> bool:
    """True when this interval's refresh of the feed is stored (or refused) already, by whichever process."""
    with reading(engine) as connection:
        state = feeds.feed_states(connection, feed).get((feed, WHOLE_FEED), {})
    done = state.get("done_window")
    return done is not None and done >= window
