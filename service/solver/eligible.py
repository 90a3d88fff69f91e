"""Eligible: the hard mask. Every group passes, or is left out under the first reason that holds.

What is judged once per machine kind, seller, terms or source is judged there and carried to the groups by index, so
that a request costs a few array operations whatever the number of offers. Policy is kept apart from the rest: the
best offer that only policy blocks is the price of the policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final

import numpy as np

from providers.errors import InvalidInput
from providers.gpus import select_gpus
from service.domain.request import Constraints, DataSensitivity, MinAvailability
from service.solver.ages import Age, ages_of
from service.solver.columns import Array, Bools
from service.solver.market import Market
from service.solver.market_tiers import market_of
from service.solver.policy import Asked, Judged, judge_sellers, regions_asked
from service.solver.pricing import Pricing
from service.solver.quotas import quotas_of
from service.solver.reasons import CODE, PASS
from service.solver.sieve import Sieve, sieve_of
from service.solver.tables import GroupTable, Kinds, Source, Terms

_HOURLY: Final = frozenset({"on_demand", "spot", "reserved", "free_tier"})
_STOCK: Final = {
    MinAvailability.ANY: frozenset({"available", "limited", "unavailable", "unknown"}),
    MinAvailability.NOT_SOLD_OUT: frozenset({"available", "limited", "unknown"}),
    MinAvailability.AVAILABLE: frozenset({"available"}),
}


@dataclass(frozen=True, eq=False)
class Mask:
    """What keeps groups and rows out of one request, and how old its prices are."""

    sieve: Sieve
    ages: tuple[Age, ...]  # per source

    @property
    def rows(self) -> Bools | None:
        """Per row along GroupTable.row, what all cuts leave; None: all rows of a group are alike."""
        return self.sieve.cuts[-1][1] if self.sieve.cuts else None


# What the mask reads of the constraints beside policy, quotas and ages; deadlines and counts speak through the kinds' reasons.
_READ: Final = attrgetter(
    "residency", "capacity_types", "providers", "exclude_providers", "market_tiers", "min_reliability_fraction", "gpus", "arch",
    "min_availability",
)  # fmt: skip


def mask_of(market: Market, constraints: Constraints, data_class: DataSensitivity, pricing: Pricing, now: datetime) -> Mask:
    """The mask of all groups for one request."""
    groups, ages, today = market.groups, ages_of(market, now), now.date()
    judged, pace = _judged(market, constraints, data_class, today), _pace_reasons(groups, constraints, pricing)
    make = partial(_sieve, market, constraints, judged, pricing, ages, today, pace)
    if constraints.quotas or constraints.max_price_age_hours is not None:  # by the amount of work and by the minute
        return Mask(make(), ages)
    key = ("sieve", judged, _READ(constraints), today, pricing.disk_gb, pace.tobytes())
    return Mask(groups.memo.get(key, make), ages)


def _judged(market: Market, constraints: Constraints, data_class: DataSensitivity, today: date) -> Judged:
    standing = market.standing
    registered = tuple(standing.acceptances[name] for name in constraints.accept if name in standing.acceptances)
    asked = Asked(
        data_class, constraints.regimes, constraints.min_isolation, constraints.residency, standing.policy, constraints.accept,
        registered,
    )  # fmt: skip
    return judge_sellers(market.groups.sellers, asked, today)


def _pace_reasons(groups: GroupTable, constraints: Constraints, pricing: Pricing) -> Array:
    """Why the work cannot be done at each pace: the card, its memory, its speed, interruptions and sessions."""
    paces = groups.paces
    kind = np.minimum(_kind_reasons(groups.kinds, constraints.gpus, constraints.arch), pricing.shapes.reason)
    pace: Array = kind[paces.kind]
    pace[pricing.mid.endless & (pace == PASS)] = CODE["interruptions"]
    pace[pricing.mid.over_limit & (pace == PASS)] = CODE["session_limit"]
    if len(paces.limited):  # sessions of a notebook make no cluster
        several = paces.limited[pricing.shapes.nodes[paces.kind[paces.limited]] > 1]
        pace[several] = np.minimum(pace[several], np.uint8(CODE["one_host"]))
    return pace


def _sieve(
    market: Market,
    constraints: Constraints,
    judged: Judged,
    pricing: Pricing,
    ages: Sequence[Age],
    today: date,
    pace: Array,
) -> Sieve:
    groups, lanes = market.groups, market.groups.lanes
    lane = np.minimum(
        _seller_reasons(groups, constraints)[lanes.seller], _terms_reasons(groups.terms_all, constraints)[lanes.terms]
    )
    lane = np.minimum(lane, _source_reasons(groups.sources, ages, constraints, today)[lanes.source])
    if not judged.by_region:
        lane = np.minimum(lane, judged.of_place[lanes.seller])
    other = np.minimum(pace[groups.pace], lane[groups.lane])
    if groups.superseded.any():
        other[groups.superseded & (other > CODE["superseded"])] = CODE["superseded"]
    if pricing.disk_gb is not None:
        small = groups.money["disk_max_gb"] < pricing.disk_gb  # NaN: not known to be small; a volume can be added
        other[small & (other > CODE["disk"])] = CODE["disk"]
    in_region = _rows_in_regions(market, constraints) if judged.by_region else None
    if in_region is not None:
        other, in_region = _by_region(groups, other, judged.of_place[groups.seller] == CODE["residency"], in_region)
    cuts = [] if in_region is None else [("residency", in_region)]
    if constraints.min_reliability_fraction is not None:
        reliable = reliable_rows(market, constraints.min_reliability_fraction)
        _cut("reliability", reliable, groups, other, cuts)
    quotas = quotas_of(market, constraints.quotas, pricing)
    if quotas is not None:
        _cut("quota", quotas.within, groups, other, cuts)
    policy = judged.of_class[lanes.seller][groups.lane]
    return sieve_of(groups, other, policy, judged, tuple(cuts), quotas)


def _cut(reason: str, kept: Bools, groups: GroupTable, other: Array, cuts: list[tuple[str, Bools]]) -> None:
    """Adds a cut of rows; a group that it leaves no row gets its reason, where no earlier one holds."""
    none = np.add.reduceat(kept, groups.start) == 0 if len(groups) else np.zeros(0, dtype=np.bool_)
    other[none] = np.minimum(other[none], np.uint8(CODE[reason]))
    cuts.append((reason, kept if not cuts else cuts[-1][1] & kept))


def _by_region(groups: GroupTable, other: Array, outside: Bools, in_region: Bools) -> tuple[Array, Bools]:
    """Groups outside the countries asked for pass with their rows in a region asked for, if they have any."""
    some = np.add.reduceat(in_region, groups.start) > 0 if len(groups) else np.zeros(0, dtype=np.bool_)
    place = np.where(outside & ~some, np.uint8(CODE["residency"]), np.uint8(PASS))
    return np.minimum(other, place), in_region | np.repeat(~outside, groups.size)


@lru_cache(maxsize=256)
def _kind_reasons(kinds: Kinds, gpus: tuple[str, ...] | None, arch: str | None) -> Array:
    """Reasons of the card and architecture asked for: a function of the kinds and these two words only."""
    reason = np.full(len(kinds), PASS, dtype=np.uint8)
    if arch is not None:
        reason[[kind.arch != arch for kind in kinds.all]] = CODE["arch"]
    if gpus is not None:
        wanted = cards_named(gpus)
        reason[[kind.gpu not in wanted for kind in kinds.all]] = CODE["gpu"]
    reason.flags.writeable = False
    return reason


def cards_named(names: Sequence[str]) -> frozenset[str]:
    """The table's names of all cards asked for; a family takes all its variants.

    Raises:
        UnknownGpu: with the place in the request and the nearest names.
    """
    found: set[str] = set()
    for at, name in enumerate(names):
        try:
            found.update(gpu.name for gpu in select_gpus(name))
        except InvalidInput as error:
            raise type(error)(str(error), pointer=f"/constraints/gpus/{at}", allowed=error.allowed) from error
    return frozenset(found)


def reliable_rows(market: Market, least: float) -> Bools:
    """Per row along GroupTable.row: no marketplace host, or one that is known to be at least so reliable."""
    parts = [
        (feed.arrays["machine_id"] < 0) | (np.nan_to_num(feed.arrays["reliability_fraction"], nan=-1.0) >= least)
        for feed in market.feeds
    ]
    rows: Bools = np.concatenate(parts)[market.groups.row] if parts else np.zeros(0, dtype=np.bool_)
    return rows


def _seller_reasons(groups: GroupTable, constraints: Constraints) -> Array:
    reason = np.full(len(groups.sellers.all), PASS, dtype=np.uint8)
    wanted, shunned = constraints.providers, constraints.exclude_providers
    if wanted is not None or shunned:
        out = [(wanted is not None and s.provider not in wanted) or s.provider in shunned for s in groups.sellers.all]
        reason[out] = CODE["provider"]
    if constraints.market_tiers is not None:
        other = np.array([market_of(seller) not in constraints.market_tiers for seller in groups.sellers.all], dtype=np.bool_)
        reason[other & (reason == PASS)] = CODE["market_tier"]
    return reason


def _terms_reasons(terms: Sequence[Terms], constraints: Constraints) -> Array:
    reason = np.full(len(terms), PASS, dtype=np.uint8)
    stock = _STOCK[constraints.min_availability]
    for at, one in enumerate(terms):
        if one.capacity_type not in constraints.capacity_types or one.capacity_type not in _HOURLY:
            reason[at] = CODE["capacity_type"]
        elif one.capacity_type == "reserved" and one.term_months is None:
            reason[at] = CODE["capacity_type"]  # a commitment of unknown length has no known cost
        elif one.availability not in stock:
            reason[at] = CODE["availability"]
    return reason


def _source_reasons(sources: Sequence[Source], ages: Sequence[Age], constraints: Constraints, today: date) -> Array:
    reason = np.full(len(sources), PASS, dtype=np.uint8)
    oldest = constraints.max_price_age_hours
    for at, (source, age) in enumerate(zip(sources, ages, strict=True)):
        if source.valid_until is not None and source.valid_until < today:
            reason[at] = CODE["expired"]
        elif oldest is not None and (age.hours is None or age.hours > oldest):
            reason[at] = CODE["price_age"]
    return reason


def _rows_in_regions(market: Market, constraints: Constraints) -> Bools | None:
    """Per row along GroupTable.row: is it in one of the regions asked for by name."""
    wanted = regions_asked(constraints.residency)
    if not wanted:
        return None
    known = {word for feed in market.feeds for word in feed.words["region"]}
    if unknown := sorted(set(wanted) - known):
        raise InvalidInput(
            "no country, group of countries or region of a provider has this name",
            pointer=f"/constraints/residency/{constraints.residency.index(unknown[0])}",
            allowed=("EU", "EEA", "EUROPE"),
        )
    parts = []
    for feed in market.feeds:
        named = np.array([word in wanted for word in feed.words["region"]] + [False], dtype=np.bool_)
        host = feed.arrays["tenancy"] == _code(feed.words["tenancy"], "community_host")
        parts.append(named[feed.arrays["region"]] & ~host)  # where a community host says it stands proves nothing
    rows: Bools = np.concatenate(parts)[market.groups.row]
    return rows


def _code(words: Sequence[str], word: str) -> int:
    return words.index(word) if word in words else -2
