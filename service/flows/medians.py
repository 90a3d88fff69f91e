"""Medians: time-weighted prices of the last 30 days, of what has 14 days of history, made once a day."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from sqlalchemy import Connection, Engine

from service.solver.merge import LEAST_HISTORY_DAYS, region_class
from service.solver.tables import MedianKey, PriceMedian
from service.store import feeds
from service.store.engine import reading, writing
from service.store.lease import HeldLease, check_fence
from service.store.medians import PricedSpan, priced_spans, save_medians

WINDOW: Final = timedelta(days=30)
_DAY_SECONDS: Final = 86_400.0


def refresh_medians(engine: Engine, lease: HeldLease, now: datetime) -> bool:
    """Makes the medians up to the last midnight (UTC) unless they are made; True when the market changed by it.

    They end at a midnight, so that a later `as_of` finds the same window unchanged.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with reading(engine) as connection:
        if feeds.market_version(connection).medians_for == midnight:
            return False
        medians = medians_until(connection, midnight)
    with writing(engine) as connection:
        check_fence(connection, lease)
        market = feeds.lock_market(connection)
        save_medians(connection, sorted(medians.items()))
        feeds.bump_market(connection, market, at=feeds.change_instant(market, now), medians_for=midnight)
    return True


def medians_until(connection: Connection, midnight: datetime) -> dict[MedianKey, PriceMedian]:
    """The medians of the 30 days before `midnight`, from the stored intervals."""
    spans: dict[MedianKey, list[PricedSpan]] = {}
    for span in priced_spans(connection, begins=midnight - WINDOW, ends=midnight):
        key = (span.provider, span.gpu, span.capacity_type, region_class(span.country))
        spans.setdefault(key, []).append(span)
    found = {key: median_of(group) for key, group in spans.items()}
    return {key: median for key, median in found.items() if median.days >= LEAST_HISTORY_DAYS}


def median_of(spans: Sequence[PricedSpan]) -> PriceMedian:
    """Median and quartiles of prices, each weighted by how long it held; `days` counts time with any price once."""
    prices = np.array([span.usd_per_gpu_hour for span in spans])
    seconds = np.array([(span.ends - span.begins).total_seconds() for span in spans])
    order = np.argsort(prices, kind="stable")
    share = np.cumsum(seconds[order]) / seconds.sum()

    def quantile(fraction: float) -> float:
        return float(prices[order][int(np.searchsorted(share, fraction - 1e-12))])

    return PriceMedian(
        usd_per_gpu_hour=quantile(0.5),
        days=_covered_seconds(spans) / _DAY_SECONDS,
        low_usd_per_gpu_hour=quantile(0.25),
        high_usd_per_gpu_hour=quantile(0.75),
    )


def _covered_seconds(spans: Iterable[PricedSpan]) -> float:
    covered, reached = 0.0, datetime.min.replace(tzinfo=UTC)
    for span in sorted(spans, key=lambda span: span.begins):
        if span.ends > reached:
            covered += (span.ends - max(span.begins, reached)).total_seconds()
            reached = span.ends
    return covered
