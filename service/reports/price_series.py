"""Price series: intervals in which offers had one price, as lowest, median and highest price over time."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import median
from typing import Final

from providers.offer import CapacityType
from service.domain.history import PriceInterval
from service.reports.chart_data import PricePoint, PriceSeries

STEPS: Final = 120  # instants at which the prices are looked at


def series_of(gpu: str, intervals: Sequence[PriceInterval], *, since: datetime, until: datetime) -> PriceSeries:
    """The prices that held at evenly spread instants, spot and on demand apart.

    The time begins with the first price that is known, not before.
    """
    since = max(since, min((one.valid_from for one in intervals), default=since))
    return PriceSeries(
        gpu=gpu,
        spot=_points([one for one in intervals if one.capacity_type is CapacityType.SPOT], since, until),
        on_demand=_points([one for one in intervals if one.capacity_type is CapacityType.ON_DEMAND], since, until),
    )


def _points(intervals: Sequence[PriceInterval], since: datetime, until: datetime) -> list[PricePoint]:
    step = (until - since) / STEPS
    found = []
    for number in range(STEPS + 1):
        at = since + number * step if number < STEPS else until
        prices = sorted(_prices_at(intervals, at, is_end=number == STEPS))
        if prices:
            found.append(PricePoint(at=at, low=prices[0], median=median(prices), high=prices[-1]))
    return found


def _prices_at(intervals: Iterable[PriceInterval], at: datetime, *, is_end: bool) -> Iterable[float]:
    """Prices of the offers that were there. At the end of the time: just before it, since `until` is not included."""
    for one in intervals:
        starts = one.valid_from < at if is_end else one.valid_from <= at
        lasts = one.valid_to is None or (one.valid_to >= at if is_end else one.valid_to > at)
        if starts and lasts:
            yield one.usd_per_gpu_hour
