"""The best option of each market tier, side by side, whether or not it is among the options shown."""

from collections.abc import Sequence

from providers.market_tiers import MarketTier
from service.domain.plan import BestOfMarketTier, PlanOption
from service.solver.candidates import Found
from service.solver.eligible import Mask
from service.solver.market import Market
from service.solver.market_tiers import markets_of
from service.solver.options import cloud_entries
from service.solver.pick import cheapest, joined
from service.solver.pricing import Pricing

_NONE = "no offer of this market meets the request: see the exclusions"


def best_of_markets(
    market: Market, pricing: Pricing, found: Found, mask: Mask, deadline_hours: float | None, options: Sequence[PlanOption]
) -> tuple[BestOfMarketTier, ...]:
    """Per market tier the first of the options in it, else its cheapest beyond them, at rank 0."""
    groups, allowed = market.groups, found.allowed
    shown = {option.market_tier: option for option in reversed(options)}
    of_candidate = markets_of(groups.sellers)[groups.seller[allowed.at]]
    missing = [place for place, tier in enumerate(MarketTier) if tier.value not in shown]
    rows = [cheapest(allowed, 1, of_candidate == place) for place in missing]
    found_at = [place for place, row in zip(missing, rows, strict=True) if len(row)]
    entries = cloud_entries(market, pricing, joined(rows), mask, deadline_hours)
    beyond = {place: entry.make(0, 0) for place, entry in zip(found_at, entries, strict=True)}
    best = []
    for place, tier in enumerate(MarketTier):
        option = shown.get(tier.value) or beyond.get(place)
        best.append(BestOfMarketTier(market_tier=tier.value, option=option, reason=_NONE if option is None else None))
    return tuple(best)
