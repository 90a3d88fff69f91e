"""Pool lines: what own hardware costs a month, by named line."""

from typing import Final

from providers.units import MONTHS_PER_YEAR
from service.domain.request import OnPremPool, PoolMode
from service.solver.amortize import PoolCost

SAID: Final = {
    "capital": "annuity of the purchase, network and spares, less what is left at the end",
    "electricity": "idle power around the clock and load power while busy",
    "maintenance": "maintenance and support",
    "software": "software licences",
    "colocation": "space, power and cooling at a colocation price",
    "staff": "people who run it",
    "flat_price": "the price given, around the clock",
    "marginal": "what a busy hour adds",
    "downtime": "capacity lost to failures and repair, at what the pool costs",
}


def monthly_lines(pool: OnPremPool, cost: PoolCost, busy_gpu_hours: float) -> dict[str, float]:
    """USD a month by line: the whole pool where it is bought, what the busy hours add where it is owned."""
    marginal = cost.marginal_usd_per_gpu_hour * busy_gpu_hours
    if pool.mode is PoolMode.OWNED:
        return {"marginal": marginal}
    lost = 1 / cost.availability_fraction - 1
    if cost.flat_usd_per_gpu_hour is not None:
        flat = cost.full_usd_per_year / MONTHS_PER_YEAR
        return {"flat_price": flat, "marginal": marginal, "downtime": flat * lost}
    share = 1 - (pool.busy_fraction or 0.0)  # the rest is borne by the work that already uses it
    yearly = {
        "capital": cost.capital_usd_per_year,
        "electricity": cost.idle_energy_usd_per_year,
        "maintenance": cost.maintenance_usd_per_year,
        "software": cost.software_usd_per_year,
        "colocation": cost.colocation_usd_per_year,
        "staff": cost.staff_usd_per_year,
    }
    monthly = {name: value * share / MONTHS_PER_YEAR for name, value in yearly.items()}
    monthly["downtime"] = sum(monthly.values()) * lost
    monthly["electricity"] += marginal
    return monthly
