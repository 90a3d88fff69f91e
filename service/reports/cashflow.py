"""Cash flow tables: by year and by month over all plans, and the figures of each decision to buy."""

import math
from collections.abc import Sequence

from service.reports.model import Cell, Column, Kind, PlanMoney, Table
from service.solver.words import about_usd


def by_month_table(money: Sequence[PlanMoney]) -> Table:
    """Each month of the horizon: every plan's recommendation, their sum, the baseline's, and the running difference."""
    rows: list[tuple[Cell, ...]] = []
    ahead = 0.0
    for at, first in enumerate(money[0].months):
        chosen = [one.months[at].chosen_usd for one in money]
        baseline = math.fsum(one.months[at].baseline_usd for one in money)
        ahead += math.fsum(chosen) - baseline
        rows.append((f"{first.first_day:%Y-%m}", *chosen, math.fsum(chosen), baseline, ahead))
    return Table(name="cash_by_month", title="Cash flow by month", columns=_columns("Month", money), rows=tuple(rows))


def by_year_table(money: Sequence[PlanMoney]) -> Table:
    """The same by calendar year, with the total."""
    years = sorted({month.first_day.year for month in money[0].months})
    rows: list[tuple[Cell, ...]] = []
    ahead = 0.0
    for year in years:
        chosen = [math.fsum(month.chosen_usd for month in one.months if month.first_day.year == year) for one in money]
        baseline = math.fsum(month.baseline_usd for one in money for month in one.months if month.first_day.year == year)
        ahead += math.fsum(chosen) - baseline
        rows.append((str(year), *chosen, math.fsum(chosen), baseline, ahead))
    sums = [math.fsum(float(row[at] or 0.0) for row in rows) for at in range(1, len(money) + 3)]
    total: tuple[Cell, ...] = ("Total", *sums, ahead)
    return Table(
        name="cash_by_year",
        title="Cash flow by year",
        columns=_columns("Year", money),
        rows=tuple(rows),
        total=total,
        note="Difference so far: the sum less the baseline from the first month on; under 0 it is cheaper than the baseline.",
    )


def _columns(first: str, money: Sequence[PlanMoney]) -> tuple[Column, ...]:
    return (
        Column(title=first),
        *(Column(title=one.source.name, kind=Kind.MONEY) for one in money),
        *(Column(title=title, kind=Kind.MONEY) for title in ("Sum", "Baseline", "Difference so far")),
    )


def decision_table(money: PlanMoney) -> Table | None:
    """Net present value, payback, breakeven and the cost of a useful hour; None where nothing of it is known."""
    decision = money.source.plan.decision
    rows: list[tuple[Cell, Cell, Cell]] = []
    months = len(money.months)
    if money.npv_own_usd is not None:
        words = f"{months} months, {money.rate_fraction:.1%} a year, value left over included".replace("%", " %")
        rows.append(("Net present value of owning instead of renting", money.npv_own_usd, words))
        rows.append(("Value left after the last month, straight line", money.left_usd, "no cash"))
        rows.append(("Payback in this cash flow", None, _months(money.payback_months, months)))
        rows.append(("Payback, discounted", None, _months(money.discounted_payback_months, months)))
    if decision.npv is not None:
        npv = decision.npv
        span = f"a tenth of the futures is under it; it is over 0 in {npv.positive_fraction:.0%}".replace("%", " %")
        rows.append(("Net present value over the life, low", npv.p10_usd, span))
        rows.append(("Net present value over the life, high", npv.p90_usd, "a tenth of the futures is over it"))
    if (paid := decision.payback_months) is not None:
        spread = ", ".join("never" if one is None else f"{one:g}" for one in (paid.p10, paid.p50, paid.p90))
        rows.append(("Payback over the life, months at 10, 50 and 90 %", None, spread))
    if (hour := decision.usd_per_useful_gpu_hour) is not None:
        scopes = (("hardware and power", hour.hardware_and_power), ("vendor", hour.vendor), ("full", hour.full))
        rows += [
            (f"Cost of a useful GPU-hour, {name}", None, f"{about_usd(usd)} at the stated utilization")
            for name, usd in scopes
            if usd is not None
        ]
    if (even := decision.breakeven_utilization) is not None:
        rows.append(("Breakeven utilization", None, even.explained))
    if decision.utilization is not None:
        rows.append(("Utilization of own hardware by this work", None, f"{decision.utilization:.1%}".replace("%", " %")))
    if len(rows) < 2:  # how much of a pool the work would need says nothing of owning by itself
        return None
    columns = (Column(title="Figure"), Column(title="Amount", kind=Kind.MONEY), Column(title="How"))
    return Table(name="decision", title="Owning against renting", columns=columns, rows=tuple(rows))


def _months(found: float | None, months: int) -> str:
    return f"not within {months} months" if found is None else f"{found:.1f} months"
