"""Storing a fetched batch: compare, judge by the gates, and write prices, blob, version and states in one transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from providers.offer import Batch, Offer
from service.flows import gates
from service.flows.packing import PackedOffers, pack_feed
from service.store import feeds, prices
from service.store.engine import reading, writing
from service.store.feeds import WHOLE_FEED, StateChange
from service.store.lease import HeldLease, check_fence


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult:
    """What one refresh of one feed came to."""

    feed: str
    outcome: str  # complete, partial, refused, failed
    new: int = 0
    changed: int = 0
    gone: int = 0
    unchanged: int = 0
    offers: int = 0  # current ones after it
    rejected: Mapping[str, int] = field(default_factory=dict)
    failed_scopes: Mapping[str, str] = field(default_factory=dict)
    truncated: bool = False
    error: str | None = None  # a stable code
    detail: str | None = None
    retry_after_seconds: float | None = None  # what the provider asked for

    @property
    def state(self) -> str:
        """The state word of the feed right after this refresh."""
        if self.outcome == "failed":
            return "failing"
        return "degraded" if self.outcome == "refused" or self.failed_scopes or self.truncated else "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRun:
    """Where a refresh writes, under which lease, by which clock, and what it may do."""

    engine: Engine
    clock: Callable[[], datetime]
    lease: HeldLease
    interval_seconds: int
    window: int | None = None  # the interval that this refresh is for; None: asked for by hand
    accept: bool = False  # take a batch that the gates refuse, but never an empty one

    def done_window(self) -> dict[str, int]:
        """The part of a state that says that this window needs no other refresh."""
        return {} if self.window is None else {"done_window": self.window}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """A batch beside what is stored."""

    feed: str
    batch: Batch
    offers: Mapping[str, Offer]
    before: Mapping[str, Any]  # the stored state of the whole feed
    found: prices.Difference
    packed: tuple[int, bytes] | None
    profile: dict[str, Any]


def store_batch(
    feed: str, batch: Batch, offers: Mapping[str, Offer], run: RefreshRun, *, observed_at: datetime
) -> RefreshResult | None:
    """Stores the batch, or refuses it and keeps what is stored. None: the feed was changed in between, compare again.

    Raises:
        LeaseLost: another process has taken over; nothing was written.
    """
    compared = _compare(feed, batch, offers, run)
    refusal = gates.refusal_of(batch, compared.profile, compared.before.get("profile"))
    if refusal is not None:
        agreeing = _agreeing_refusals(compared)
        if not batch.offers or not (run.accept or agreeing >= gates.AGREEING_REFRESHES):
            return _refuse(compared, refusal, agreeing, run)
    packed = None
    if not compared.found.is_empty:
        previous = None if compared.packed is None else compared.packed[1]
        packed = pack_feed(offers, touched=compared.found.hashes, previous=previous, kept_scopes=batch.failed_scopes)
    return _write(compared, packed, run, observed_at=observed_at)


def _compare(feed: str, batch: Batch, offers: Mapping[str, Offer], run: RefreshRun) -> _Compared:
    with reading(run.engine) as connection:
        before = feeds.feed_states(connection, feed).get((feed, WHOLE_FEED), {})
        packed = feeds.packed_columns(connection, feed)
        found = prices.difference(connection, feed, offers, kept_scopes=batch.failed_scopes)
    known = before.get("profile")
    if found.is_empty and known is not None:
        profile = {scope: part for scope, part in known.items() if scope not in batch.failed_scopes}
    else:
        profile = gates.profile_of(offers.values())
    return _Compared(feed=feed, batch=batch, offers=offers, before=before, found=found, packed=packed, profile=profile)


def _agreeing_refusals(compared: _Compared) -> int:
    """How many refused batches in a row tell the same story, this one included."""
    previous = compared.before.get("refused_profile")
    if previous is None or not gates.agree(previous, compared.profile):
        return 1
    return int(compared.before["refused_times"]) + 1


def _refuse(compared: _Compared, refusal: gates.Refusal, agreeing: int, run: RefreshRun) -> RefreshResult:
    counts = gates.counts_by_reason(compared.batch)
    change = StateChange(
        values={
            "last_attempt_at": run.clock(),
            "consecutive_failures": compared.before.get("consecutive_failures", 0) + 1,
            "outcome": "refused",
            "error": refusal.code,
            "detail": refusal.detail,
            "rejected": counts,
            "refused_profile": compared.profile,
            "refused_times": agreeing,
            **run.done_window(),
        }
    )
    with writing(run.engine) as connection:
        check_fence(connection, run.lease)
        feeds.save_states(connection, compared.feed, {WHOLE_FEED: change}, interval_seconds=run.interval_seconds)
    return RefreshResult(
        feed=compared.feed,
        outcome="refused",
        offers=compared.before.get("offers", 0),
        rejected=counts,
        failed_scopes=dict(compared.batch.failed_scopes),
        truncated=compared.batch.truncated,
        error=refusal.code,
        detail=refusal.detail,
    )


def _write(compared: _Compared, packed: PackedOffers | None, run: RefreshRun, *, observed_at: datetime) -> RefreshResult | None:
    feed, batch, found = compared.feed, compared.batch, compared.found
    with writing(run.engine) as connection:
        check_fence(connection, run.lease)
        market = feeds.lock_market(connection)
        if feeds.packed_version(connection, feed) != (compared.packed and compared.packed[0]):
            return None
        listed = int(compared.before.get("offers", 0))
        if packed is not None:
            now, listed = feeds.change_instant(market, run.clock()), packed.rows
            prices.apply_difference(connection, feed, compared.offers, found, at=now)
            version = feeds.bump_market(connection, market, at=now)
            feeds.save_packed(connection, feed, version=version, offers=listed, columns=packed.blob)
        changes = _accepted_states(compared, run, listed=listed, observed_at=observed_at)
        feeds.forget_other_scopes(connection, feed, changes)
        feeds.save_states(connection, feed, changes, interval_seconds=run.interval_seconds)
    return RefreshResult(
        feed=feed,
        outcome="partial" if gates.is_partial(batch) else "complete",
        new=len(found.new),
        changed=len(found.changed),
        gone=len(found.gone),
        unchanged=found.unchanged,
        offers=listed,
        rejected=gates.counts_by_reason(batch),
        failed_scopes=dict(batch.failed_scopes),
        truncated=batch.truncated,
        error=next(iter(batch.failed_scopes.values()), None),
    )


def _accepted_states(compared: _Compared, run: RefreshRun, *, listed: int, observed_at: datetime) -> dict[str, StateChange]:
    batch = compared.batch
    good = {"last_success_at": observed_at, "last_attempt_at": observed_at, "consecutive_failures": 0, "detail": None}
    kept = {scope: part for scope, part in (compared.before.get("profile") or {}).items() if scope in batch.failed_scopes}
    whole = {
        **good,
        "outcome": "partial" if gates.is_partial(batch) else "complete",
        "error": next(iter(batch.failed_scopes.values()), None),
        "offers": listed,
        "rejected": gates.counts_by_reason(batch),
        "is_truncated": batch.truncated,
        "profile": {**compared.profile, **kept},
        "refused_profile": None,
        "refused_times": 0,
        **run.done_window(),
    }
    changes = {WHOLE_FEED: StateChange(values=whole, seen_at=observed_at)}
    for scope in compared.profile.keys() - batch.failed_scopes.keys() - {WHOLE_FEED}:
        changes[scope] = StateChange(values={**good, "outcome": "complete", "error": None}, seen_at=observed_at)
    for scope, code in batch.failed_scopes.items():
        changes[scope] = StateChange(values={"last_attempt_at": observed_at, "outcome": "failed", "error": code})
    return changes
