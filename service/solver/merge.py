"""Merge: one GroupTable out of the groups of all feeds."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from providers.units import SECONDS_PER_HOUR
from service.solver.columns import Array, Bools, FeedColumns, Floats, Ints
from service.solver.groups import KIND, MONEY, SELLER, SOURCE, TERMS, FeedGroups, values_at
from service.solver.interruption import mean_hours_between_stops
from service.solver.tables import (
    DATED,
    LIVE,
    SUSPECT,
    UNDATED,
    GroupTable,
    Kind,
    Kinds,
    Lanes,
    MedianKey,
    Paces,
    PriceMedian,
    Seller,
    Sellers,
    Source,
    Terms,
)

LEAST_HISTORY_DAYS: Final = 14
_PARTS: Final = ("kind", "seller", "terms", "source")


def region_class(country: str | None) -> str:
    """The class of places over which a price's history is pooled: one country, or unknown."""
    return country or "unknown"


def merged(
    feeds: Sequence[FeedColumns],
    grouped: Sequence[FeedGroups],
    suspect: Sequence[Bools],
    medians: Mapping[MedianKey, PriceMedian],
) -> GroupTable:
    """One table of all feeds' groups."""
    joined, found = _joined(feeds, grouped, suspect)
    money = {name: joined[name].astype(np.float64) for name in MONEY}
    parts = {name: joined[name].astype(np.int64) for name in _PARTS}
    kinds, parts["kind"] = _ordered_kinds(tuple(found["kind"]), parts["kind"])
    sellers, terms, sources = tuple(found["seller"]), tuple(found["terms"]), tuple(found["source"])
    keys = _Keys(kinds, sellers, terms, sources, parts)
    size = joined["size"].astype(np.int64)
    start = (np.cumsum(size) - size).astype(np.int64)
    usd = joined["usd"].astype(np.float64)
    step = np.nan_to_num(money["billing_increment_seconds"]) / SECONDS_PER_HOUR
    rules = [np.where(np.isnan(money[name]), np.inf, money[name]) for name in ("session_limit_hours", "weekly_quota_hours")]
    paces, pace = _paces(parts["kind"], keys.hours_between_stops(money), step, *rules)
    lanes, lane = _lanes(parts)
    gpu_count = kinds.gpu_count[parts["kind"]]
    capacity = np.array([one.capacity_type for one in terms])[parts["terms"]] if terms else np.zeros(0, dtype=np.str_)
    return GroupTable(
        kinds=kinds, sellers=_sellers(sellers), terms_all=terms, sources=sources, paces=paces, lanes=lanes, pace=pace,
        lane=lane, gpu_count=gpu_count, start=start, size=size, size_float=size.astype(np.float64),
        row=joined["row"].astype(np.int64), row_usd_per_hour=usd,
        row_id=joined["id"].astype(np.uint64), by_price=np.argsort(usd[start] / gpu_count, kind="stable"),
        usd_per_hour=usd[start], suspect=joined["suspect"].astype(np.bool_), doubt=keys.doubt(joined["suspect"].astype(np.bool_)),
        superseded=keys.superseded(), on_demand=np.asarray(capacity == "on_demand", dtype=np.bool_),
        reserved=np.flatnonzero(capacity == "reserved"), has_step=~np.isnan(money["billing_increment_seconds"]),
        has_medians=bool(medians), median_usd_per_gpu_hour=keys.medians(medians), money=money, **parts,
    )  # fmt: skip


def _joined(
    feeds: Sequence[FeedColumns], grouped: Sequence[FeedGroups], suspect: Sequence[Bools]
) -> tuple[dict[str, Array], dict[str, dict[Any, int]]]:
    """The feeds' group columns end to end, and the distinct parts over all feeds."""
    found: dict[str, dict[Any, int]] = {name: {} for name in _PARTS}
    makers: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
        "kind": (KIND, Kind),
        "seller": (SELLER, _seller),
        "terms": (TERMS, Terms),
        "source": (SOURCE, Source),
    }
    columns: dict[str, list[Any]] = {name: [] for name in (*_PARTS, "size", "row", "usd", "id", "suspect", *MONEY)}
    base = 0
    for feed, groups, marked in zip(feeds, grouped, suspect, strict=True):
        for name, (fields, make) in makers.items():
            columns[name].append(_indexed(feed, groups.parts[name], fields, make, found[name]))
        columns["size"].append(np.diff(groups.starts))
        columns["row"].append(groups.order + base)
        columns["usd"].append(groups.sorted_usd_per_hour)
        columns["id"].append(feed.arrays["offer_id"][groups.order])
        columns["suspect"].append(marked[groups.representative])
        for name in MONEY:
            columns[name].append(_plain(feed, name, groups.representative))
        base += feed.rows
    return {name: np.concatenate(parts) if parts else np.zeros(0) for name, parts in columns.items()}, found


def _indexed(feed: FeedColumns, rows: Ints, fields: tuple[str, ...], make: Callable[..., Any], table: dict[Any, int]) -> Ints:
    """Per group the number of its part in the table over all feeds, which grows by what is new."""
    distinct, inverse = np.unique(rows, return_inverse=True)
    numbers = [table.setdefault(make(*values_at(feed, fields, row)), len(table)) for row in distinct.tolist()]
    return np.array(numbers, dtype=np.int64)[inverse] if numbers else np.zeros(0, np.int64)


def _seller(provider: str, tier: str, tenancy: str, attestations: str | None, country: str | None) -> Seller:
    return Seller(provider, tier, tenancy, frozenset(attestations.split("\x1f")) if attestations else frozenset(), country)


def _plain(feed: FeedColumns, name: str, rows: Ints) -> Floats:
    """A money column in dollars (or seconds, GB, share), NaN where unknown."""
    array = feed.arrays[name][rows].astype(np.float64)
    if feed.arrays[name].dtype.kind == "f":
        return array
    known = np.where(array < 0, np.nan, array)
    return known if name == "billing_increment_seconds" else known / 1e6


def _ordered_kinds(kinds: tuple[Kind, ...], of_group: Ints) -> tuple[Kinds, Ints]:
    """The kinds in one order whatever the feeds' order, so that equal kinds are one key of memoised estimates."""
    order = sorted(range(len(kinds)), key=lambda at: repr(kinds[at]))
    place = np.empty(len(kinds), dtype=np.int64)
    place[order] = np.arange(len(kinds))
    return _kinds(tuple(kinds[at] for at in order)), place[of_group]


@lru_cache(maxsize=16)
def _kinds(kinds: tuple[Kind, ...]) -> Kinds:
    return Kinds(
        all=kinds,
        gpu_count=np.array([kind.gpu_count for kind in kinds], dtype=np.float64),
        alone=np.array([kind.is_market or kind.gpu_count < 1 for kind in kinds], dtype=np.bool_),
        single=np.array([kind.is_host for kind in kinds], dtype=np.bool_),
        min_machines=np.array([kind.min_machines for kind in kinds], dtype=np.float64),
    )


@lru_cache(maxsize=16)
def _sellers(sellers: tuple[Seller, ...]) -> Sellers:
    return Sellers(sellers)


def _paces(kind: Ints, stops: Floats, step: Floats, limit: Floats, quota: Floats) -> tuple[Paces, Ints]:
    rows = np.stack([kind.astype(np.float64), stops, step, limit, quota], axis=1)
    distinct, pace = np.unique(rows, axis=0, return_inverse=True)
    made = Paces(
        kind=distinct[:, 0].astype(np.int64), hours_between_stops=distinct[:, 1].copy(),
        increment_hours=distinct[:, 2].copy(), stops=np.flatnonzero(np.isfinite(distinct[:, 1])),
        session_limit_hours=distinct[:, 3].copy(), weekly_quota_hours=distinct[:, 4].copy(),
        limited=np.flatnonzero(np.isfinite(distinct[:, 3:]).any(axis=1)),
    )  # fmt: skip
    return made, pace.astype(np.int64).reshape(-1)


def _lanes(parts: Mapping[str, Ints]) -> tuple[Lanes, Ints]:
    rows = np.stack([parts["seller"], parts["terms"], parts["source"]], axis=1)
    distinct, lane = np.unique(rows, axis=0, return_inverse=True)
    made = Lanes(seller=distinct[:, 0].copy(), terms=distinct[:, 1].copy(), source=distinct[:, 2].copy())
    return made, lane.astype(np.int64).reshape(-1)


class _Keys:
    """The parts of every group as objects: what can only be told by looking at each."""

    def __init__(
        self,
        kinds: Kinds,
        sellers: Sequence[Seller],
        terms: Sequence[Terms],
        sources: Sequence[Source],
        parts: Mapping[str, Ints],
    ) -> None:
        numbers = zip(*(parts[name].tolist() for name in _PARTS), strict=True)
        self.all = [(kinds.all[k], sellers[s], terms[t], sources[o]) for k, s, t, o in numbers]

    def doubt(self, suspect: Bools) -> Ints:
        """How far each price is to be trusted: read live, from a table of a day or of none, or suspect."""
        dates = [LIVE if not source.is_dated else UNDATED if source.as_of is None else DATED for _, _, _, source in self.all]
        return np.where(suspect, SUSPECT, np.array(dates, dtype=np.int64)).astype(np.int64)

    def superseded(self) -> Bools:
        """Dated where a live price of the provider, card and capacity type exists."""
        named = [(seller.provider, kind.gpu, terms.capacity_type) for kind, seller, terms, _ in self.all]
        live = {name for name, (_, _, _, source) in zip(named, self.all, strict=True) if not source.is_dated}
        dated = [source.is_dated and name in live for name, (_, _, _, source) in zip(named, self.all, strict=True)]
        return np.array(dated, dtype=np.bool_)

    def hours_between_stops(self, money: Mapping[str, Floats]) -> Floats:
        """Mean hours until one machine is taken away."""
        bands = zip(money["interruption_low"].tolist(), money["interruption_high"].tolist(), strict=True)
        found = [
            mean_hours_between_stops(
                capacity_type=terms.capacity_type,
                tenancy=seller.tenancy,
                is_host=kind.is_host,
                stopped_per_month=None if low != low else (low, high),
            )
            for (kind, seller, terms, _), (low, high) in zip(self.all, bands, strict=True)
        ]
        return np.array(found, dtype=np.float64)

    def medians(self, medians: Mapping[MedianKey, PriceMedian]) -> Floats:
        """The 30-day median of spot and marketplace prices, where there is history enough."""
        found = np.full(len(self.all), np.nan)
        for at, (kind, seller, terms, _) in enumerate(self.all if medians else ()):
            if terms.capacity_type != "spot" and not kind.is_market:
                continue
            median = medians.get((seller.provider, kind.gpu, terms.capacity_type, region_class(seller.country)))
            if median is not None and median.days >= LEAST_HISTORY_DAYS:
                found[at] = median.usd_per_gpu_hour
        return found
