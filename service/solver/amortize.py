"""Amortize: what own hardware costs, by annuity, scope and utilization; breakeven and payback in closed form.

Formulas: capital per year a = (C0 (1 + net + spare) - R C0 / (1 + r)^L) r / (1 - (1 + r)^-L); fixed per year F =
maintenance + staff + software + colocation + idle energy; marginal per busy GPU-hour e = (P_load - P_idle) PUE e_kwh / G;
cost per useful GPU-hour (a + F) / (8760 G A u) + e. u is busy GPU-hours over calendar GPU-hours, A the availability.
"""

import math
from dataclasses import dataclass

from providers.units import HOURS_PER_MONTH, HOURS_PER_YEAR, MONTHS_PER_YEAR

W_PER_KW = 1000


def annuity_usd_per_year(
    *, capex_usd: float, extra_fraction: float, residual_fraction: float, rate_fraction: float, life_years: float
) -> float:
    """Capital cost per year of a purchase with what is added to it (network, spares) and what is left at the end."""
    spent = capex_usd * (1 + extra_fraction)
    grown = life_years * math.log1p(rate_fraction)
    paid_off = -math.expm1(-grown)  # exact for small rates, where 1 - (1 + r)^-L is noise
    if paid_off == 0:
        return (spent - residual_fraction * capex_usd) / life_years
    return (spent - residual_fraction * capex_usd * math.exp(-grown)) * rate_fraction / paid_off


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCost:
    """All machines of a pool together. A flat price is its whole cost, paid around the clock where it is bought."""

    gpus: int
    capex_usd: float  # with network and spares; 0 with a flat price
    capital_usd_per_year: float
    idle_energy_usd_per_year: float
    maintenance_usd_per_year: float
    software_usd_per_year: float
    colocation_usd_per_year: float
    staff_usd_per_year: float
    flat_usd_per_gpu_hour: float | None
    marginal_usd_per_gpu_hour: float
    availability_fraction: float
    life_years: float
    lead_time_months: float
    other_usd_per_year: float = 0.0  # running cost that is told as one sum
    resale_usd: float = 0.0  # at the end of the life
    rate_fraction: float = 0.0  # cost of capital of a year

    @property
    def hardware_and_power_usd_per_year(self) -> float:
        """Capital and the energy of idle machines."""
        return self.capital_usd_per_year + self.idle_energy_usd_per_year

    @property
    def vendor_usd_per_year(self) -> float:
        """What is paid to others: hardware and power, maintenance, software, colocation."""
        paid = self.maintenance_usd_per_year + self.software_usd_per_year + self.colocation_usd_per_year + self.other_usd_per_year
        return self.hardware_and_power_usd_per_year + paid

    @property
    def full_usd_per_year(self) -> float:
        """Everything that does not follow use: vendor scope and staff, or the flat price."""
        if self.flat_usd_per_gpu_hour is not None:
            return self.flat_usd_per_gpu_hour * self.gpus * HOURS_PER_YEAR
        return self.vendor_usd_per_year + self.staff_usd_per_year

    @property
    def running_usd_per_year(self) -> float:
        """Fixed running cost: everything but capital."""
        return self.full_usd_per_year - self.capital_usd_per_year

    @property
    def opex_usd_per_month(self) -> float:
        """Fixed running cost of a month."""
        return self.running_usd_per_year / MONTHS_PER_YEAR


def useful_usd_per_gpu_hour(pool: PoolCost, fixed_usd_per_year: float, utilization: float) -> float:
    """Cost of one useful GPU-hour at a utilization."""
    hours = pool.gpus * HOURS_PER_YEAR * pool.availability_fraction * utilization
    return fixed_usd_per_year / hours + pool.marginal_usd_per_gpu_hour


def breakeven_utilization(pool: PoolCost, cloud_usd_per_gpu_hour: float) -> float:
    """The utilization from which owning costs no more than the cloud price; infinite where it never does."""
    gain = cloud_usd_per_gpu_hour - pool.marginal_usd_per_gpu_hour
    if gain <= 0:
        return math.inf
    return pool.full_usd_per_year / (pool.gpus * HOURS_PER_YEAR * pool.availability_fraction * gain)


def tipping_usd_per_gpu_hour(pool: PoolCost, utilization: float) -> float:
    """The cloud price per GPU-hour at which owning breaks even at this utilization."""
    return useful_usd_per_gpu_hour(pool, pool.full_usd_per_year, utilization)


def repaid_after(spent_usd: float, *, saving_usd: float) -> float:
    """Periods until savings of one period each have paid for what was spent; infinite where nothing is saved."""
    return spent_usd / saving_usd if saving_usd > 0 else math.inf


def payback_months(pool: PoolCost, *, cloud_usd_per_gpu_hour: float, utilization: float) -> float:
    """Undiscounted months until what the cloud would have cost has paid for the purchase, lead time included.

    Infinite where running the hardware costs as much as the cloud, or where nothing is bought.
    """
    busy = pool.gpus * HOURS_PER_MONTH * pool.availability_fraction * utilization
    saving = busy * (cloud_usd_per_gpu_hour - pool.marginal_usd_per_gpu_hour) - pool.opex_usd_per_month
    if pool.capex_usd <= 0:
        return math.inf
    return repaid_after(pool.capex_usd, saving_usd=saving) + pool.lead_time_months


def tipping_capex_usd(pool: PoolCost, *, cloud_usd_per_gpu_hour: float, utilization: float) -> float | None:
    """The purchase price, network and spares included, at which owning breaks even; None where no price does."""
    if pool.capex_usd <= 0:
        return None
    busy = pool.gpus * HOURS_PER_YEAR * pool.availability_fraction * utilization
    spare = busy * (cloud_usd_per_gpu_hour - pool.marginal_usd_per_gpu_hour) - pool.running_usd_per_year
    return spare * pool.capex_usd / pool.capital_usd_per_year if spare > 0 else None
