"""Breakeven: a pool against a price that is told, or against the cheapest that a plan request may use."""

from collections.abc import Callable, Mapping
from datetime import datetime

from providers.errors import InvalidInput
from service.domain.breakeven import Breakeven, BreakevenRequest
from service.domain.estimate import Assumption
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest
from service.flows.plan import check_request, make_plan
from service.solver.breakeven import Priced, breakeven_of
from service.solver.market import Market
from service.solver.named_pools import DEFAULT_CARD, DEFAULT_POOL
from service.solver.pool_defaults import default_pool
from service.solver.solve import own_of
from service.solver.work import one_card

_TWO: int = 2  # options: the pool's own and the cheapest of the cloud


def make_breakeven(
    request: BreakevenRequest,
    market: Callable[[], Market],
    *,
    now: datetime,
    pools: Mapping[str, OnPremPool],
    default_sensitivity: DataSensitivity,
) -> Breakeven:
    """The answer. The market is only asked where a plan request stands for the price.

    Raises:
        InvalidInput, UnknownGpu, UnknownModel: the pool is not stored, or the plan cannot be computed; the pointer says where.
    """
    pool = _pool(request, pools)
    gpu = one_card(pool.gpu, pointer="/pool/gpu" if isinstance(request.pool, OnPremPool) else "/pool")
    if request.plan is None:
        priced = Priced(usd_per_gpu_hour=request.cloud_usd_per_gpu_hour or 0.0, utilization=None)
    else:
        try:
            priced = _cheapest(request.plan, pool, market(), now, default_sensitivity)
        except InvalidInput as error:
            if error.pointer.startswith("/pool"):
                raise
            raise type(error)(str(error), pointer=f"/plan{error.pointer}", allowed=error.allowed) from error
    return breakeven_of(request, pool, gpu, priced)


def _pool(request: BreakevenRequest, pools: Mapping[str, OnPremPool]) -> OnPremPool:
    if isinstance(request.pool, OnPremPool):
        return request.pool
    if request.pool in pools:
        return pools[request.pool]
    if request.pool == DEFAULT_POOL:
        named = None if request.plan is None else request.plan.usage.reference_gpu
        return default_pool(one_card(named or DEFAULT_CARD, pointer="/plan/usage/reference_gpu"))
    raise InvalidInput("no pool of this name is stored", pointer="/pool", allowed=(DEFAULT_POOL, *sorted(pools)))


def _cheapest(plan: PlanRequest, pool: OnPremPool, market: Market, now: datetime, default: DataSensitivity) -> Priced:
    """What the pool's work costs in the cloud per GPU-hour of the pool, all lines of the cheapest allowed option."""
    for name in ("on_prem", "save", "as_of", "fields"):
        if getattr(plan, name):
            raise InvalidInput("this does not belong into the plan of a breakeven", pointer=f"/{name}")
    asked = plan.model_copy(update={"on_prem": (pool,), "limit": _TWO})
    check_request(asked, now)
    answer = make_plan(asked, market, now=now, pools={}, default_sensitivity=default)
    own = own_of(asked, pools={}, default_sensitivity=default, standing=market.standing)[0]
    if own.exclusion is not None:
        raise InvalidInput(f"the pool cannot do this work: {own.exclusion.explained}", pointer="/pool")
    best = next((option for option in answer.options if option.kind == "cloud"), None)
    if best is None:
        raise InvalidInput("no cloud offer is allowed and fits: there is no price to compare with")
    monthly = best.cost.usd_per_month
    if monthly is None:  # one-off work is spread over the horizon
        monthly = (best.cost.usd_over_horizon or 0.0) / asked.usage.horizon_months
    price = monthly / own.busy_gpu_hours_per_month
    named = f"{best.provider} {best.tier} {best.gpu_count:g} x {best.gpu}, {best.capacity_type}"
    text = f"{named}: all its lines over the pool's GPU-hours"
    assumed = Assumption(name="cloud_usd_per_gpu_hour", value=round(price, 6), unit="USD", source=text)
    return Priced(usd_per_gpu_hour=price, utilization=own.utilization, assumed=(assumed,))
