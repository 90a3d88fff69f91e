"""Metrics of published rent-or-own cases, each by the functions of a plan. No discounting and no residual.

Running cost of a calendar node-hour: the sum that the row tells, else maintenance as a fraction of the purchase, power and
cooling by the hour or by kW and kWh, colocation and staff. A purchase that is absent costs nothing and needs no life.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from providers.units import HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_YEAR, MONTHS_PER_YEAR, SECONDS_PER_HOUR
from service.estimate.row_cells import Row, text_of
from service.solver.amortize import (
    PoolCost,
    annuity_usd_per_year,
    breakeven_utilization,
    payback_months,
    repaid_after,
    useful_usd_per_gpu_hour,
)
from service.solver.options import usd_per_million

DAYS_PER_YEAR: Final = 365
SHORT_MONTH_HOURS: Final = 720  # of 30 days: what some sources count
_PARTS_OF_A_SUM: Final = ("maint_usd_per_node_h", "colo_usd_per_node_h")  # they explain opex_usd_per_node_h, nothing else


class UnusableCell(Exception):
    """A cell that the metric needs is empty or holds no usable number."""


def cell_of(row: Row, column: str, *, least: float = 0.0, finite: bool = True) -> float | None:
    """A number, or None for an empty cell."""
    raw = text_of(row, column)
    if not raw:
        return None
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if math.isnan(value) or value < least or (finite and math.isinf(value)):
        raise UnusableCell(f"the column {column} holds no usable number")
    return value


def required_cell(row: Row, column: str, *, least: float = 0.0, finite: bool = True) -> float:
    value = cell_of(row, column, least=least, finite=finite)
    if value is None:
        raise UnusableCell(f"the metric needs the column {column}")
    return value


class TcoCase:
    """The figures of one row, read when a metric asks for them."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def need(self, column: str) -> float:
        """The cell. Raises UnusableCell where it is empty."""
        return required_cell(self.row, column)

    def get(self, column: str) -> float:
        """The cell, 0 where it is empty: only for what is a sum's part or a purchase that was not made."""
        return cell_of(self.row, column) or 0.0

    @property
    def cloud(self) -> float:
        """USD per node-hour in the cloud."""
        return self.need("cloud_usd_per_node_h")

    @property
    def use(self) -> float:
        """Busy share of calendar hours; 1 where the row has none."""
        share = cell_of(self.row, "utilization")
        return 1.0 if share is None else share

    @property
    def running(self) -> float:
        """USD per calendar node-hour beside capital: the sum that is told, else its parts."""
        told = cell_of(self.row, "opex_usd_per_node_h")
        if told is not None:
            return told
        staff = self.get("staff_usd_total")
        power = self.get("kw_draw") * (self.get("elec_usd_per_kwh") + self.get("cooling_usd_per_kwh"))
        return (
            self.get("maint_pct_per_year") * self.get("capex_usd") / HOURS_PER_YEAR
            + self.get("power_cooling_usd_per_node_h")
            + power
            + self.get("colo_usd_per_month") * MONTHS_PER_YEAR / HOURS_PER_YEAR
            + (staff / (HOURS_PER_YEAR * self.need("life_years")) if staff else 0.0)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the row tells that no metric counts."""
        if text_of(self.row, "opex_usd_per_node_h"):
            return ()
        return tuple(
            f"{name} is not counted: it only explains opex_usd_per_node_h" for name in _PARTS_OF_A_SUM if text_of(self.row, name)
        )

    def pool(self, *, gpus: int = 1, needs_life: bool = True) -> PoolCost:
        """The node as a plan's own hardware: straight line, nothing left, always available.

        Args:
            gpus: 1 counts the node as a whole.
            needs_life: the metric spreads the purchase over its life.
        """
        capex = self.get("capex_usd")
        life = self.need("life_years") if capex and needs_life else 1.0
        capital = annuity_usd_per_year(capex_usd=capex, extra_fraction=0, residual_fraction=0, rate_fraction=0, life_years=life)
        return PoolCost(
            gpus=gpus, capex_usd=capex, capital_usd_per_year=capital, idle_energy_usd_per_year=0.0, maintenance_usd_per_year=0.0,
            software_usd_per_year=0.0, colocation_usd_per_year=0.0, staff_usd_per_year=0.0, flat_usd_per_gpu_hour=None,
            marginal_usd_per_gpu_hour=0.0, availability_fraction=1.0, life_years=life, lead_time_months=0.0,
            other_usd_per_year=self.running * HOURS_PER_YEAR,
        )  # fmt: skip

    def useful_usd_per_hour(self, *, gpus: int = 1, at: float | None = None) -> float:
        """USD per useful hour of the node, or of one of its GPUs."""
        pool = self.pool(gpus=gpus)
        return useful_usd_per_gpu_hour(pool, pool.full_usd_per_year, self.use if at is None else at)

    @property
    def breakeven_hours(self) -> float:
        """Used hours until the purchase is earned, running cost only while used."""
        return repaid_after(self.get("capex_usd"), saving_usd=self.cloud - self.running)

    @property
    def breakeven_months(self) -> float:
        """The same in months of always used hours."""
        is_short = str(SHORT_MONTH_HOURS) in text_of(self.row, "unit")
        return self.breakeven_hours / (SHORT_MONTH_HOURS if is_short else HOURS_PER_MONTH)

    @property
    def breakeven_years(self) -> float:
        """By the hours of use a day, or by utilization with the running cost around the clock."""
        a_day = cell_of(self.row, "hours_per_day")
        if a_day is not None:
            return self.breakeven_hours / (DAYS_PER_YEAR * a_day)
        pool = self.pool(needs_life=False)
        if not pool.capex_usd:
            return repaid_after(0.0, saving_usd=self.cloud * self.use - self.running)
        return payback_months(pool, cloud_usd_per_gpu_hour=self.cloud, utilization=self.use) / MONTHS_PER_YEAR

    @property
    def breakeven_share(self) -> float:
        """Utilization from which owning is no dearer; above 1 is kept."""
        return breakeven_utilization(self.pool(), self.cloud)

    @property
    def owning_usd(self) -> float:
        """Purchase and running cost over the life."""
        pool, life = self.pool(needs_life=False), self.need("life_years")
        return pool.capex_usd + pool.running_usd_per_year * life

    @property
    def renting_usd(self) -> float:
        """The cloud around the clock over the same life."""
        return self.cloud * HOURS_PER_YEAR * self.need("life_years")


def _gpus(case: TcoCase) -> int:
    count = case.need("n_gpu")
    if count < 1 or count != int(count):
        raise UnusableCell("the column n_gpu holds no whole number of GPUs")
    return int(count)


METRICS: Final[Mapping[str, Callable[[TcoCase], float]]] = {
    "breakeven_hours": lambda case: case.breakeven_hours,
    "breakeven_months": lambda case: case.breakeven_months,
    "breakeven_years": lambda case: case.breakeven_years,
    "breakeven_utilization": lambda case: case.breakeven_share,
    "breakeven_hours_per_day": lambda case: HOURS_PER_DAY * case.breakeven_share,
    "cost_per_node_hour": lambda case: case.useful_usd_per_hour(at=1.0),
    "cost_per_useful_gpu_hour": lambda case: case.useful_usd_per_hour(gpus=_gpus(case)),
    "onprem_cost_per_useful_hour": lambda case: case.useful_usd_per_hour(),
    "saving_per_useful_hour": lambda case: case.cloud - case.useful_usd_per_hour(),
    "onprem_opex_per_year": lambda case: case.pool(needs_life=False).running_usd_per_year,
    "cloud_cost_per_year": lambda case: HOURS_PER_YEAR * case.cloud,
    "onprem_total": lambda case: case.owning_usd,
    "cloud_total": lambda case: case.renting_usd,
    "saving_share": lambda case: 1 - case.owning_usd / case.renting_usd,
    "maintenance_per_node_hour": lambda case: case.need("maint_pct_per_year") * case.need("capex_usd") / HOURS_PER_YEAR,
    "colo_per_node_hour": lambda case: case.need("colo_usd_per_month") / SHORT_MONTH_HOURS,
    "usd_per_million_tokens": lambda case: usd_per_million(case.cloud, SECONDS_PER_HOUR * case.need("tokens_per_s")),
}
