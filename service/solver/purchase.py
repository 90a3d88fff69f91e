"""Purchase: buying a pool instead of renting, month by month: savings, payback and net present value.

Saving of month m of use = busy hours x (cloud price - marginal cost) - fixed running cost; the hardware is paid at once,
used from the end of its lead time and sold at the end of its life. A payback that is not reached within the life is
infinite.
"""

import math
from dataclasses import dataclass

import numpy as np

from providers.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from service.solver.amortize import PoolCost
from service.solver.draws import Floats


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
        saved = saved * discount_of(bought)
    summed = np.cumsum(saved)
    reached = np.flatnonzero(summed >= bought.capex_usd)
    if not len(reached):
        return math.inf
    at = int(reached[0])
    return float(at + 1 - (summed[at] - bought.capex_usd) / saved[at] + bought.lead_months)


@dataclass(frozen=True, slots=True)
class PresentValue:
    """The parts of the net present value, each discounted, USD."""

    gained: float
    busy_energy: float
    idle_energy: float
    maintenance: float
    staff: float
    other: float
    capex: float
    resale: float

    @property
    def usd(self) -> float:
        spent = self.busy_energy + self.idle_energy + self.maintenance + self.staff + self.other
        return self.gained - spent - self.capex + self.resale


def value_of(bought: Purchase) -> PresentValue:
    """By the closed form of the two geometric sums: of the months' discounts, and of prices that change by the month."""
    keep = 1 / (1 + bought.monthly_rate)
    begin: float = keep**bought.lead_months
    grow: float = (1 + bought.change_per_year) ** (1 / MONTHS_PER_YEAR)
    busy = bought.gpu_hours_per_month * bought.utilization
    month = begin * _geometric(keep, bought.months)  # of a dollar each month
    return PresentValue(
        gained=busy * bought.cloud_usd_per_gpu_hour * begin * grow**bought.lead_months * _geometric(keep * grow, bought.months),
        busy_energy=busy * bought.energy_usd_per_gpu_hour * month,
        idle_energy=bought.energy_usd_per_month * month,
        maintenance=bought.maintenance_usd_per_month * month,
        staff=bought.staff_usd_per_month * month,
        other=bought.other_usd_per_month * month,
        capex=bought.capex_usd,
        resale=bought.resale_usd * begin * keep**bought.months,
    )


def npv_usd(bought: Purchase) -> float:
    """Net present value of buying instead of renting."""
    return value_of(bought).usd


def _geometric(factor: float, count: int) -> float:
    """The sum of factor^1 to factor^count."""
    return float(count) if abs(factor - 1) < 1e-12 else factor * (factor**count - 1) / (factor - 1)


def discount_of(bought: Purchase) -> Floats:
    months = np.arange(1, bought.months + 1) + bought.lead_months
    made: Floats = np.exp(-math.log1p(bought.monthly_rate) * months)
    return made
