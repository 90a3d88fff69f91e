"""Finance: what each way of a plan costs by line and by month, and when bought hardware has paid for itself.

Until hardware runs its work is rented, and again after the end of its life. Bought hardware keeps a straight-line value
between its price and its resale; what is left after the last month counts in the net present value, not in the cash.
"""

import math
from collections.abc import Sequence
from datetime import date
from typing import Final

from providers.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from service.domain.plan import PER_RUN, CostLine, PlanOption
from service.domain.report import ReportInputs, ReportPlan
from service.domain.request import OnPremPool, PoolMode
from service.domain.saved import OwnHardwareInputs
from service.reports.model import CashMonth, OwnCash, PlanMoney, Way
from service.solver.amortize import PoolCost
from service.solver.change import label_of
from service.solver.pool_lines import monthly_lines

CAPITAL: Final = "capital"
NOT_LISTED: Final = 0  # the rank of a way that is not among the plan's options
RATE_WITHOUT_POOL: Final = 0.09  # a year, as the default box has it: discounts plans that buy nothing


def money_of(source: ReportPlan, inputs: ReportInputs) -> PlanMoney:
    """The plan in money over the report's months."""
    plan = source.plan
    pools = {str(one.pool["name"]): one for one in source.own}
    ways = tuple(way_of(option, pools) for option in plan.options)
    recurring = not plan.options or plan.options[0].cost.ranking_period != PER_RUN
    rented = sorted((way for way in ways if way.kind == "cloud"), key=lambda way: way.is_suspect)
    rent = rented[0] if rented else None
    on_demand = {one.rank for one in plan.options if one.capacity_type == "on_demand"}
    baseline = next((way for way in rented if way.rank in on_demand and not way.is_suspect), rent)
    own = _own(source, ways, pools)
    chosen = _chosen(plan.decision.verdict, ways, rent, own)
    bought = own if own is not None and own.own is not None else None
    pool = pools.get(plan.decision.pool or "") if bought is not None else None
    months = _months(inputs, recurring, chosen, baseline, rent, bought)
    rate = bought.own.rate_fraction if bought is not None and bought.own is not None else RATE_WITHOUT_POOL
    left = left_usd(bought.own, len(months)) if bought is not None and bought.own is not None else 0.0
    gains = [one.rent_usd - one.own_usd for one in months if one.own_usd is not None]
    return PlanMoney(
        source=source,
        recurring=recurring,
        ways=ways,
        chosen=chosen,
        baseline=baseline,
        rent=rent,
        own=own,
        pool_cost=None if pool is None else PoolCost(**pool.cost),
        months=months,
        left_usd=left,
        npv_own_usd=present_value(gains, rate) + left * discount(len(months), rate) if gains and rent is not None else None,
        payback_months=paid_back_after(gains) if rent is not None else None,
        discounted_payback_months=paid_back_after([gain * discount(at, rate) for at, gain in enumerate(gains, 1)])
        if rent is not None
        else None,
        rate_fraction=rate,
    )


def _own(source: ReportPlan, ways: Sequence[Way], pools: dict[str, OwnHardwareInputs]) -> Way | None:
    """The decision's pool, also where it is too dear to be among the options; None where it cannot do the work."""
    decision = source.plan.decision
    if decision.pool is None or decision.usd_per_useful_gpu_hour is None:
        return None
    listed = next((one for one in source.plan.options if one.kind == "on_prem" and one.instance_type == decision.pool), None)
    if listed is not None:
        return next(way for way in ways if way.rank == listed.rank)
    inputs = pools.get(decision.pool)
    if inputs is None or not source.plan.options:
        return None
    pool = OnPremPool.model_validate({name: value for name, value in inputs.pool.items() if value is not None}, strict=False)
    cost, busy = PoolCost(**inputs.cost), inputs.figures["busy_gpu_hours_per_month"]
    once = source.plan.options[0].cost.ranking_period == PER_RUN
    months = float(source.plan.request_echo["usage"]["horizon_months"]) if once else 1.0
    lines = {name: usd * months for name, usd in monthly_lines(pool, cost, busy).items() if usd}
    total, energy = math.fsum(lines.values()), cost.marginal_usd_per_gpu_hour * busy * months
    hours = source.plan.options[0].hours  # how far the estimate may be off is the same on every card
    return Way(
        label=f"own hardware {pool.name}: {cost.gpus} x {pool.gpu}",
        kind="on_prem",
        provider="on_prem",
        lines=lines,
        usd=total,
        low_usd=total - energy * (1 - hours.low / hours.mid),
        high_usd=total + energy * (hours.high / hours.mid - 1),
        usd_per_gpu_hour=total / months / HOURS_PER_MONTH / cost.gpus,
        usd_per_run=None,
        usd_per_million_tokens=None,
        rank=NOT_LISTED,
        own=own_cash(inputs, lines) if pool.mode is PoolMode.BUY else None,
    )


def _chosen(verdict: str, ways: Sequence[Way], rent: Way | None, own: Way | None) -> Way | None:
    if verdict == "on_prem" and own is not None:
        return own
    if verdict == "cloud" and rent is not None:
        return rent
    return ways[0] if ways else None


def way_of(option: PlanOption, pools: dict[str, OwnHardwareInputs]) -> Way:
    """An option as a way to do the work: its lines a month, or once."""
    cost = option.cost
    lines = {line.name: _amount(line, once=cost.ranking_period == PER_RUN) for line in cost.lines}
    total = math.fsum(lines.values())
    scale = total / cost.ranking_usd if cost.ranking_usd else 1.0
    own = None
    if option.kind == "on_prem" and option.instance_type in pools:
        own = own_cash(pools[option.instance_type], lines) if option.tier == PoolMode.BUY else None
    return Way(
        label=label_of(option),
        kind=option.kind,
        provider=option.provider,
        lines=lines,
        usd=total,
        low_usd=cost.low_usd * scale,
        high_usd=cost.high_usd * scale,
        usd_per_gpu_hour=option.usd_per_gpu_hour,
        usd_per_run=cost.usd_per_run,
        usd_per_million_tokens=option.usd_per_million_tokens,
        rank=option.rank,
        flags=option.flags,
        own=own,
    )


def _amount(line: CostLine, *, once: bool) -> float:
    """Of a month, or of all single runs together."""
    return (line.usd_over_horizon if once else line.usd_per_month) or 0.0


def own_cash(inputs: OwnHardwareInputs, lines: dict[str, float]) -> OwnCash | None:
    """When a pool that is bought pays what; None where it has a flat price."""
    cost = PoolCost(**inputs.cost)
    if cost.capex_usd <= 0:
        return None
    share = 1 - float(inputs.pool.get("busy_fraction") or 0.0)
    return OwnCash(
        name=str(inputs.pool["name"]),
        capex_usd=cost.capex_usd * share,
        resale_usd=cost.resale_usd * share,
        life_months=max(1, round(cost.life_years * MONTHS_PER_YEAR)),
        lead_months=math.ceil(cost.lead_time_months),
        lines={name: usd for name, usd in lines.items() if name != CAPITAL},
        rate_fraction=cost.rate_fraction,
    )


def _months(
    inputs: ReportInputs, recurring: bool, chosen: Way | None, baseline: Way | None, rent: Way | None, bought: Way | None
) -> tuple[CashMonth, ...]:
    return tuple(
        CashMonth(
            first_day=month_after(inputs.period[0], at),
            chosen_usd=paid_in(chosen, rent, at, recurring),
            baseline_usd=paid_in(baseline, rent, at, recurring),
            own_usd=None if bought is None else paid_in(bought, rent, at, recurring),
            rent_usd=paid_in(rent, rent, at, recurring),
        )
        for at in range(inputs.horizon_months)
    )


def month_after(start: date, months: int) -> date:
    """The first day of the month that many months after the month of `start`."""
    at = start.year * MONTHS_PER_YEAR + start.month - 1 + months
    return date(at // MONTHS_PER_YEAR, at % MONTHS_PER_YEAR + 1, 1)


def paid_in(way: Way | None, rent: Way | None, month: int, recurring: bool) -> float:
    """What a way costs in one month, the first being 0. Hardware is paid in the first, and sold in its last."""
    if way is None:
        return 0.0
    own = way.own
    if own is None:
        return way.usd if recurring or month == 0 else 0.0
    spent = own.capex_usd if month == 0 else 0.0
    rented = rent.usd if rent is not None and (recurring or month == 0) else 0.0
    used = month - own.lead_months
    if used < 0 or used >= own.life_months:
        return spent + rented
    if used == own.life_months - 1:
        spent -= own.resale_usd
    return spent + (math.fsum(own.lines.values()) if recurring or used == 0 else 0.0)


def left_usd(own: OwnCash, months: int) -> float:
    """Straight-line value after the last month; nothing after its life, all of its price before it runs."""
    used = max(0, months - own.lead_months)
    if used >= own.life_months:
        return 0.0
    return own.capex_usd - (own.capex_usd - own.resale_usd) * used / own.life_months


def discount(month: int, rate_fraction: float) -> float:
    """The present worth of a dollar at the end of a month."""
    return math.exp(-math.log1p(rate_fraction) * month / MONTHS_PER_YEAR)


def present_value(amounts: Sequence[float], rate_fraction: float) -> float:
    """Each amount discounted from the end of its month."""
    return math.fsum(amount * discount(at, rate_fraction) for at, amount in enumerate(amounts, 1))


def paid_back_after(gains: Sequence[float]) -> float | None:
    """Months until the gains add up to nothing lost, within the month in proportion; None: not within them."""
    total = 0.0
    for at, gain in enumerate(gains):
        before, total = total, total + gain
        if before < 0 <= total:
            return at + (-before / gain)
    return None


def in_period(money: PlanMoney, period: tuple[date, date]) -> float:
    """What the recommendation costs in the months that the budget period covers."""
    start, end = month_after(period[0], 0), period[1]
    return math.fsum(one.chosen_usd for one in money.months if start <= one.first_day <= end)
