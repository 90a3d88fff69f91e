"""What a job needs on a group of one card, in memory and in time: the composition that everyone else calls."""

from functools import lru_cache

from providers.gpus import Gpu
from providers.offer import Fabric, Interconnect
from service.domain.estimate import Estimate, VramEstimate
from service.domain.workload import Precision, Task
from service.estimate.advice import settings_that_free_most
from service.estimate.job import JobShape
from service.estimate.job_defaults import job_shape
from service.estimate.job_memory import job_memory
from service.estimate.pace import Group, Pace, pace_of
from service.estimate.parallel import SINGLE, Parallelism, inference_ways, training_ways

__all__ = ["JobShape", "estimate_on", "estimates_by_strategy", "job_shape", "ways_for"]

LOW_HEADROOM_FRACTION = 0.05
_ADVISED = 2
_REMEMBERED = 32_768  # estimates kept: a plan asks for each card and count once, and requests differ mostly in their tokens


def estimate_on(
    job: JobShape,
    gpu: Gpu,
    *,
    gpu_count: int,
    nodes: int = 1,
    interconnect: Interconnect = Interconnect.UNKNOWN,
    fabric: Fabric = Fabric.UNKNOWN,
    usable_gib: float | None = None,
) -> Estimate:
    """The fastest strategy whose safe need fits the card; where none fits, the one that misses by least, and why.

    Args:
        usable_gib: memory of one card that the job may use, when that is not the card's own (a fraction of a card).
    """
    return _best(job, gpu, gpu_count, nodes, interconnect, fabric, gpu.usable_gib if usable_gib is None else usable_gib)


def estimates_by_strategy(
    job: JobShape,
    gpu: Gpu,
    *,
    gpu_count: int,
    nodes: int = 1,
    interconnect: Interconnect = Interconnect.UNKNOWN,
    fabric: Fabric = Fabric.UNKNOWN,
    usable_gib: float | None = None,
) -> tuple[Estimate, ...]:
    """One estimate for every strategy that is tried on the group, fitting or not."""
    usable = gpu.usable_gib if usable_gib is None else usable_gib
    group = Group(gpu=gpu, gpu_count=gpu_count, nodes=nodes, interconnect=interconnect, fabric=fabric, usable_gib=usable)
    ways = ways_for(job, gpu_count=gpu_count, nodes=nodes)
    return tuple(_one(job, group, way) for way in ways) or (_no_way(job, group),)


@lru_cache(maxsize=4096)
def ways_for(job: JobShape, *, gpu_count: int, nodes: int) -> tuple[Parallelism, ...]:
    """The ways that are tried for a job on a group, the one with least traffic first."""
    if job.task is Task.TRAIN:
        return training_ways(gpu_count=gpu_count, nodes=nodes, forced=job.strategy, is_full=not job.uses_adapters)
    return inference_ways(job.model, gpu_count=gpu_count, nodes=nodes, forced=job.strategy)


@lru_cache(maxsize=_REMEMBERED)
def _best(
    job: JobShape, gpu: Gpu, gpu_count: int, nodes: int, interconnect: Interconnect, fabric: Fabric, usable_gib: float
) -> Estimate:
    group = Group(gpu=gpu, gpu_count=gpu_count, nodes=nodes, interconnect=interconnect, fabric=fabric, usable_gib=usable_gib)
    needs = _needs(job, gpu_count, nodes)
    if not needs:
        return _no_way(job, group)
    fitting = [way for way, need in needs if need <= usable_gib]
    if not fitting:
        return _one(job, group, min(needs, key=lambda one: one[1])[0])
    if len(fitting) == 1 or _precision_refusal(job, gpu):
        return _one(job, group, fitting[0])
    paces = [pace for way in fitting if (pace := pace_of(job, group, way)) is not None]
    return _at_pace(job, group, max(paces, key=_better)) if paces else _one(job, group, fitting[0])


def _better(pace: Pace) -> tuple[float, float]:
    """The fastest of the ways that meet the latency targets; where none does, the one that misses them by least."""
    return (-1.0 if pace.lone is None else -pace.lone.times_over_target, pace.rate)


@lru_cache(maxsize=4096)
def _needs(job: JobShape, gpu_count: int, nodes: int) -> tuple[tuple[Parallelism, float], ...]:
    """Each way with the safe need of the fullest GPU, the same on every card."""
    return tuple((way, job_memory(job, way).safe_gib) for way in ways_for(job, gpu_count=gpu_count, nodes=nodes))


def _one(job: JobShape, group: Group, way: Parallelism) -> Estimate:
    """The job on the group in one way: its speed, or why it cannot run."""
    if refusal := _precision_refusal(job, group.gpu):
        return _not_fitting(job, group, way, reason="precision", detail=refusal)
    need = job_memory(job, way).safe_gib
    if need > group.usable_gib:
        said = f"needs {need:.1f} GiB a GPU, {group.gpu.name} leaves {group.usable_gib:.1f} GiB"
        return _not_fitting(job, group, way, reason="vram", detail=said)
    pace = pace_of(job, group, way)
    if pace is None:
        return _not_fitting(job, group, way, reason="vram", detail="the memory cannot hold the weights and one sequence")
    return _at_pace(job, group, pace)


def _at_pace(job: JobShape, group: Group, pace: Pace) -> Estimate:
    vram = _vram(job, pace.way, group.usable_gib)
    is_low = vram.headroom_gib < LOW_HEADROOM_FRACTION * group.usable_gib
    advice = settings_that_free_most(job, pace.way)[:_ADVISED] if is_low else ()
    return Estimate(
        gpu=group.gpu.name,
        gpu_count=group.gpu_count,
        nodes=group.nodes,
        strategy=pace.way.label,
        vram=vram,
        fits=True,
        seconds_per_unit=pace.seconds_per_unit(),
        requests_per_second=pace.requests_per_second(),
        tokens_per_second=pace.tokens_per_second(),
        bound=pace.bound,
        low_headroom=is_low,
        advice=tuple(saving.sentence for saving in advice),
        detail="" if pace.lone is None else pace.lone.said,
        times_over_target=1.0 if pace.lone is None else pace.lone.times_over_target,
    )


def _precision_refusal(job: JobShape, gpu: Gpu) -> str:
    """Why the card cannot compute in the job's format, naming one that it can; "" when it can."""
    if job.precision is Precision.BF16 and gpu.bf16_tflops is None:
        return f"{gpu.name} does not compute in bf16: use fp16"
    if job.precision is Precision.FP8 and gpu.fp8_tflops is None and (job.task is Task.TRAIN or gpu.bf16_tflops is None):
        return f"{gpu.name} does not compute in fp8: use {'bf16' if gpu.bf16_tflops is not None else 'fp16'}"
    if job.precision is Precision.FP4 and gpu.fp4_tflops is None:
        return f"{gpu.name} does not compute in fp4: use int4"
    return ""


@lru_cache(maxsize=8192)  # cards of the same memory share it
def _vram(job: JobShape, way: Parallelism, usable_gib: float) -> VramEstimate:
    need = job_memory(job, way)
    return VramEstimate(
        point_gib=need.point_gib,
        safe_gib=need.safe_gib,
        usable_gib=usable_gib,
        headroom_gib=usable_gib - need.safe_gib,
        parts=need.parts,
        dominated_by=need.dominated_by,
    )


def _not_fitting(
    job: JobShape, group: Group, way: Parallelism, *, reason: str, detail: str, strategy: str | None = None
) -> Estimate:
    vram = _vram(job, way, group.usable_gib)
    return Estimate(
        gpu=group.gpu.name,
        gpu_count=group.gpu_count,
        nodes=group.nodes,
        strategy=strategy or way.label,
        vram=vram,
        fits=False,
        reason=reason,
        detail=detail,
        shortfall_gib=max(0.0, -vram.headroom_gib) if reason == "vram" else 0.0,
    )


def _no_way(job: JobShape, group: Group) -> Estimate:
    """The forced strategy cannot be laid over this many GPUs."""
    forced = job.strategy.value if job.strategy is not None else SINGLE.label
    said = f"{forced} does not divide {job.model.name} over {group.gpu_count * group.nodes} GPUs"
    return _not_fitting(job, group, SINGLE, reason="parallelism", detail=said, strategy=forced)
