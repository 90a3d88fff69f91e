"""Mix: how many GPUs of a pool's kind to own beside rented ones, as an answer tells it."""

import math

from providers.units import HOURS_PER_MONTH, HOURS_PER_YEAR
from service.domain.weighing import OwnAndBurst
from service.solver.amortize import PoolCost
from service.solver.burst import Floats, Mix, best_mix
from service.solver.words import percent


def own_and_burst(cost: PoolCost, demand_gpus: Floats, *, cloud_usd_per_gpu_hour: float, step_gpus: int = 1) -> OwnAndBurst:
    """How many GPUs of this pool's kind to own beside rented ones."""
    found = best_mix(
        demand_gpus,
        fixed_usd_per_gpu_hour=cost.full_usd_per_year / (cost.gpus * HOURS_PER_YEAR * cost.availability_fraction),
        marginal_usd_per_gpu_hour=cost.marginal_usd_per_gpu_hour,
        cloud_usd_per_gpu_hour=cloud_usd_per_gpu_hour,
        step_gpus=step_gpus,
    )
    month = [
        round(usd * HOURS_PER_MONTH, 2) for usd in (found.usd_per_hour, found.all_cloud_usd_per_hour, found.all_own_usd_per_hour)
    ]
    return OwnAndBurst(
        own_gpus=found.own_gpus,
        breakeven_utilization=round(found.breakeven_utilization, 6) if math.isfinite(found.breakeven_utilization) else None,
        usd_per_month=month[0],
        all_cloud_usd_per_month=month[1],
        all_own_usd_per_month=month[2],
        own_use_fraction=_rounded(found.own_use_fraction),
        burst_gpu_hours_fraction=round(found.burst_gpu_hours_fraction, 6),
        last_owned_use_fraction=_rounded(found.last_owned_use_fraction),
        next_use_fraction=_rounded(found.next_use_fraction),
        explained=_said(found),
    )


def _said(found: Mix) -> str:
    if not found.own_gpus:
        return "Own none: not even the first GPU is busy often enough."
    most = f"its own use is {percent(found.last_owned_use_fraction or 0)}, over the {percent(found.breakeven_utilization)} needed"
    rented = percent(found.burst_gpu_hours_fraction)
    return f"Own {found.own_gpus}: {most}; rent {rented} of the GPU-hours. The last GPU's use decides, not the mean."


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)
