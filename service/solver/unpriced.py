"""Unpriced: what the totals leave out, so that an unknown amount is never taken for nothing."""

from collections.abc import Sequence

import numpy as np

from service.domain.plan import NotPriced, PlanOption
from service.solver.candidates import Found
from service.solver.pricing import Pricing


def not_priced(pricing: Pricing, found: Found, options: Sequence[PlanOption]) -> tuple[NotPriced, ...]:
    """Each amount that is missing from some total, with why."""
    made = [NotPriced(name="egress", explained=text) for text in pricing.transfer.unknown]
    groups, at = pricing.groups, found.allowed.at
    if pricing.disk_gb is None:
        made.append(NotPriced(name="storage", explained="disk beyond what the price holds: its size was not given"))
    elif np.isnan(groups.money["storage_usd_per_gb_month"][at]).any():
        made.append(NotPriced(name="storage", explained="disk of offers that state no price for it"))
    if not groups.has_step[at].all():
        made.append(NotPriced(name="billing_increment", explained="rounding up at offers that state no billing step"))
    if any(option.capacity_type == "spot" for option in options):
        made.append(NotPriced(name="waiting", explained="the value of time waited for spot capacity after an interruption"))
    made += [
        NotPriced(name="support", explained="support contracts, 3-10 % of spend at large clouds"),
        NotPriced(name="tax", explained="taxes and currency"),
        NotPriced(name="setup_labour", explained="the hours of people who set up images, data and access"),
    ]
    return tuple(made)
