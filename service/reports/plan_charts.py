"""Plan charts: the figures of one plan, from the plan itself and the hardware it was made with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from providers.units import HOURS_PER_MONTH
from service.domain.decision import Decision
from service.domain.plan import OVER_HORIZON, PER_MONTH, CostLine, Plan, PlanOption
from service.domain.request import OnPremPool, PlanRequest, PoolMode
from service.domain.workload import Task
from service.reports.chart_data import (
    ComponentCosts,
    CumulativeCost,
    Swing,
    TimeAgainstCost,
    TimeAndCost,
    Tornado,
    UtilizationCost,
)
from service.reports.charts import cost_against_utilization, cumulative_cost, tornado
from service.reports.figure import Figure
from service.reports.market_charts import cost_against_time, cost_by_component
from service.solver.amortize import PoolCost, payback_months, tipping_usd_per_gpu_hour, useful_usd_per_gpu_hour
from service.solver.named_pools import DEFAULT_CARD, DEFAULT_POOL
from service.solver.pool_defaults import cost_of, default_pool
from service.solver.words import about
from service.solver.work import one_card

BARS: Final = 6  # options whose cost is shown by component
_STEPS: Final = tuple(step / 100 for step in range(4, 101))
_PERIODS: Final = {PER_MONTH: "per month", OVER_HORIZON: "over the horizon"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnOrRent:
    """The pool that the decision is about, bought, beside the cheapest cloud option."""

    pool: OnPremPool
    cost: PoolCost
    utilization: float
    busy_gpu_hours: float  # a month
    rent_usd_per_month: float
    rent_low_usd: float
    rent_high_usd: float
    horizon_months: int

    @property
    def cloud_usd_per_gpu_hour(self) -> float:
        """What the cheapest rented work costs per GPU-hour of the pool that it replaces."""
        return self.rent_usd_per_month / self.busy_gpu_hours


def plan_figures(plan: Plan, stored: Mapping[str, OnPremPool]) -> tuple[Figure, ...]:
    """Every chart that this plan has the figures for; `stored` holds the pools that its request names."""
    request = request_of(plan)
    found: list[Figure] = []
    case = _case(plan, request, stored)
    if case is not None:
        found += [cost_against_utilization(_by_use(plan, case)), cumulative_cost(_by_month(case))]
    if plan.options and request.workload.task is not Task.INFER:
        found.append(cost_against_time(_times(plan, request)))
    if plan.options:
        found.append(cost_by_component(_components(plan.options[:BARS])))
    if (swings := _swings(plan.decision)) is not None:
        found.append(tornado(swings))
    return tuple(found)


def request_of(plan: Plan) -> PlanRequest:
    """The request as the plan understood it, defaults filled in."""
    from pydantic_core import to_json

    return PlanRequest.model_validate_json(to_json(_without_nulls(plan.request_echo)))


def _without_nulls(node: Any) -> Any:
    """What was not given: a pool's null price is not the same as none."""
    if isinstance(node, Mapping):
        return {name: _without_nulls(value) for name, value in node.items() if value is not None}
    return [_without_nulls(value) for value in node] if isinstance(node, list | tuple) else node


def option_label(option: PlanOption) -> str:
    """Rank, cards and seller in a few words."""
    cards = option.gpu_count * option.nodes
    seller = option.instance_type if option.kind == "on_prem" else option.provider
    return f"#{option.rank} {f'{about(cards)} x ' if cards != 1 else ''}{option.gpu}, {seller}"


def _period(option: PlanOption) -> str:
    return _PERIODS.get(option.cost.ranking_period, "per run")


def _components(options: Sequence[PlanOption]) -> ComponentCosts:
    lines = [
        (option_label(option), line.name.replace("_", " "), _view(line, option.cost.ranking_period) or 0.0)
        for option in options
        for line in option.cost.lines
    ]
    return ComponentCosts(options=[option_label(option) for option in options], lines=lines, period=_period(options[0]))


def _view(line: CostLine, period: str) -> float | None:
    return {PER_MONTH: line.usd_per_month, OVER_HORIZON: line.usd_over_horizon}.get(period, line.usd_per_run)


def _times(plan: Plan, request: PlanRequest) -> TimeAgainstCost:
    def kind(option: PlanOption) -> str:
        if option.kind == "on_prem":
            return "own hardware"
        return "cloud, spot" if option.capacity_type == "spot" else "cloud, on demand"

    points = [
        TimeAndCost(
            mark=f"#{option.rank}",
            label=option_label(option),
            kind=kind(option),
            hours=option.hours.mid,
            usd=option.cost.ranking_usd,
        )
        for option in plan.options
    ]
    return TimeAgainstCost(points=points, period=_period(plan.options[0]), deadline_hours=request.constraints.deadline_hours)


def _case(plan: Plan, request: PlanRequest, stored: Mapping[str, OnPremPool]) -> _OwnOrRent | None:
    """None where there is nothing to compare: no pool that can do the work, none to buy, or no cloud option."""
    decision = plan.decision
    rented = next((option for option in plan.options if option.kind == "cloud"), None)
    if decision.breakeven_utilization is None or not decision.utilization or decision.pool is None or rented is None:
        return None
    pool = _pool_named(decision.pool, plan, request, stored)
    if pool is None or pool.mode is not PoolMode.BUY or rented.cost.usd_over_horizon is None:
        return None
    cost, _ = cost_of(pool, one_card(pool.gpu, pointer="/on_prem"))
    months = request.usage.horizon_months
    rent = rented.cost.usd_over_horizon / months
    share = rent / rented.cost.ranking_usd if rented.cost.ranking_usd else 0.0
    return _OwnOrRent(
        pool=pool,
        cost=cost,
        utilization=decision.utilization,
        busy_gpu_hours=decision.utilization * HOURS_PER_MONTH * cost.gpus,
        rent_usd_per_month=rent,
        rent_low_usd=rented.cost.low_usd * share,
        rent_high_usd=rented.cost.high_usd * share,
        horizon_months=months,
    )


def _pool_named(name: str, plan: Plan, request: PlanRequest, stored: Mapping[str, OnPremPool]) -> OnPremPool | None:
    for pool in request.on_prem:
        if isinstance(pool, OnPremPool) and pool.name == name:
            return pool
        if pool == name and pool in stored:
            return stored[pool]
        if pool == name == DEFAULT_POOL:
            used = next((option.gpu for option in plan.options if option.instance_type == name), None)
            return default_pool(one_card(used or request.usage.reference_gpu or DEFAULT_CARD, pointer="/on_prem"))
    return None


def _by_use(plan: Plan, case: _OwnOrRent) -> UtilizationCost:
    told = plan.decision.breakeven_utilization
    dearest = None if told is None else told.against_dearest_on_demand
    cheapest = None if told is None else told.against_cheapest_allowed
    rented = [("cheapest allowed", case.cloud_usd_per_gpu_hour)]
    if dearest is not None and dearest != cheapest:
        rented.insert(0, ("dearest on demand", tipping_usd_per_gpu_hour(case.cost, dearest)))
    return UtilizationCost(
        pool=case.pool.name,
        utilization_fractions=_STEPS,
        usd_per_useful_gpu_hour=[useful_usd_per_gpu_hour(case.cost, case.cost.full_usd_per_year, share) for share in _STEPS],
        cloud=rented,
        breakeven_fractions=sorted({share for share in (dearest, cheapest) if share is not None}),
        stated_fraction=case.utilization,
    )


def _by_month(case: _OwnOrRent) -> CumulativeCost:
    """Until the hardware runs, its work is rented; a useful hour of the pool is one less what failures take."""
    cost = case.cost
    useful = case.busy_gpu_hours * cost.availability_fraction
    rent = useful * case.cloud_usd_per_gpu_hour
    running = cost.opex_usd_per_month + useful * cost.marginal_usd_per_gpu_hour
    months = [float(month) for month in range(case.horizon_months + 1)]
    crossing = payback_months(cost, cloud_usd_per_gpu_hour=case.cloud_usd_per_gpu_hour, utilization=case.utilization)
    return CumulativeCost(
        pool=case.pool.name,
        months=months,
        rent_usd=[rent * month for month in months],
        own_usd=[
            cost.capex_usd + rent * min(month, cost.lead_time_months) + running * max(0.0, month - cost.lead_time_months)
            for month in months
        ],
        crossing_month=crossing if crossing <= months[-1] else None,
    )


def _swings(decision: Decision) -> Tornado | None:
    """By how much each input alone moves the net present value; None where nothing is bought."""
    if decision.npv is None or not decision.swings:
        return None
    base = decision.npv.base_usd
    swings = [
        Swing(
            name=one.name.replace("_", " "),
            low_input=f"{one.low:g} {one.unit}",
            high_input=f"{one.high:g} {one.unit}",
            usd_at_low=one.npv_at_low_usd - base,
            usd_at_high=one.npv_at_high_usd - base,
        )
        for one in decision.swings
    ]
    return Tornado(result="the net present value of buying", base_usd=base, swings=swings)
