"""Uncertainty of a purchase: payback and net present value by quantiles over fixed draws.

A payback that is never reached is infinite, and counts as that in every quantile; a mean would not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.solver.draws import Draws, Floats, price_paths, quantiles
from service.solver.purchase import Purchase, discount_of

VOLATILITY: Final = 0.20  # of the cloud price's logarithm over a year, until fitted to the service's own history
GIVEN_RANGE: Final = (0.9, 1.1)  # of a figure that was given, not defaulted
UTILIZATION_RANGE: Final = (0.6, 1.4)
Range = tuple[float, float]  # low and high as factors on the base


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Quantiles over the draws; infinite months are never within the life."""

    payback_months: tuple[float, float, float]  # p10, p50, p90
    npv_usd: tuple[float, float, float]
    npv_positive_fraction: float
    never_paid_fraction: float


def outcomes(bought: Purchase, ranges: Mapping[str, Range], draws: Draws, *, volatility: float = VOLATILITY) -> Outcomes:
    """Payback and net present value over the draws.

    Args:
        ranges: by input of `draws.INPUTS`, low and high as factors; an input that is not named stays at its base.
    """

    def drawn(name: str) -> Floats | float:
        low, high = ranges.get(name, (1.0, 1.0))
        return draws.triangular(name, low, 1.0, high) if high > low else 1.0

    capex = bought.capex_usd * drawn("capex") * np.ones(draws.count)
    use = np.minimum(bought.utilization * drawn("utilization"), 1.0)
    busy = bought.gpu_hours_per_month * drawn("availability") * use * np.ones(draws.count)
    energy, maintenance = drawn("electricity"), drawn("maintenance") * (capex / bought.capex_usd)
    gain = busy * bought.cloud_usd_per_gpu_hour
    fixed = (
        busy * bought.energy_usd_per_gpu_hour * energy
        + bought.energy_usd_per_month * energy
        + bought.maintenance_usd_per_month * maintenance
        + bought.staff_usd_per_month * drawn("staff")
        + bought.other_usd_per_month
    )
    paths = price_paths(draws, months=bought.months, lead_months=round(bought.lead_months), volatility=volatility)
    spent = np.stack([fixed, capex], axis=1) @ np.stack([np.arange(1.0, bought.months + 1), np.ones(bought.months)])
    left = gain[:, None] * paths.summed
    left -= spent
    payback = _first_reached(left, capex) + bought.lead_months
    keep = discount_of(bought)
    end = float(keep[-1])
    npv = gain * (paths.factors @ keep) - fixed * keep.sum() - capex + bought.resale_usd * drawn("resale") * end
    return Outcomes(
        payback_months=quantiles(payback),
        npv_usd=quantiles(npv),
        npv_positive_fraction=float(np.count_nonzero(npv > 0)) / draws.count,
        never_paid_fraction=float(np.count_nonzero(np.isinf(payback))) / draws.count,
    )


def _first_reached(left: Floats, capex: Floats) -> Floats:
    """By draw, the months of use until what is left to earn is earned; `left` is per month of use."""
    reached = left >= 0
    first = reached.argmax(axis=1)
    rows = np.arange(len(left))
    now, before = left[rows, first], np.where(first > 0, left[rows, first - 1], -capex)
    part = now / np.where(now > before, now - before, 1.0)
    paid: Floats = np.where(reached[rows, first], first + 1 - part, np.inf)
    return paid
