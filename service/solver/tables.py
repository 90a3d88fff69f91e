"""The market's small tables: distinct machine kinds, sellers, terms and sources over all feeds, and the groups.

What a request judges is judged on the smallest table that decides it and carried to the groups by index: a kind's
fit, a pace's hours, a lane's price age and policy.
"""

from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from service.solver.columns import Bools, Floats, Ints
from service.solver.memo import Memo

MedianKey = tuple[str, str, str, str]  # provider, gpu, capacity type, region class


_SIEVES: Final = 64  # some 300 KiB each on a market of 5,000 groups

LIVE: Final = 0
DATED: Final = 1
UNDATED: Final = 2
SUSPECT: Final = 3


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
    is_host: bool  # one named machine of a marketplace: there is no second one
    is_community: bool  # machines of the public: two of them never make a cluster
    min_machines: float = 1.0  # a cluster of fewer is not sold

    @property
    def is_market(self) -> bool:
        """Its price is set by many sellers and moves."""
        return self.is_host or self.is_community


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
    alone: Bools  # cannot be joined to a cluster: marketplace hosts, machines of the public, parts of a card
    single: Bools  # there is only one of it
    min_machines: Floats  # a cluster of fewer is not sold

    def __len__(self) -> int:
        return len(self.all)


@dataclass(frozen=True, eq=False)
class Sellers:
    """The sellers of a market: a cache key by identity."""

    all: tuple[Seller, ...]


@dataclass(frozen=True, eq=False)
class Paces:
    """Distinct (kind, interruption rate, billing step, session rules): what the paid hours of a run depend on."""

    kind: Ints
    hours_between_stops: Floats  # of one machine; infinite where nobody takes it away
    increment_hours: Floats  # 0: unknown, not priced
    stops: Ints  # those with a finite rate
    session_limit_hours: Floats  # infinite: no such limit
    weekly_quota_hours: Floats  # infinite: no quota is known
    limited: Ints  # those with a session limit or a quota

    @cached_property
    def step_or_never(self) -> Floats:
        """The billing step, infinite where it is unknown."""
        return np.where(self.increment_hours > 0, self.increment_hours, np.inf)


@dataclass(frozen=True, eq=False)
class Lanes:
    """Distinct (seller, terms, source): what policy, stock and age are judged on."""

    seller: Ints
    terms: Ints
    source: Ints


@dataclass(frozen=True, eq=False)
class GroupTable:
    """All groups of all feeds, one array element each; `pace` and `lane` index the tables."""

    kinds: Kinds
    sellers: Sellers
    terms_all: tuple[Terms, ...]
    sources: tuple[Source, ...]
    paces: Paces
    lanes: Lanes
    pace: Ints
    lane: Ints
    kind: Ints
    seller: Ints
    terms: Ints
    source: Ints
    gpu_count: Floats
    start: Ints  # of the group's rows in `row`, cheapest first
    size: Ints
    size_float: Floats
    row: Ints  # market row indices, group after group
    row_usd_per_hour: Floats  # along `row`
    row_id: npt.NDArray[np.uint64]  # offer ids along `row`
    by_price: Ints  # group numbers from the cheapest per GPU to the dearest
    usd_per_hour: Floats  # of the cheapest row
    suspect: Bools
    doubt: Ints  # LIVE, DATED, UNDATED or SUSPECT: how far a price is to be trusted
    superseded: Bools  # dated, and a live row of its provider, card and capacity type exists
    on_demand: Bools
    reserved: Ints  # the groups that are commitments
    has_step: Bools  # the billing step is known
    has_medians: bool
    median_usd_per_gpu_hour: Floats  # NaN where there are not enough days of history
    money: dict[str, Floats]  # the MONEY columns in dollars, seconds and GB; NaN where unknown
    memo: Memo = field(init=False, repr=False, default_factory=lambda: Memo(_SIEVES))

    def __len__(self) -> int:
        return len(self.kind)
