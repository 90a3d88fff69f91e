"""Unpriced: what the totals leave out, so that an unknown amount is never taken for nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.domain.plan import NotPriced, PlanOption
from service.solver.columns import Ints
from service.solver.pricing import Pricing
from service.solver.sieve import Sieve
from service.solver.tables import GroupTable


def not_priced(pricing: Pricing, sieve: Sieve, options: Sequence[PlanOption]) -> tuple[NotPriced, ...]:
    """Each amount that is missing from some total, with why."""
    found = [NotPriced(name="egress", explained=text) for text in pricing.transfer.unknown]
    gaps = sieve.kept.get("gaps", lambda: _gaps(pricing.groups, sieve.allowed.at))
    if pricing.disk_gb is None:
        found.append(_DISK_SIZE)
    elif gaps.storage:
        found.append(_DISK_PRICE)
    if gaps.step:
        found.append(_STEP)
    if any(option.capacity_type == "spot" for option in options):
        found.append(_WAITING)
    return (*found, *_ALWAYS)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """What some of the offers that pass do not state."""

    storage: bool
    step: bool


def _gaps(groups: GroupTable, at: Ints) -> _Gaps:
    return _Gaps(
        storage=bool(np.isnan(groups.money["storage_usd_per_gb_month"][at]).any()), step=not bool(groups.has_step[at].all())
    )


_DISK_SIZE: Final = NotPriced(name="storage", explained="disk beyond what the price holds: its size was not given")
_DISK_PRICE: Final = NotPriced(name="storage", explained="disk of offers that state no price for it")
_STEP: Final = NotPriced(name="billing_increment", explained="rounding up at offers that state no billing step")
_WAITING: Final = NotPriced(name="waiting", explained="the value of time waited for spot capacity after an interruption")
_ALWAYS: Final = (
    NotPriced(name="support", explained="support contracts, 3-10 % of spend at large clouds"),
    NotPriced(name="tax", explained="taxes and currency"),
    NotPriced(name="setup_labour", explained="the hours of people who set up images, data and access"),
)
