"""Uncertainty of a purchase: payback and net present value month by month, by quantiles, scenarios and swings.

Saving of month m of use = busy hours x (cloud price - marginal cost) - fixed running cost; the hardware is paid at once,
used from the end of its lead time and sold at the end of its life. A payback that is not reached within the life is
infinite, and counts as that in every quantile; a mean would not exist.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from providers.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from service.solver.amortize import PoolCost
from service.solver.draws import Draws, Floats, price_paths, quantile

VOLATILITY: Final = 0.20  # of the cloud price's logarithm over a year, until fitted to the service's own history
FALLING, RISING = -0.12, 0.15  # a year
GIVEN_RANGE: Final = (0.9, 1.1)  # of a figure that was given, not defaulted
UTILIZATION_RANGE: Final = (0.6, 1.4)
MOST_SWINGS: Final = 10
Range = tuple[float, float]  # low and high as factors on the base


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """A pool to be bought and what it replaces, in dollars and months."""

    capex_usd: float  # with network and spares
    resale_usd: float  # at the end of the life
    months: int  # of use
    lead_months: float
    rate_fraction: float  # a year
    gpu_hours_per_month: float  # available
    utilization: float
    cloud_usd_per_gpu_hour: float
    energy_usd_per_gpu_hour: float  # what a busy hour adds
    energy_usd_per_month: float  # of idle machines
    maintenance_usd_per_month: float
    staff_usd_per_month: float
    other_usd_per_month: float
    change_per_year: float = 0.0  # of the cloud price, as a fraction

    @property
    def fixed_usd_per_month(self) -> float:
        """Running cost that does not follow use."""
        return (
            self.energy_usd_per_month + self.maintenance_usd_per_month + self.staff_usd_per_month + self.other_usd_per_month
        )  # fmt: skip

    @property
    def monthly_rate(self) -> float:
        """Interest of a month."""
        return math.expm1(math.log1p(self.rate_fraction) / MONTHS_PER_YEAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Quantiles over the draws; infinite months are never within the life."""

    payback_months: tuple[float, float, float]  # p10, p50, p90
    npv_usd: tuple[float, float, float]
    npv_positive_fraction: float
    never_paid_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """What one input alone moves: net present value at its low and its high end."""

    name: str
    low: float  # of the input
    high: float
    npv_at_low_usd: float
    npv_at_high_usd: float

    @property
    def usd(self) -> float:
        """The size of the swing."""
        return abs(self.npv_at_high_usd - self.npv_at_low_usd)


def purchase_of(cost: PoolCost, *, utilization: float, cloud_usd_per_gpu_hour: float) -> Purchase | None:
    """The purchase of a pool; None where nothing is bought (owned already, or at a flat price)."""
    if cost.capex_usd <= 0 or cost.flat_usd_per_gpu_hour is not None:
        return None
    other = cost.software_usd_per_year + cost.colocation_usd_per_year + cost.other_usd_per_year
    return Purchase(
        capex_usd=cost.capex_usd,
        resale_usd=cost.resale_usd,
        months=max(1, round(cost.life_years * MONTHS_PER_YEAR)),
        lead_months=cost.lead_time_months,
        rate_fraction=cost.rate_fraction,
        gpu_hours_per_month=cost.gpus * HOURS_PER_MONTH * cost.availability_fraction,
        utilization=utilization,
        cloud_usd_per_gpu_hour=cloud_usd_per_gpu_hour,
        energy_usd_per_gpu_hour=cost.marginal_usd_per_gpu_hour,
        energy_usd_per_month=cost.idle_energy_usd_per_year / MONTHS_PER_YEAR,
        maintenance_usd_per_month=cost.maintenance_usd_per_year / MONTHS_PER_YEAR,
        staff_usd_per_month=cost.staff_usd_per_year / MONTHS_PER_YEAR,
        other_usd_per_month=other / MONTHS_PER_YEAR,
    )


def savings_usd(bought: Purchase) -> Floats:
    """The saving of each month of use."""
    at = np.arange(1, bought.months + 1) + bought.lead_months
    price = bought.cloud_usd_per_gpu_hour * (1 + bought.change_per_year) ** (at / MONTHS_PER_YEAR)
    busy = bought.gpu_hours_per_month * bought.utilization
    made: Floats = busy * (price - bought.energy_usd_per_gpu_hour) - bought.fixed_usd_per_month
    return made


def payback_months_of(bought: Purchase, *, discounted: bool = False) -> float:
    """Months from the order until savings have paid for it, within a month in proportion; infinite past the life."""
    saved = savings_usd(bought)
    if discounted:
        saved = saved * _discount(bought)
    summed = np.cumsum(saved)
    reached = np.flatnonzero(summed >= bought.capex_usd)
    if not len(reached):
        return math.inf
    at = int(reached[0])
    return float(at + 1 - (summed[at] - bought.capex_usd) / saved[at] + bought.lead_months)


def npv_usd(bought: Purchase) -> float:
    """Net present value of buying instead of renting, by the closed form of the two geometric sums."""
    keep = 1 / (1 + bought.monthly_rate)
    begin: float = keep**bought.lead_months
    grow: float = (1 + bought.change_per_year) ** (1 / MONTHS_PER_YEAR)
    busy = bought.gpu_hours_per_month * bought.utilization
    gained: float = (
        busy * bought.cloud_usd_per_gpu_hour * begin * grow**bought.lead_months * _geometric(keep * grow, bought.months)
    )
    spent = (busy * bought.energy_usd_per_gpu_hour + bought.fixed_usd_per_month) * begin * _geometric(keep, bought.months)
    return gained - spent - bought.capex_usd + bought.resale_usd * begin * keep**bought.months


def _geometric(factor: float, count: int) -> float:
    """The sum of factor^1 to factor^count."""
    return float(count) if abs(factor - 1) < 1e-12 else factor * (factor**count - 1) / (factor - 1)


def _discount(bought: Purchase) -> Floats:
    months = np.arange(1, bought.months + 1) + bought.lead_months
    made: Floats = np.exp(-math.log1p(bought.monthly_rate) * months)
    return made


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
    months = np.arange(1, bought.months + 1)
    left = gain[:, None] * paths.summed
    left -= fixed[:, None] * months
    left -= capex[:, None]
    payback = _first_reached(left, capex) + bought.lead_months
    keep = _discount(bought)
    end = float(keep[-1])
    npv = gain * (paths.factors @ keep) - fixed * keep.sum() - capex + bought.resale_usd * drawn("resale") * end
    return Outcomes(
        payback_months=(quantile(payback, 0.1), quantile(payback, 0.5), quantile(payback, 0.9)),
        npv_usd=(quantile(npv, 0.1), quantile(npv, 0.5), quantile(npv, 0.9)),
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


def swings(bought: Purchase, ranges: Mapping[str, Range]) -> list[Swing]:
    """The inputs that move the net present value most, largest first.

    Args:
        ranges: by input (see `_turned`), low and high as factors on the base; for the cloud price's yearly change as it is.
    """
    found = []
    for name, (low, high) in ranges.items():
        at_low, at_high = (npv_usd(_turned(bought, name, factor)) for factor in (low, high))
        found.append(Swing(name=name, low=low, high=high, npv_at_low_usd=at_low, npv_at_high_usd=at_high))
    return sorted((one for one in found if one.usd > 0), key=lambda one: (-one.usd, one.name))[:MOST_SWINGS]


def _turned(bought: Purchase, name: str, factor: float) -> Purchase:
    """The purchase with one input at another value."""
    match name:
        case "cloud_price_change_per_year":
            return replace(bought, change_per_year=factor)
        case "capex":
            kept = bought.maintenance_usd_per_month * factor
            return replace(
                bought, capex_usd=bought.capex_usd * factor, resale_usd=bought.resale_usd * factor, maintenance_usd_per_month=kept
            )
        case "utilization":
            return replace(bought, utilization=min(1.0, bought.utilization * factor))
        case "life":
            return replace(bought, months=max(1, round(bought.months * factor)))
        case "electricity" | "pue":
            return replace(
                bought,
                energy_usd_per_gpu_hour=bought.energy_usd_per_gpu_hour * factor,
                energy_usd_per_month=bought.energy_usd_per_month * factor,
            )
        case _:
            field = _FIELDS[name]
            return replace(bought, **{field: getattr(bought, field) * factor})


_FIELDS: Final = {
    "cloud_price": "cloud_usd_per_gpu_hour",
    "maintenance": "maintenance_usd_per_month",
    "staff": "staff_usd_per_month",
    "availability": "gpu_hours_per_month",
    "resale": "resale_usd",
    "discount_rate": "rate_fraction",
    "lead_time": "lead_months",
    "colocation_and_software": "other_usd_per_month",
}
