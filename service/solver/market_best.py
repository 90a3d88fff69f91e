"""The best option of each market tier, side by side, whether or not it is among the options shown."""

from collections.abc import Mapping, Sequence

import numpy as np

from providers.market_tiers import MarketTier
from service.domain.plan import BestOfMarketTier, PlanOption
from service.solver.candidates import Found
from service.solver.columns import Ints
from service.solver.market_tiers import markets_of
from service.solver.order import Entry
from service.solver.pick import Rows, cheapest
from service.solver.sieve import Sieve

_NONE = "no offer of this market meets the request: see the exclusions"


def first_of_markets(found: Found, sieve: Sieve, picked: Rows) -> tuple[dict[int, int], list[Rows]]:
    """By market tier the number of its cheapest row: among those picked, or after them among the rows that are added."""
    groups = found.allowed.groups
    market = markets_of(groups.sellers)
    first: dict[int, int] = {}
    for number, tier in enumerate(market[groups.seller[picked.group]].tolist()):
        first.setdefault(tier, number)
    added: list[Rows] = []
    for tier in range(len(MarketTier)):
        if tier in first:
            continue
        row = cheapest(found.allowed, 1, _members(sieve, market, groups.seller, tier))
        if len(row):
            first[tier] = len(picked) + len(added)
            added.append(row)
    return first, added


def _members(sieve: Sieve, market: Ints, seller: Ints, tier: int) -> Ints:
    def members() -> Ints:
        return np.flatnonzero(market[seller[sieve.allowed.at]] == tier)

    return sieve.kept.get(("tier", tier), members)


def best_of_markets(first: Mapping[int, Entry], options: Sequence[PlanOption]) -> tuple[BestOfMarketTier, ...]:
    """Per market tier the first of the options in it, else its cheapest beyond them, at rank 0."""
    shown = {option.market_tier: option for option in reversed(options)}
    best = []
    for place, tier in enumerate(MarketTier):
        option = shown.get(tier.value)
        if option is None and place in first:
            option = first[place].make(0, 0)
        best.append(BestOfMarketTier(market_tier=tier.value, option=option, reason=_NONE if option is None else None))
    return tuple(best)
