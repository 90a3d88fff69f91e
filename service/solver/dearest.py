"""Dearest: by card, what the dearest allowed on-demand offer asks for a GPU-hour: one end of a breakeven."""

import numpy as np

from service.solver.candidates import Found
from service.solver.pricing import Pricing


def dearest_on_demand(pricing: Pricing, found: Found) -> dict[str, float]:
    """By card, the dearest on-demand price per GPU-hour among the allowed rows."""
    groups, at = pricing.groups, found.allowed.at[found.allowed.counts > 0]
    at = at[groups.on_demand[at] & ~groups.suspect[at]]
    last = groups.row_usd_per_hour[groups.start[at] + groups.size[at] - 1] / groups.gpu_count[at]
    dearest = np.zeros(len(groups.kinds))
    np.maximum.at(dearest, groups.kind[at], last)
    by_card: dict[str, float] = {}
    for kind, usd in zip(groups.kinds.all, dearest.tolist(), strict=True):
        if usd > 0:
            by_card[kind.gpu] = max(usd, by_card.get(kind.gpu, 0.0))
    return by_card
