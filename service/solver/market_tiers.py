"""Market tiers of a plan: which market each seller belongs to, and the best option of each market."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from providers.market_tiers import MarketTier, market_tier
from providers.offer import Tenancy
from service.domain.plan import BestOfMarketTier, PlanOption
from service.solver.columns import Ints
from service.solver.tables import Seller, Sellers


@lru_cache(maxsize=4096)
def market_of(seller: Seller) -> MarketTier:
    """The market that a seller belongs to."""
    return market_tier(provider=seller.provider, tier=seller.tier, tenancy=Tenancy(seller.tenancy))


@lru_cache(maxsize=16)
def markets_of(sellers: Sellers) -> Ints:
    """Per seller the place of its market in MarketTier."""
    places = {tier: place for place, tier in enumerate(MarketTier)}
    return np.array([places[market_of(seller)] for seller in sellers.all], dtype=np.int64)


def best_of(tier: MarketTier, options: Sequence[PlanOption], beyond: PlanOption | None) -> BestOfMarketTier:
    """The first of the options in this market, else the one found beyond them."""
    shown = next((option for option in options if option.market_tier == tier.value), None)
    best = shown or (None if beyond is None else replace(beyond, rank=0, tie_group=0))
    reason = None if best is not None else "no offer of this market meets the request: see the exclusions"
    return BestOfMarketTier(market_tier=tier.value, option=best, reason=reason)
