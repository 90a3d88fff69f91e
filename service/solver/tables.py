"""The market's small tables: distinct machine kinds, sellers, terms and sources over all feeds, and the groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from service.solver.columns import Bools, FeedColumns, Floats, Ints
from service.solver.groups import KIND, MONEY, SELLER, SOURCE, TERMS, FeedGroups, values_at
from service.solver.interruption import mean_hours_between_stops

LEAST_HISTORY_DAYS: Final = 14
MedianKey = tuple[str, str, str, str]  # provider, gpu, capacity type, region class


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceMedian:
    """Time-weighted 30-day median of a provider's price per GPU, and how many days of history it stands on."""

    usd_per_gpu_hour: float
    days: float
    low_usd_per_gpu_hour: float | None = None
    high_usd_per_gpu_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One shape of machine: what an estimate depends on."""

    gpu: str
    form_factor: str
    gpu_count: float
    gpu_memory_gb: float
    interconnect: str
    fabric: str
    arch: str
    is_host: bool


@dataclass(frozen=True, slots=True)
class Seller:
    """Who sells and where the machine stands: what policy depends on."""

    provider: str
    tier: str
    tenancy: str
    attestations: frozenset[str]
    country: str | None


@dataclass(frozen=True, slots=True)
class Terms:
    """How it is bought and whether it can be had."""

    capacity_type: str
    availability: str
    price_basis: str
    term_months: float | None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a price comes from: what its age depends on."""

    feed: str
    scope: str
    is_dated: bool
    as_of: date | None
    valid_until: date | None


@dataclass(frozen=True, eq=False)
class Kinds:
    """The machine kinds of a market: a cache key by identity, since a market never changes."""

    all: tuple[Kind, ...]
    gpu_count: Floats
    alone: Bools  # cannot be joined with others: one marketplace host, or a part of a card

    def __len__(self) -> int:
        return len(self.all)


@dataclass(frozen=True, eq=False)
class Sellers:
    """The sellers of a market: a cache key by identity."""

    all: tuple[Seller, ...]


@dataclass(frozen=True, eq=False)
class GroupTable:
    """All groups of all feeds, one array element each; `kind`, `seller`, `terms`, `source` index the tables."""

    kinds: Kinds
    sellers: Sellers
    terms_all: tuple[Terms, ...]
    sources: tuple[Source, ...]
    kind: Ints
    seller: Ints
    terms: Ints
    source: Ints
    start: Ints  # of the group's rows in `row`, cheapest first
    size: Ints
    row: Ints  # market row indices, group after group
    row_usd_per_hour: Floats  # along `row`
    row_id: npt.NDArray[np.uint64]  # offer ids along `row`
    by_price: Ints  # group numbers from the cheapest per GPU to the dearest
    usd_per_hour: Floats  # of the cheapest row
    suspect: Bools
    dated: Bools
    superseded: Bools  # dated, and a live row of its provider, card and capacity type exists
    hours_between_stops: Floats  # of one machine; infinite where nobody takes it away
    median_usd_per_gpu_hour: Floats  # NaN where there are not enough days of history
    money: dict[str, Floats]  # the MONEY columns in dollars, seconds and GB; NaN where unknown

    def __len__(self) -> int:
        return len(self.kind)


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
    tables: dict[str, dict[Any, int]] = {"kind": {}, "seller": {}, "terms": {}, "source": {}}
    makers = {"kind": (KIND, _kind), "seller": (SELLER, _seller), "terms": (TERMS, _terms), "source": (SOURCE, _source)}
    columns: dict[str, list[Any]] = {name: [] for name in (*tables, "size", "row", "usd", "id", "suspect", *MONEY)}
    base = 0
    for number, (feed, groups) in enumerate(zip(feeds, grouped, strict=True)):
        for name, (fields, make) in makers.items():
            columns[name].append(_indexed(feed, groups.parts[name], fields, make, tables[name]))
        columns["size"].append(np.diff(groups.starts))
        columns["row"].append(groups.order + base)
        columns["usd"].append(groups.sorted_usd_per_hour)
        columns["id"].append(feed.arrays["offer_id"][groups.order])
        base += feed.rows
        columns["suspect"].append(suspect[number][groups.representative])
        for name in MONEY:
            columns[name].append(_plain(feed, name, groups.representative))
    joined = {name: np.concatenate(parts) if parts else np.zeros(0) for name, parts in columns.items()}
    ints = {name: joined[name].astype(np.int64) for name in (*tables, "size", "row")}
    start = np.concatenate(([0], np.cumsum(ints["size"])[:-1])).astype(np.int64)[: len(ints["size"])]
    kinds, usd = tuple(tables["kind"]), joined["usd"].astype(np.float64)
    money = {name: joined[name].astype(np.float64) for name in MONEY}
    sellers, terms, sources = tuple(tables["seller"]), tuple(tables["terms"]), tuple(tables["source"])
    keys = list(zip(ints["seller"].tolist(), ints["terms"].tolist(), ints["kind"].tolist(), strict=True))
    return GroupTable(
        kinds=_kinds(kinds),
        sellers=Sellers(sellers),
        terms_all=terms,
        sources=sources,
        start=start,
        usd_per_hour=usd[start],
        row_usd_per_hour=usd,
        row_id=joined["id"].astype(np.uint64),
        by_price=np.argsort(usd[start] / np.array([kinds[k].gpu_count for k in ints["kind"].tolist()]), kind="stable"),
        suspect=joined["suspect"].astype(np.bool_),
        dated=np.array([sources[number].is_dated for number in ints["source"].tolist()], dtype=np.bool_),
        superseded=_superseded(keys, ints["source"].tolist(), sellers, terms, kinds, sources),
        hours_between_stops=_stops(keys, money, sellers, terms, kinds),
        median_usd_per_gpu_hour=_medians(keys, sellers, terms, kinds, medians),
        money=money,
        **ints,
    )


def _indexed(feed: FeedColumns, rows: Ints, fields: tuple[str, ...], make: Any, table: dict[Any, int]) -> Ints:
    """Per group the number of its part in the table over all feeds, which grows by what is new."""
    distinct, inverse = np.unique(rows, return_inverse=True)
    numbers = [table.setdefault(make(*values_at(feed, fields, row)), len(table)) for row in distinct.tolist()]
    return np.array(numbers, dtype=np.int64)[inverse] if numbers else np.zeros(0, np.int64)


def _kinds(kinds: tuple[Kind, ...]) -> Kinds:
    return Kinds(
        all=kinds,
        gpu_count=np.array([kind.gpu_count for kind in kinds], dtype=np.float64),
        alone=np.array([kind.is_host or kind.gpu_count < 1 for kind in kinds], dtype=np.bool_),
    )


def _kind(*values: Any) -> Kind:
    return Kind(*values)


def _seller(provider: str, tier: str, tenancy: str, attestations: str | None, country: str | None) -> Seller:
    return Seller(provider, tier, tenancy, frozenset(attestations.split("\x1f")) if attestations else frozenset(), country)


def _terms(*values: Any) -> Terms:
    return Terms(*values)


def _source(*values: Any) -> Source:
    return Source(*values)


def _plain(feed: FeedColumns, name: str, rows: Ints) -> Floats:
    """A money column in dollars (or seconds, GB, share), NaN where unknown."""
    array = feed.arrays[name][rows].astype(np.float64)
    if feed.arrays[name].dtype.kind == "f":
        return array
    known = np.where(array < 0, np.nan, array)
    return known if name == "billing_increment_seconds" else known / 1e6


def _superseded(
    keys: Sequence[tuple[int, int, int]],
    source_of: Sequence[int],
    sellers: Sequence[Seller],
    terms: Sequence[Terms],
    kinds: Sequence[Kind],
    sources: Sequence[Source],
) -> Bools:
    named = [(sellers[s].provider, kinds[k].gpu, terms[t].capacity_type) for s, t, k in keys]
    live = {name for name, source in zip(named, source_of, strict=True) if not sources[source].is_dated}
    dated = [sources[source].is_dated and name in live for name, source in zip(named, source_of, strict=True)]
    return np.array(dated, dtype=np.bool_)


def _stops(
    keys: Sequence[tuple[int, int, int]],
    money: Mapping[str, Floats],
    sellers: Sequence[Seller],
    terms: Sequence[Terms],
    kinds: Sequence[Kind],
) -> Floats:
    low, high = money["interruption_low"].tolist(), money["interruption_high"].tolist()
    found = [
        mean_hours_between_stops(
            capacity_type=terms[t].capacity_type,
            tenancy=sellers[s].tenancy,
            is_host=kinds[k].is_host,
            stopped_per_month=None if low[at] != low[at] else (low[at], high[at]),
        )
        for at, (s, t, k) in enumerate(keys)
    ]
    return np.array(found, dtype=np.float64)


def _medians(
    keys: Sequence[tuple[int, int, int]],
    sellers: Sequence[Seller],
    terms: Sequence[Terms],
    kinds: Sequence[Kind],
    medians: Mapping[MedianKey, PriceMedian],
) -> Floats:
    found = np.full(len(keys), np.nan)
    if not medians:
        return found
    for at, (s, t, k) in enumerate(keys):
        median = medians.get((sellers[s].provider, kinds[k].gpu, terms[t].capacity_type, region_class(sellers[s].country)))
        if median is not None and median.days >= LEAST_HISTORY_DAYS and (terms[t].capacity_type == "spot" or kinds[k].is_host):
            found[at] = median.usd_per_gpu_hour
    return found
