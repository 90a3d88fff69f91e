"""Chat's use cases below any platform: changed prices, the cheaper of two machines, what was charged, the last plans."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

import numpy as np
from sqlalchemy import Engine

from providers.offer import CapacityType
from service.domain.history import HistoryQuery, PriceInterval
from service.domain.plan import Leader, Plan, PlanOption
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest
from service.flows.history import first_place, list_history
from service.flows.plan import make_plan
from service.solver.columns import FeedColumns
from service.solver.market import FeedStatus, Market

KEPT: Final = timedelta(hours=24)
MOST_KEPT: Final = 2000
MOST_INTERVALS: Final = 5000
NEGOTIATED: Final = "negotiated"


class PlanStore(Protocol):
    """Where plans are found by their id."""

    def get(self, plan_id: str) -> Plan | None:
        """The plan, None when it is not there."""


class LastPlans:
    """The last plan of each asker, for 24 hours and in this process only; the oldest go first when it is full."""

    def __init__(self, clock: Callable[[], datetime], *, most: int = MOST_KEPT) -> None:
        self._clock, self._most = clock, most
        self._plans: OrderedDict[str, tuple[datetime, Plan, PlanRequest]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, asker: str, plan: Plan, request: PlanRequest) -> None:
        """Takes the place of the asker's earlier plan."""
        with self._lock:
            self._plans.pop(asker, None)
            self._plans[asker] = (self._clock(), plan, request)
            while len(self._plans) > self._most:
                self._plans.popitem(last=False)

    def last(self, asker: str) -> tuple[Plan, PlanRequest] | None:
        """The asker's last plan and what it answers; None after 24 hours."""
        with self._lock:
            kept = self._plans.get(asker)
        if kept is None or self._clock() - kept[0] > KEPT:
            return None
        return kept[1], kept[2]

    def get(self, plan_id: str) -> Plan | None:
        """A plan that anybody was given in the last 24 hours."""
        with self._lock:
            kept = [entry for entry in reversed(self._plans.values()) if entry[1].plan_id == plan_id]
        return kept[0][1] if kept and self._clock() - kept[0][0] <= KEPT else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatWorld:
    """What an answer is made from."""

    clock: Callable[[], datetime]
    market: Callable[[], Market | None]
    engine: Engine
    last_plans: LastPlans
    pools: Callable[[], Mapping[str, OnPremPool]] = dict
    statuses: Callable[[], Sequence[FeedStatus]] = tuple
    default_sensitivity: DataSensitivity = DataSensitivity.INTERNAL
    public_url: str | None = None
    saved: PlanStore | None = field(default=None)

    def plan(self, request: PlanRequest, market: Market) -> Plan:
        """The plan on this market."""
        return make_plan(request, market, now=self.clock(), pools=self.pools(), default_sensitivity=self.default_sensitivity)

    def find(self, plan_id: str) -> Plan | None:
        """A saved plan, or one of the last 24 hours."""
        found = self.saved.get(plan_id) if self.saved is not None else None
        return found or self.last_plans.get(plan_id)


def sellers(market: Market) -> frozenset[str]:
    """Everyone who sells on this market."""
    return frozenset(name for feed in market.feeds for name in feed.words["provider"])


def holds_negotiated(market: Market) -> bool:
    """Whether any price on this market is the user's own: totals, reasons and verdicts may then tell it."""
    return any(NEGOTIATED in feed.words["price_basis"] for feed in market.feeds)


def repriced(market: Market, change: float) -> Market:
    """The market with every cloud price, and what is known of past ones, changed by this share."""
    feeds = {name: _scaled(feed, 1 + change) for name, feed in zip(market.feed_names, market.feeds, strict=True)}
    medians = {
        key: replace(
            median,
            usd_per_gpu_hour=median.usd_per_gpu_hour * (1 + change),
            low_usd_per_gpu_hour=_changed(median.low_usd_per_gpu_hour, change),
            high_usd_per_gpu_hour=_changed(median.high_usd_per_gpu_hour, change),
        )
        for key, median in market.medians.items()
    }
    return Market.build(
        feeds,
        market.statuses,
        snapshot_id=f"{market.snapshot_id}{change:+.4g}",
        as_of=market.as_of,
        medians=medians,
        calibration=market.calibration,
    )


def _changed(usd: float | None, change: float) -> float | None:
    return None if usd is None else usd * (1 + change)


def _scaled(feed: FeedColumns, factor: float) -> FeedColumns:
    prices = np.maximum(np.rint(feed.arrays["usd_per_hour"] * factor), np.minimum(feed.arrays["usd_per_hour"], 1)).astype(
        np.int64
    )
    prices.flags.writeable = False
    return FeedColumns(rows=feed.rows, arrays={**feed.arrays, "usd_per_hour": prices}, words=feed.words)


def by_time(plan: Plan) -> Plan:
    """The same options, the soonest first; numbers follow the new order."""
    ordered = sorted(plan.options, key=lambda option: (option.hours.mid, option.rank))
    numbers = {option.rank: number for number, option in enumerate(ordered, 1)}

    def moved(leader: Leader) -> Leader:
        return replace(leader, rank=None if leader.rank is None else numbers[leader.rank])

    leaders = replace(
        plan.leaders,
        cheapest_listed=moved(plan.leaders.cheapest_listed),
        cheapest_obtainable=moved(plan.leaders.cheapest_obtainable),
    )
    return replace(plan, options=tuple(replace(one, rank=numbers[one.rank]) for one in ordered), leaders=leaders)


def best_of(world: ChatWorld, requests: Sequence[PlanRequest], market: Market) -> tuple[PlanOption | None, Plan]:
    """The cheapest first option of several plans, and the plan that it stands in (of none: the first)."""
    plans = [world.plan(request, market) for request in requests]
    able = [plan for plan in plans if plan.options]
    if not able:
        return None, plans[0]
    best = min(able, key=lambda plan: plan.options[0].cost.ranking_usd)
    return best.options[0], best


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedRow:
    """What one seller charged for one whole GPU and an hour over a time."""

    provider: str
    capacity_type: CapacityType
    lowest: float
    median: float  # over time, each interval by its length
    highest: float
    now: float | None  # the lowest that still holds
    offers: int


def charged(
    engine: Engine, *, gpu: str, capacity_types: Sequence[CapacityType], providers: Sequence[str], days: float, now: datetime
) -> tuple[tuple[ChargedRow, ...], bool]:
    """By seller and kind, cheapest first; True when there was more than could be read."""
    query = HistoryQuery.model_validate(
        {
            "gpu": [gpu], "provider": list(providers), "capacity_type": list(capacity_types),
            "from": (now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ"), "to": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "limit": 1000,
        }
    )  # fmt: skip
    place = first_place(query, now)
    found: list[PriceInterval] = []
    while True:
        page, more = list_history(engine, query, place)
        found += page.intervals
        if more is None or len(found) >= MOST_INTERVALS:
            break
        place = more
    groups: dict[tuple[str, CapacityType], list[PriceInterval]] = {}
    for interval in found:
        groups.setdefault((interval.provider, interval.capacity_type), []).append(interval)
    rows = [_charged(provider, kind, intervals, place.since, place.until) for (provider, kind), intervals in groups.items()]
    return tuple(sorted(rows, key=lambda row: (row.median, row.provider))), more is not None


def _charged(
    provider: str, kind: CapacityType, intervals: Sequence[PriceInterval], since: datetime, until: datetime
) -> ChargedRow:
    weighted = sorted((one.usd_per_gpu_hour, _seconds(one, since, until)) for one in intervals)
    half, passed, median = sum(seconds for _, seconds in weighted) / 2, 0.0, weighted[-1][0]
    for usd, seconds in weighted:
        passed += seconds
        if passed >= half:
            median = usd
            break
    open_now = [one.usd_per_gpu_hour for one in intervals if one.valid_to is None]
    return ChargedRow(
        provider=provider, capacity_type=kind, lowest=weighted[0][0], median=median, highest=weighted[-1][0],
        now=min(open_now, default=None), offers=len({one.offer_id for one in intervals}),
    )  # fmt: skip


def _seconds(interval: PriceInterval, since: datetime, until: datetime) -> float:
    return max(0.0, (min(interval.valid_to or until, until) - max(interval.valid_from, since)).total_seconds())
