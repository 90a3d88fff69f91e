"""Own and burst: how many GPUs to own when the demand above them is rented by the hour.

Minimize n f T + sum over hours of min(n, D) e + max(D - n, 0) p. Own GPU number k exactly when the mean over the hours of
min(max(D - (k - 1), 0), 1) is at least f / (p - e): its own use, not the fleet's mean use, is what pays for it.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from providers.errors import InvalidInput

Floats = NDArray[np.float64]
HOURS_OF_A_CURVE: Final = 8760
MOST_GPUS: Final = 1_000_000
_NOISE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """The cheapest split and what the pure answers cost; USD per hour of calendar time, in the mean."""

    own_gpus: int
    breakeven_utilization: float  # that the last owned GPU must reach; infinite where the cloud is cheaper than power
    usd_per_hour: float
    all_cloud_usd_per_hour: float
    all_own_usd_per_hour: float  # as many as the peak takes
    own_use_fraction: float | None  # of the owned GPUs; None where none is owned
    burst_gpu_hours_fraction: float  # of the demand, rented
    last_owned_use_fraction: float | None  # of the last step that is owned
    next_use_fraction: float | None  # of the first step that is not; None where the peak is owned


def marginal_use(demand_gpus: Any, *, step_gpus: int = 1) -> Floats:
    """By step k, the mean share of hours that its GPUs are busy; it never rises from one step to the next."""
    demand = np.asarray(demand_gpus, dtype=np.float64)
    if demand.ndim != 1 or not demand.size or not np.isfinite(demand).all() or demand.min() < 0 or demand.max() > MOST_GPUS:
        raise InvalidInput(f"the demand must be a list of 0 to {MOST_GPUS} GPUs by the hour", pointer="/demand")
    steps = demand / step_gpus
    whole = np.floor(steps).astype(np.int64)
    full = np.bincount(whole, minlength=int(whole.max()) + 2)[::-1].cumsum()[::-1]  # hours with at least so many whole steps
    part = np.bincount(whole, weights=steps - whole, minlength=len(full))
    return (full[1:] + part[:-1]) / demand.size


def best_mix(
    demand_gpus: Any,
    *,
    fixed_usd_per_gpu_hour: float,
    marginal_usd_per_gpu_hour: float,
    cloud_usd_per_gpu_hour: float,
    step_gpus: int = 1,
) -> Mix:
    """How many GPUs to own in steps of whole nodes.

    Args:
        demand_gpus: GPUs in use by the hour; fractions count.
        fixed_usd_per_gpu_hour: of owning one GPU, whether it is used or not.
        marginal_usd_per_gpu_hour: what a busy hour adds to it.
    """
    demand = np.asarray(demand_gpus, dtype=np.float64)
    use = marginal_use(demand, step_gpus=step_gpus)
    gain = cloud_usd_per_gpu_hour - marginal_usd_per_gpu_hour
    needed = fixed_usd_per_gpu_hour / gain if gain > 0 else math.inf
    steps = int(np.count_nonzero((use >= needed - _NOISE) & (use > 0)))
    own = steps * step_gpus
    covered, wanted = float(np.minimum(demand, own).mean()), float(demand.mean())
    peak = math.ceil(float(demand.max()) / step_gpus - _NOISE) * step_gpus

    def cost(gpus: int, busy: float) -> float:
        return gpus * fixed_usd_per_gpu_hour + busy * marginal_usd_per_gpu_hour + (wanted - busy) * cloud_usd_per_gpu_hour

    return Mix(
        own_gpus=own,
        breakeven_utilization=needed,
        usd_per_hour=cost(own, covered),
        all_cloud_usd_per_hour=cost(0, 0.0),
        all_own_usd_per_hour=cost(peak, wanted),
        own_use_fraction=covered / own if own else None,
        burst_gpu_hours_fraction=(wanted - covered) / wanted if wanted > 0 else 0.0,
        last_owned_use_fraction=float(use[steps - 1]) if steps else None,
        next_use_fraction=float(use[steps]) if steps < len(use) and use[steps] > 0 else None,
    )


def demand_of_mean_and_peak(*, mean_gpus: float, peak_gpus: float) -> Floats:
    """A load-duration curve peak x (1 - x)^s with this mean and peak, by the hour of a year; s = peak / mean - 1.

    An assumption where nothing but the two is known: s = 1 is a straight line from the peak to nothing.

    Raises:
        InvalidInput: the mean is over the peak.
    """
    if not 0 < mean_gpus <= peak_gpus:
        raise InvalidInput("the mean lies between 0 and the peak", pointer="/demand/mean_gpus")
    left = 1 - np.arange(HOURS_OF_A_CURVE, dtype=np.float64) / (HOURS_OF_A_CURVE - 1)
    curve: Floats = left ** (peak_gpus / mean_gpus - 1) if mean_gpus < peak_gpus else np.ones_like(left)
    scaled: Floats = np.minimum(peak_gpus * curve * (mean_gpus / (peak_gpus * curve.mean())), peak_gpus)
    return scaled
