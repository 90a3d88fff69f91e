"""Breakeven of one pool against one cloud price, by the functions of a plan's decision, with its curves. Pure."""

import math
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np

from providers.gpus import Gpu
from providers.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from service.domain.breakeven import Breakeven, BreakevenCurves, BreakevenRequest, CostAtUse, CostByMonth, Demand
from service.domain.decision import BreakevenUtilization, PaybackMonths, UsefulHourCost
from service.domain.estimate import Assumption
from service.domain.request import OnPremPool, PoolMode
from service.domain.weighing import InputSwing, Npv, ScenarioOutcome, UseBounds
from service.solver.amortize import PoolCost, breakeven_utilization, useful_usd_per_gpu_hour
from service.solver.burst import Floats, demand_of_mean_and_peak
from service.solver.draws import REPORT_DRAWS, Draws, draws_of
from service.solver.measured import open_bounds
from service.solver.mix import own_and_burst
from service.solver.pool_defaults import cost_of
from service.solver.pool_lines import monthly_lines
from service.solver.purchase import payback_months_of, purchase_of
from service.solver.weigh import NAMED, npv_of, outcome_of, ranges_of, shown_months, swings_of, switching_of
from service.solver.words import about_usd, percent

USE_POINTS: Final = 20  # of the curve: every 5 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The cloud's side: a price per GPU-hour of the pool, the use that a plan stands for, and what was assumed."""

    usd_per_gpu_hour: float
    utilization: float | None
    assumed: tuple[Assumption, ...] = ()


class _Weighed(TypedDict):
    simple_payback_months: float | None
    discounted_payback_months: float | None
    payback_months: PaybackMonths | None
    npv: Npv | None
    scenarios: tuple[ScenarioOutcome, ...]
    swings: tuple[InputSwing, ...]


def breakeven_of(
    request: BreakevenRequest, pool: OnPremPool, gpu: Gpu, cloud: Priced, *, draws: Draws | None = None
) -> Breakeven:
    """The pool against the price.

    Args:
        draws: the points of the quantiles; None: the table of reports.
    """
    cost, listed = cost_of(pool, gpu)
    price, demand, more = cloud.usd_per_gpu_hour, *_demand(request.demand)
    share = _share(request, cloud, cost, demand)
    needed = breakeven_utilization(cost, price)
    bounds = open_bounds(request.active_utilization or 0.0, needed) if share is None else None
    own, rent = _monthly(pool, cost, share, price)
    verdict = _verdict(share, needed) if bounds is None else "depends"
    shown = round(needed, 6) if needed <= 1 else None
    return Breakeven(
        verdict=verdict,
        sentence=_sentence(verdict, share, needed, price, bounds),
        pool=pool.name,
        gpu=gpu.name,
        gpus=cost.gpus,
        cloud_usd_per_gpu_hour=round(price, 6),
        utilization=None if share is None else round(share, 6),
        use_bounds=bounds,
        breakeven_utilization=BreakevenUtilization(
            against_dearest_on_demand=None,
            against_cheapest_allowed=shown,
            explained=f"at {about_usd(price)} a GPU-hour: {_or_never(needed)}",
        ),
        own_usd_per_month=own,
        cloud_usd_per_month=rent,
        usd_per_useful_gpu_hour=_scopes(cost, share),
        switching=switching_of(cost, price, share or 0.0),
        own_and_burst=None
        if demand is None
        else own_and_burst(cost, demand, cloud_usd_per_gpu_hour=price, step_gpus=pool.gpus_per_node),
        curves=BreakevenCurves(
            cost_against_utilization=_against_use(cost, price), cumulative_cost=_by_month(cost, pool, price, share)
        ),
        assumptions=(*listed, *cloud.assumed, *more),
        **_weighed(request, cost, listed, share, price, draws),
    )


def _weighed(
    request: BreakevenRequest, cost: PoolCost, listed: list[Assumption], share: float | None, price: float, draws: Draws | None
) -> _Weighed:
    """What only a purchase has: payback, present value, scenarios and swings."""
    bought = purchase_of(cost, utilization=share, cloud_usd_per_gpu_hour=price) if share else None
    if bought is None:
        return _Weighed(
            simple_payback_months=None, discounted_payback_months=None, payback_months=None, npv=None, scenarios=(), swings=()
        )
    ranges = ranges_of(listed)
    npv, payback = npv_of(bought, ranges, draws or draws_of(REPORT_DRAWS))
    return _Weighed(
        simple_payback_months=shown_months(payback_months_of(bought)),
        discounted_payback_months=shown_months(payback_months_of(bought, discounted=True)),
        payback_months=payback,
        npv=npv,
        scenarios=tuple(outcome_of(bought, one) for one in (*NAMED, *request.scenarios)),
        swings=swings_of(bought, ranges),
    )


def _monthly(pool: OnPremPool, cost: PoolCost, share: float | None, price: float) -> tuple[float | None, float | None]:
    """USD a month of owning and of renting at this use."""
    if share is None:
        return None, None
    busy = share * cost.gpus * HOURS_PER_MONTH
    return round(sum(monthly_lines(pool, cost, busy).values()), 2), round(busy * price, 2)


def _demand(demand: Demand | None) -> tuple[Floats | None, list[Assumption]]:
    """GPUs by the hour; a curve where only mean and peak are known, which is an assumption."""
    if demand is None:
        return None, []
    if demand.mean_gpus is not None and demand.peak_gpus is not None:
        said = f"peak x (1 - x)^{demand.peak_gpus / demand.mean_gpus - 1:.3g} over the hours in falling order"
        listed = [Assumption(name="demand.curve", value=said, source="only the mean and the peak are known")]
        return demand_of_mean_and_peak(mean_gpus=demand.mean_gpus, peak_gpus=demand.peak_gpus), listed
    return np.asarray(demand.hourly_gpus or demand.weekly_gpus, dtype=np.float64), []


def _share(request: BreakevenRequest, cloud: Priced, cost: PoolCost, demand: Floats | None) -> float | None:
    """Allocated use of the pool: as stated, of the plan's work, or of the demand that fits on it; None: not known."""
    if request.utilization is not None:
        return request.utilization
    if cloud.utilization is not None:
        return cloud.utilization
    if demand is not None:
        return float(np.minimum(demand, cost.gpus).mean()) / cost.gpus
    return None


def _verdict(share: float | None, needed: float) -> str:
    return "on_prem" if share is not None and share >= needed else "cloud"


def _or_never(needed: float) -> str:
    return percent(needed) if needed <= 1 else "over 100 %: never"


def _sentence(verdict: str, share: float | None, needed: float, price: float, bounds: UseBounds | None) -> str:
    if bounds is not None:
        return f"The decision is open: {bounds.explained}."
    side = "Own" if verdict == "on_prem" else "Rent"
    use = percent(share or 0.0)
    return f"{side}: {use} utilization, owning breaks even from {_or_never(needed)} against {about_usd(price)} a GPU-hour."


def _scopes(cost: PoolCost, share: float | None) -> UsefulHourCost | None:
    if not share:
        return None
    full = round(useful_usd_per_gpu_hour(cost, cost.full_usd_per_year, share), 6)
    if cost.flat_usd_per_gpu_hour is not None:
        return UsefulHourCost(hardware_and_power=None, vendor=None, full=full)
    scopes = (cost.hardware_and_power_usd_per_year, cost.vendor_usd_per_year)
    hardware, vendor = (round(useful_usd_per_gpu_hour(cost, scope, share), 6) for scope in scopes)
    return UsefulHourCost(hardware_and_power=hardware, vendor=vendor, full=full)


def _against_use(cost: PoolCost, price: float) -> tuple[CostAtUse, ...]:
    shares = [(at + 1) / USE_POINTS for at in range(USE_POINTS)]
    return tuple(
        CostAtUse(
            utilization=share,
            own_usd=round(useful_usd_per_gpu_hour(cost, cost.full_usd_per_year, share), 6),
            cloud_usd=round(price, 6),
        )
        for share in shares
    )


def _by_month(cost: PoolCost, pool: OnPremPool, price: float, share: float | None) -> tuple[CostByMonth, ...]:
    """The life from the order on; both sides do the same work, own hardware as far as it is available."""
    if share is None:
        return ()
    busy = share * cost.gpus * HOURS_PER_MONTH * cost.availability_fraction
    flat_usd = cost.full_usd_per_year / MONTHS_PER_YEAR if cost.flat_usd_per_gpu_hour is not None else cost.opex_usd_per_month
    running = (0.0 if pool.mode is PoolMode.OWNED else flat_usd) + busy * cost.marginal_usd_per_gpu_hour
    points = []
    for month in range(math.ceil(cost.lead_time_months) + math.ceil(cost.life_years * MONTHS_PER_YEAR) + 1):
        used = max(0.0, month - cost.lead_time_months)
        waited = min(float(month), cost.lead_time_months) * busy * price
        own = cost.capex_usd + waited + used * running
        points.append(CostByMonth(month=month, own_usd=round(own, 2), cloud_usd=round(month * busy * price, 2)))
    return tuple(points)
