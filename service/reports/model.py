"""Report: the document before it has a form: sections of sentences, tables and figures, and the money model behind them.

Amounts are US dollars until a renderer shows them: one rate, rounded once, at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from service.domain.report import ExchangeRate, ReportPlan
from service.reports.figure import Figure
from service.solver.amortize import PoolCost


class Kind(StrEnum):
    """What a column holds; a renderer formats by it. All but words stand to the right."""

    WORDS = "words"
    MONEY = "money"  # US dollars, shown in the report's currency
    PRICE = "price"  # US dollars exact: what a market asks, never converted
    ESTIMATE = "estimate"  # US dollars with three significant digits, never converted
    NUMBER = "number"
    SHARE = "share"  # 0 to 1


Cell = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`title` holds the unit where it is not money."""

    title: str
    kind: Kind = Kind.WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; null is not known or does not apply. `total` is shown under the rows and adds their money columns."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One chapter."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    is_appendix: bool = False  # across the page


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCash:
    """What a pool pays when: USD, for the share of the pool that is not used by other work."""

    name: str
    capex_usd: float
    resale_usd: float  # at the end of its life
    life_months: int
    lead_months: int
    lines: Mapping[str, float]  # a month, capital apart
    rate_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to do a plan's work, in dollars of a month (recurring) or once (single runs)."""

    label: str
    kind: str  # cloud or on_prem
    provider: str
    lines: Mapping[str, float]
    usd: float  # the sum of the lines: a month, or once
    low_usd: float
    high_usd: float
    usd_per_gpu_hour: float | None
    usd_per_run: float | None
    usd_per_million_tokens: float | None
    rank: int
    flags: tuple[str, ...] = ()
    own: OwnCash | None = None

    @property
    def is_suspect(self) -> bool:
        """A price that does not look right: it is shown, and nothing is compared with it."""
        return "suspect" in self.flags


@dataclass(frozen=True, slots=True, kw_only=True)
class CashMonth:
    """One month of the cash flow of a plan; costs are positive."""

    first_day: date
    chosen_usd: float
    baseline_usd: float
    own_usd: float | None  # null where no hardware is to be bought
    rent_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMoney:
    """A plan in money: what is recommended, what it is compared with, and what is paid in which month."""

    source: ReportPlan
    recurring: bool
    ways: tuple[Way, ...]
    chosen: Way | None
    baseline: Way | None
    rent: Way | None  # the cheapest cloud option
    own: Way | None  # the pool that the decision is about
    pool_cost: PoolCost | None
    months: tuple[CashMonth, ...]
    left_usd: float  # straight-line value of bought hardware after the last month
    npv_own_usd: float | None  # of owning instead of renting, over these months
    payback_months: float | None
    discounted_payback_months: float | None
    rate_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A budget review. `stamp` is the only part that differs between two reports of the same inputs."""

    title: str
    recommendation: str
    currency: str
    rate: ExchangeRate
    period: tuple[date, date]
    horizon_months: int
    as_of: datetime | None  # the oldest snapshot used
    input_hash: str
    plan_ids: tuple[str, ...]
    versions: Mapping[str, str]
    money: tuple[PlanMoney, ...]
    sections: tuple[Section, ...]
    charts: Mapping[str, Figure]
    stamp: datetime
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def footer(self) -> str:
        """What stands on every page."""
        plans = ", ".join(self.plan_ids[:3]) + (f" and {len(self.plan_ids) - 3} more" if len(self.plan_ids) > 3 else "")
        prices = "" if self.as_of is None else f"prices of {self.as_of:%Y-%m-%d %H:%M} UTC - "
        return f"gpuplan {self.versions['gpuplan']} - {prices}plans {plans} - input {self.input_hash}"
