"""Shape: on each machine kind, how many machines do the work, for how many hours, and why not where they cannot."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from service.domain.estimate import Estimate
from service.domain.request import Constraints
from service.domain.workload import Task, Workload
from service.estimate.job import JobShape
from service.estimate.replicas import replicas_for
from service.solver.columns import Array, Floats, Ints
from service.solver.fit import NODE_STEPS, KindFits, RawNeed, fits_on
from service.solver.reasons import CODE, PASS
from service.solver.tables import Kinds
from service.solver.work import Work

_FROM_FIT = np.array(  # along fit.REASONS
    [PASS, CODE["vram"], CODE["precision"], CODE["software_unverified"], CODE["parallelism"], CODE["gpu_count"]], dtype=np.uint8
)
_STEPS = np.array(NODE_STEPS, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Choice:
    """Per kind the step of NODE_STEPS that is taken, and seconds per unit there; NaN where no step works."""

    step: Ints
    nodes: Floats
    low: Floats
    mid: Floats
    high: Floats
    reason: Array  # code of reasons.py
    estimates: tuple[Estimate, ...]  # at the step taken, or on one machine where none works


@dataclass(frozen=True, eq=False)
class Shapes:
    """Per kind. `machines` is the mean number paid for at once, `nodes` the most; hours are of one run."""

    choice: Choice
    nodes: Floats
    machines: Floats
    machines_low: Floats
    machines_high: Floats
    low: Floats
    mid: Floats
    high: Floats
    reason: Array


def shapes_of(work: Work, kinds: Kinds, workload: Workload, constraints: Constraints, setup_hours: float) -> Shapes:
    """The least number of machines of each kind that hold the work and end it in time."""
    if work.task is Task.INFER:
        return _service(work, kinds, workload, constraints)
    horizon = float(work.horizon_months * HOURS_PER_MONTH)
    limit = horizon if constraints.deadline_hours is None else min(horizon, constraints.deadline_hours - setup_hours)
    hours_per_unit = work.units_per_run / SECONDS_PER_HOUR
    least = constraints.min_gpu_count or 0
    choice = first_that_holds(work.need, kinds, least)
    mid = choice.mid * hours_per_unit
    slow = mid > limit
    if constraints.deadline_hours is not None and slow.any():
        choice = _in_time(work.need, kinds, least, limit / hours_per_unit)
        mid = choice.mid * hours_per_unit
        slow = mid > limit
    reason = choice.reason.copy()
    reason[slow] = CODE["too_slow"]
    if work.runs_per_month is not None:
        crowded = kinds.single & (mid * work.runs_each_month > HOURS_PER_MONTH)
        reason[crowded & ~slow] = CODE["one_host"]
    return Shapes(
        choice=choice, nodes=choice.nodes, machines=choice.nodes, machines_low=choice.nodes, machines_high=choice.nodes,
        low=choice.low * hours_per_unit, mid=mid, high=choice.high * hours_per_unit,
        reason=_with_counts(reason, kinds, choice.nodes, constraints),
    )  # fmt: skip


@lru_cache(maxsize=64)
def first_that_holds(need: JobShape | RawNeed, kinds: Kinds, least_gpus: int, *, whole_clusters: bool = True) -> Choice:
    """The fewest machines of each kind that hold the job, whatever the time: a function of shape and kinds only.

    `whole_clusters`: one job takes at least the machines that its kind is sold by.
    """
    return _chosen(need, kinds, least_gpus, np.inf, kinds.min_machines if whole_clusters else np.ones(len(kinds)))


def _in_time(need: JobShape | RawNeed, kinds: Kinds, least_gpus: int, seconds_per_unit: float) -> Choice:
    """The fewest machines that hold the job and are this fast; the fastest that hold it where none is."""
    return _chosen(need, kinds, least_gpus, seconds_per_unit, kinds.min_machines)


def _chosen(need: JobShape | RawNeed, kinds: Kinds, least_gpus: int, most_seconds: float, least_machines: Floats) -> Choice:
    fits: list[KindFits] = []
    step = np.zeros(len(kinds), dtype=np.int64)
    works, done = np.zeros(len(kinds), dtype=np.bool_), np.zeros(len(kinds), dtype=np.bool_)
    for number, nodes in enumerate(NODE_STEPS):
        pending = ~done if number == 0 else ~done & ~kinds.alone
        if not pending.any():
            break
        fit = fits_on(need, kinds, nodes, pending.tobytes())
        fits.append(fit)
        holds = pending & fit.fits & (kinds.gpu_count * nodes >= least_gpus) & (nodes >= least_machines)
        step[holds] = number
        works |= holds
        done |= holds & (fit.mid <= most_seconds)
    low, mid, high = (_pick(fits, step, works, name) for name in ("low", "mid", "high"))
    reason = np.full(len(kinds), PASS, dtype=np.uint8)
    if fits:
        reason[~works] = np.minimum(_FROM_FIT[fits[0].reason], np.uint8(CODE["parallelism"]))[~works]
        # It holds the job, with fewer cards than asked for, or on fewer machines than are sold together.
        reason[~works & fits[0].fits] = CODE["gpu_count"]
        reason[~works & fits[0].fits & (least_machines > 1)] = CODE["parallelism"]
    found = [fits[number].estimates[at] for at, number in enumerate(step.tolist())] if fits else []
    estimates = tuple(estimate for estimate in found if estimate is not None)  # the step taken was asked about
    return Choice(step=step, nodes=_STEPS[step], low=low, mid=mid, high=high, reason=reason, estimates=estimates)


def _pick(fits: list[KindFits], step: Ints, works: Array, name: str) -> Floats:
    if not fits:
        return np.zeros(0)
    table = np.stack([getattr(fit, name) for fit in fits])
    return np.where(works, table[step, np.arange(len(step))], np.nan)


def _service(work: Work, kinds: Kinds, workload: Workload, constraints: Constraints) -> Shapes:
    """Replicas that carry the load: each on the fewest machines that hold the model."""
    choice = first_that_holds(work.need, kinds, 0, whole_clusters=False)  # replicas share a cluster
    load = workload.requests_per_second
    profile: float | tuple[float, ...] = tuple(load) if isinstance(load, list) else load or 0.0
    bounds = (workload.min_replicas or 0, workload.max_replicas)
    peak, mean, unserved = _counts(choice.mid, profile, bounds)
    _, mean_low, _ = _counts(choice.low, profile, bounds)
    _, mean_high, _ = _counts(choice.high, profile, bounds)
    reason = choice.reason.copy()
    served = reason == PASS
    late = np.array([not estimate.meets_targets for estimate in choice.estimates], dtype=np.bool_)
    reason[served & (late | (unserved > _ENOUGH))] = CODE["too_slow"]
    reason[served & kinds.single & (peak > 1)] = CODE["one_host"]
    hours, nodes, least = np.full(len(kinds), work.units_per_run), choice.nodes, kinds.min_machines
    most, mean, mean_low, mean_high = (np.maximum(nodes * count, least) for count in (peak, mean, mean_low, mean_high))
    return Shapes(
        choice=choice, nodes=most, machines=mean, machines_low=mean_low, machines_high=mean_high,
        low=hours, mid=hours, high=hours, reason=_with_counts(reason, kinds, most, constraints),
    )  # fmt: skip


_ENOUGH = 1e-9


def _counts(seconds: Floats, profile: float | tuple[float, ...], bounds: tuple[int, int | None]) -> tuple[Floats, Floats, Floats]:
    found = np.array([_replicas(profile, one, *bounds) for one in seconds.tolist()]).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


@lru_cache(maxsize=16_384)
def _replicas(
    load: float | tuple[float, ...], seconds_per_request: float, least: int, most: int | None
) -> tuple[float, float, float]:
    """Replicas at the peak, in the mean, and the share of requests that none can take."""
    if not seconds_per_request > 0:
        return (1.0, 1.0, 0.0)
    found = replicas_for(load, 1.0 / seconds_per_request, min_replicas=least, max_replicas=most)
    return (float(found.peak), found.mean, found.unserved_fraction)


def _with_counts(reason: Array, kinds: Kinds, nodes: Floats, constraints: Constraints) -> Array:
    """The reasons with the limits on the number of GPUs, which come earlier in the order of reasons."""
    least, most = constraints.min_gpu_count, constraints.max_gpu_count
    if least is None and most is None:
        return reason
    cards = kinds.gpu_count * nodes
    bad = (cards < (least or 0)) | (cards > (np.inf if most is None else most))
    return np.where(bad, np.minimum(reason, np.uint8(CODE["gpu_count"])), reason)
