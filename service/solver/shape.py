"""Shape: on each machine kind, how many machines do the work, for how many hours, and why not where they cannot."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from service.domain.request import Constraints
from service.domain.workload import Task, Workload
from service.estimate.replicas import replicas_for
from service.solver.columns import Array, Bools, Floats, Ints
from service.solver.fit import NODE_STEPS, KindFits, fits_on
from service.solver.reasons import CODE, PASS
from service.solver.tables import Kinds
from service.solver.work import Work

_FROM_FIT = np.array(  # along fit.REASONS
    [PASS, CODE["vram"], CODE["precision"], CODE["software_unverified"], CODE["parallelism"], CODE["gpu_count"]], dtype=np.uint8
)


@dataclass(frozen=True, eq=False)
class Shapes:
    """Per kind. `machines` is the mean number paid for at once, `nodes` the most; hours are of one run."""

    step: Ints  # index into NODE_STEPS: machines of one run (train, raw) or of one replica (infer)
    nodes: Floats
    machines: Floats
    machines_low: Floats
    machines_high: Floats
    low: Floats
    mid: Floats
    high: Floats
    copies: Floats  # runs at once that it takes to get a month's work done
    reason: Array  # code of reasons.py, PASS where it works
    fits: tuple[KindFits, ...]  # along NODE_STEPS


def shapes_of(work: Work, kinds: Kinds, workload: Workload, constraints: Constraints, setup_hours: float) -> Shapes:
    """The least number of machines of each kind that hold the work and end it in time."""
    fits = tuple(fits_on(work.need, kinds, nodes) for nodes in NODE_STEPS)
    if work.task is Task.INFER:
        return _service(work, kinds, workload, constraints, fits)
    limit = (constraints.deadline_hours or np.inf) - setup_hours
    limit = min(limit, work.horizon_months * HOURS_PER_MONTH)
    hours_per_unit = work.units_per_run / SECONDS_PER_HOUR
    chosen = np.zeros(len(kinds), dtype=np.int64)
    done = np.zeros(len(kinds), dtype=np.bool_)
    runs = np.zeros(len(kinds), dtype=np.bool_)
    least = constraints.min_gpu_count or 0
    for step, fit in enumerate(fits):
        open_ = ~done if step == 0 else ~done & ~kinds.alone
        if not open_.any():
            break
        enough = kinds.gpu_count * fit.nodes >= least
        works = open_ & fit.fits & enough
        chosen[works] = step
        runs |= works
        done |= works & (fit.mid * hours_per_unit <= limit)
    low, mid, high = (_pick(fits, chosen, name) * hours_per_unit for name in ("low", "mid", "high"))
    nodes = np.array(NODE_STEPS, dtype=np.float64)[chosen]
    with np.errstate(invalid="ignore"):
        copies = np.ceil(np.nan_to_num(mid) * work.runs_each_month / HOURS_PER_MONTH - 1e-9)
    copies = np.maximum(copies, 1.0) if work.runs_per_month is not None else np.ones(len(kinds))
    reason = np.full(len(kinds), PASS, dtype=np.uint8)
    reason[kinds.alone & (copies > 1)] = CODE["one_host"]
    reason[~done] = CODE["too_slow"]
    reason[~runs] = np.minimum(_FROM_FIT[fits[0].reason], CODE["parallelism"] if least == 0 else CODE["gpu_count"])[~runs]
    reason = np.minimum(reason, _count_reason(kinds, nodes, constraints))
    return Shapes(
        step=chosen, nodes=nodes, machines=nodes, machines_low=nodes, machines_high=nodes, low=low, mid=mid, high=high,
        copies=copies, reason=reason, fits=fits,
    )  # fmt: skip


def _service(work: Work, kinds: Kinds, workload: Workload, constraints: Constraints, fits: tuple[KindFits, ...]) -> Shapes:
    """Replicas that carry the load: each on the fewest machines that hold the model."""
    chosen = np.zeros(len(kinds), dtype=np.int64)
    done = fits[0].fits.copy()
    for step, fit in enumerate(fits[1:], start=1):
        works = ~done & ~kinds.alone & fit.fits
        chosen[works] = step
        done |= works
    load = workload.requests_per_second
    profile: float | tuple[float, ...] = tuple(load) if isinstance(load, list) else load or 0.0
    bounds = (workload.min_replicas or 0, workload.max_replicas)
    counts = {
        name: np.array([_replicas(profile, seconds, *bounds) for seconds in _pick(fits, chosen, name).tolist()])
        for name in ("low", "mid", "high")
    }
    nodes = np.array(NODE_STEPS, dtype=np.float64)[chosen]
    peak, mean, unserved = counts["mid"].T if len(kinds) else np.zeros((3, 0))
    reason = np.full(len(kinds), PASS, dtype=np.uint8)
    reason[kinds.alone & (peak > 1)] = CODE["one_host"]
    reason[unserved > 1e-9] = CODE["too_slow"]
    reason[~done] = np.minimum(_FROM_FIT[fits[0].reason], CODE["parallelism"])[~done]
    hours = np.full(len(kinds), work.units_per_run)
    reason = np.minimum(reason, _count_reason(kinds, nodes * peak, constraints))
    return Shapes(
        step=chosen, nodes=nodes * peak, machines=nodes * mean, machines_low=nodes * counts["low"].T[1] if len(kinds) else nodes,
        machines_high=nodes * counts["high"].T[1] if len(kinds) else nodes, low=hours, mid=hours, high=hours,
        copies=np.ones(len(kinds)), reason=reason, fits=fits,
    )  # fmt: skip


@lru_cache(maxsize=16_384)
def _replicas(
    load: float | tuple[float, ...], seconds_per_request: float, least: int, most: int | None
) -> tuple[float, float, float]:
    """Replicas at the peak, in the mean, and the share of requests that none can take."""
    if not seconds_per_request > 0:
        return (1.0, 1.0, 0.0)
    found = replicas_for(load, 1.0 / seconds_per_request, min_replicas=least, max_replicas=most)
    return (float(found.peak), found.mean, found.unserved_fraction)


def _pick(fits: tuple[KindFits, ...], chosen: Ints, name: str) -> Floats:
    """The named array of the chosen step, per kind."""
    picked: Floats = getattr(fits[0], name)
    if not chosen.any():
        return picked
    table = np.stack([getattr(fit, name) for fit in fits])
    return np.asarray(table[chosen, np.arange(len(chosen))], dtype=np.float64)


def _count_reason(kinds: Kinds, nodes: Floats, constraints: Constraints) -> Array:
    cards = kinds.gpu_count * nodes
    bad: Bools = np.zeros(len(kinds), dtype=np.bool_)
    if constraints.min_gpu_count is not None:
        bad = cards < constraints.min_gpu_count
    if constraints.max_gpu_count is not None:
        bad = bad | (cards > constraints.max_gpu_count)
    return np.where(bad, np.uint8(CODE["gpu_count"]), np.uint8(PASS))
