"""Market tiers of a plan: which market each seller belongs to."""

from functools import lru_cache

import numpy as np

from providers.market_tiers import MarketTier, market_tier
from providers.offer import Tenancy
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
