"""Risks: the scenarios of each way, what moves the result most, and what could go wrong, in dollars."""

import math
from typing import Final

from service.domain.plan import PlanOption
from service.reports.model import Cell, Column, Kind, PlanMoney, Table, Way
from service.solver.words import about_usd, percent

STRESS_PRICE: Final = 1.5  # the cloud price of a shortage
STRESS_CAPEX: Final = 1.2
STRESS_ENERGY: Final = 2.0
DEARER: Final = 0.15
FALLING: Final = 0.12  # a year
MORE_WORK, LESS_WORK = 1.25, 0.75
_ENERGY: Final = ("electricity", "marginal")


def scenario_table(money: PlanMoney, months: int) -> Table:
    """Every way that is compared, at the ends of its range and under stress, over the horizon."""
    factor = months if money.recurring else 1
    rows = [
        (name, way.label, way.low_usd * factor, way.usd * factor, way.high_usd * factor, stressed_usd(way) * factor)
        for name, way in compared(money)
    ]
    named: list[tuple[Cell, ...]] = [tuple(row) for row in rows]
    return Table(
        name="scenarios",
        title=f"Scenarios, cost over {months} months",
        columns=(
            Column(title="Way"),
            Column(title="What"),
            *(Column(title=title, kind=Kind.MONEY) for title in ("Low", "Base", "High", "Stress")),
        ),
        rows=tuple(named),
        note=f"Low and high are the ends of the plan's range of hours. Stress is the high end with cloud prices times"
        f" {STRESS_PRICE:g}, a purchase times {STRESS_CAPEX:g} and energy times {STRESS_ENERGY:g}.",
    )


def compared(money: PlanMoney) -> list[tuple[str, Way]]:
    """Recommendation, on-demand baseline, cheapest rent and own hardware: each once, under its first name."""
    named = (("Recommended", money.chosen), ("Baseline", money.baseline), ("Cheapest rent", money.rent), ("Own", money.own))
    found: list[tuple[str, Way]] = []
    for name, way in named:
        if way is None:
            continue
        at = next((at for at, (_, one) in enumerate(found) if one is way), None)
        if at is None:
            found.append((name, way))
        else:
            found[at] = (f"{found[at][0]}, {name.lower()}", way)
    return found


def stressed_usd(way: Way) -> float:
    """The high end under stress: see the table's note."""
    if way.kind == "cloud":
        return way.high_usd * STRESS_PRICE
    more = way.lines.get("capital", 0.0) + way.lines.get("maintenance", 0.0)
    energy = math.fsum(way.lines.get(name, 0.0) for name in _ENERGY)
    return way.high_usd + more * (STRESS_CAPEX - 1) + energy * (STRESS_ENERGY - 1)


def futures_table(money: PlanMoney) -> Table | None:
    """The named futures of the decision to buy; None where nothing is bought."""
    outcomes = money.source.plan.decision.scenarios
    if not outcomes:
        return None
    return Table(
        name="futures",
        title="Futures of buying",
        columns=(
            Column(title="Future"),
            Column(title="Cheaper is"),
            Column(title="Payback (months)", kind=Kind.NUMBER),
            Column(title="Net present value of buying", kind=Kind.MONEY),
            Column(title="Regret of buying", kind=Kind.MONEY),
            Column(title="Regret of renting", kind=Kind.MONEY),
        ),
        rows=tuple(
            (
                one.name,
                {"on_prem": "own", "cloud": "rent"}.get(one.verdict, one.verdict),
                one.payback_months if one.payback_months is not None else "never",
                one.npv_usd,
                one.regret_of_buying_usd,
                one.regret_of_renting_usd,
            )
            for one in outcomes
        ),
        note="Over the life of the hardware. Regret is what the choice costs more than the other one in that future.",
    )


def tornado_table(money: PlanMoney, months: int) -> Table | None:
    """What each input alone moves, largest first: the value of buying, or else the cost over the horizon."""
    swings = money.source.plan.decision.swings
    if swings:
        rows: list[tuple[Cell, ...]] = [
            (
                one.name.replace("_", " "),
                f"{one.low:.3g} {one.unit}",
                one.npv_at_low_usd,
                f"{one.high:.3g} {one.unit}",
                one.npv_at_high_usd,
            )
            for one in swings
        ]
        title, result = "What moves the net present value of buying most", "Net present value"
    elif money.chosen is not None:
        rows, title, result = _cost_swings(money, money.chosen, months), f"What moves the cost over {months} months most", "Cost"
    else:
        return None
    columns = (
        Column(title="Input"),
        Column(title="Low"),
        Column(title=f"{result} at low", kind=Kind.MONEY),
        Column(title="High"),
        Column(title=f"{result} at high", kind=Kind.MONEY),
    )
    return Table(
        name="tornado", title=title, columns=columns, rows=tuple(rows), note="Each input alone; the others at their base."
    )


def _cost_swings(money: PlanMoney, way: Way, months: int) -> list[tuple[Cell, ...]]:
    factor = months if money.recurring else 1
    base = way.usd * factor
    option = _option(money, way)
    low, high = option.price.low_usd_per_hour, option.price.high_usd_per_hour
    cheaper = 1 - DEARER if low is None or not option.usd_per_hour else low / option.usd_per_hour
    dearer = 1 + DEARER if high is None or not option.usd_per_hour else high / option.usd_per_hour
    found: list[tuple[Cell, float, tuple[Cell, ...]]] = []
    for name, low_words, at_low, high_words, at_high in (
        ("hours of a run", "low end", way.low_usd * factor, "high end", way.high_usd * factor),
        ("amount of work", percent(LESS_WORK), base * LESS_WORK, percent(MORE_WORK), base * MORE_WORK),
        ("price of an hour", percent(cheaper), base * cheaper, percent(dearer), base * dearer),
    ):
        if way.kind == "on_prem" and name != "hours of a run":
            continue
        found.append((name, abs(at_high - at_low), (name, low_words, at_low, high_words, at_high)))
    return [row for _, _, row in sorted(found, key=lambda one: (-one[1], str(one[0])))]


def _option(money: PlanMoney, way: Way) -> PlanOption:
    return next(one for one in money.source.plan.options if one.rank == way.rank)


def risk_rows(money: PlanMoney, months: int) -> list[tuple[Cell, ...]]:
    """Risk, how it is reckoned, and dollars over the horizon, of the recommendation of one plan."""
    way, name = money.chosen, money.source.name
    if way is None:
        return []
    factor = months if money.recurring else 1
    rows: list[tuple[Cell, ...]] = []
    if lost := way.lines.get("interruption", 0.0):
        rows.append((name, "Interruption", "work repeated after interruptions, in the total already", lost * factor))
    if way.kind == "cloud":
        rows.append((name, "Price rise", f"the price {percent(DEARER)} up for all months", way.usd * DEARER * factor))
        others = (one for one in money.ways if one.kind == "cloud" and one.provider != way.provider and not one.is_suspect)
        other = next(others, None)
        if other is not None:
            words = f"moving to {other.label}, the cheapest of another provider"
            rows.append((name, "Provider exit", words, max(0.0, other.usd - way.usd) * factor))
    else:
        rows += _own_risks(money, way, name, months)
    rows.append((name, "Longer runs", "hours at the high end of their range", max(0.0, way.high_usd - way.usd) * factor))
    return rows


def _own_risks(money: PlanMoney, way: Way, name: str, months: int) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    if lost := way.lines.get("downtime", 0.0):
        rows.append((name, "Failure", "capacity lost to failures and repair, in the total already", lost * months))
    if way.own is not None:
        rows.append((name, "Obsolescence", f"resold for nothing instead of {about_usd(way.own.resale_usd)}", way.own.resale_usd))
        if money.rent is not None:
            price = 1 - (1 - FALLING) ** (months / 24)  # the mean of a steady fall over the horizon
            words = f"renting falls by {percent(FALLING)} a year and the hardware is kept: rent not saved"
            rows.append((name, "Cheaper renting", words, money.rent.usd * price * months))
        idle = math.fsum(way.own.lines.values()) + way.lines.get("capital", 0.0)
        rows.append((name, "Idle hardware", "half of the work goes away, the pool costs the same", idle / 2 * months))
    return rows
