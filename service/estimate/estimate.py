"""What a job needs on a group of one card, in memory and in time: the composition that everyone else calls."""

from dataclasses import dataclass
from functools import lru_cache

from providers.errors import InvalidInput
from providers.gpus import Gpu
from providers.offer import Fabric, Interconnect
from service.domain.estimate import Estimate, Range, VramEstimate
from service.domain.workload import Precision, Task
from service.estimate.advice import settings_that_free_most
from service.estimate.job import JobShape
from service.estimate.job_defaults import job_shape
from service.estimate.job_memory import job_memory
from service.estimate.parallel import SINGLE, Parallelism, inference_ways, training_ways
from service.estimate.runtime import train_seconds_per_token
from service.estimate.serving import ServingEstimate, serve

__all__ = ["JobShape", "estimate_on", "estimates_by_strategy", "job_shape", "ways_for"]

LOW_HEADROOM_FRACTION = 0.05
_ADVISED = 2
_REMEMBERED = 32_768  # estimates kept: a plan asks for each card and count once, and requests differ mostly in their tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Machines of one card that work together. `usable_gib`: memory of one card that the job may use."""

    gpu: Gpu
    gpu_count: int
    nodes: int
    interconnect: Interconnect
    fabric: Fabric
    usable_gib: float


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
    ways = ways_for(job, gpu_count=gpu_count, nodes=nodes)
    if not ways:
        return _no_way(job, group)
    fitting = [way for way in ways if job_memory(job, way).safe_gib <= usable_gib]
    if not fitting:
        return _one(job, group, min(ways, key=lambda way: job_memory(job, way).safe_gib))
    return max((_one(job, group, way) for way in fitting), key=_rate)


def _rate(estimate: Estimate) -> float:
    speed = estimate.requests_per_second or estimate.tokens_per_second
    return speed.mid if speed is not None and estimate.fits else 0.0


def _one(job: JobShape, group: Group, way: Parallelism) -> Estimate:
    """The job on the group in one way: its speed, or why it cannot run."""
    if refusal := _precision_refusal(job, group.gpu):
        return _not_fitting(job, group, way, reason="precision", detail=refusal)
    need = job_memory(job, way).safe_gib
    if need > group.usable_gib:
        said = f"needs {need:.1f} GiB a GPU, {group.gpu.name} leaves {group.usable_gib:.1f} GiB"
        return _not_fitting(job, group, way, reason="vram", detail=said)
    if job.task is Task.TRAIN:
        return _training(job, group, way)
    try:
        served = _replica(job, group.gpu, way.tensor, way.pipeline, group.interconnect, group.usable_gib)
    except InvalidInput as refused:  # no room for one sequence beside the weights
        return _not_fitting(job, group, way, reason="vram", detail=str(refused))
    requests, tokens = served.requests_per_second, served.tokens_per_second
    return _fitting(
        job,
        group,
        way,
        requests_per_second=_times(requests, way.data),
        tokens_per_second=_times(tokens, way.data),
        bound=served.bound,
    )


def _training(job: JobShape, group: Group, way: Parallelism) -> Estimate:
    speed = train_seconds_per_token(
        job,
        group.gpu,
        gpu_count=group.gpu_count,
        nodes=group.nodes,
        strategy=way.label,
        interconnect=group.interconnect,
        fabric=group.fabric,
    )
    seconds = speed.seconds_per_unit
    tokens = Range(low=1 / seconds.high, mid=1 / seconds.mid, high=1 / seconds.low)
    return _fitting(job, group, way, seconds_per_unit=seconds, tokens_per_second=tokens, bound=speed.bound)


@lru_cache(maxsize=_REMEMBERED)
def _replica(
    job: JobShape, gpu: Gpu, tensor: int, pipeline: int, interconnect: Interconnect, usable_gib: float
) -> ServingEstimate:
    """One replica under full load: groups with several have as many times its rate."""
    return serve(
        job,
        gpu,
        gpu_count=tensor,
        nodes=pipeline,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        usable_gib=usable_gib,
        interconnect=interconnect,
    )


def _times(rate: Range, replicas: int) -> Range:
    return Range(low=rate.low * replicas, mid=rate.mid * replicas, high=rate.high * replicas)


def _precision_refusal(job: JobShape, gpu: Gpu) -> str:
    """Why the card cannot compute in the job's format, naming one that it can; "" when it can."""
    if job.precision is Precision.BF16 and gpu.bf16_tflops is None:
        return f"{gpu.name} does not compute in bf16: use fp16"
    if job.precision is Precision.FP8 and gpu.fp8_tflops is None and (job.task is Task.TRAIN or gpu.bf16_tflops is None):
        return f"{gpu.name} does not compute in fp8: use {'bf16' if gpu.bf16_tflops is not None else 'fp16'}"
    if job.precision is Precision.FP4 and gpu.fp4_tflops is None:
        return f"{gpu.name} does not compute in fp4: use int4"
    return ""


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


def _fitting(
    job: JobShape,
    group: Group,
    way: Parallelism,
    *,
    bound: str,
    tokens_per_second: Range,
    seconds_per_unit: Range | None = None,
    requests_per_second: Range | None = None,
) -> Estimate:
    vram = _vram(job, way, group.usable_gib)
    is_low = vram.headroom_gib < LOW_HEADROOM_FRACTION * group.usable_gib
    advice = settings_that_free_most(job, way)[:_ADVISED] if is_low else ()
    return Estimate(
        gpu=group.gpu.name,
        gpu_count=group.gpu_count,
        nodes=group.nodes,
        strategy=way.label,
        vram=vram,
        fits=True,
        seconds_per_unit=seconds_per_unit,
        requests_per_second=requests_per_second,
        tokens_per_second=tokens_per_second,
        bound=bound,
        low_headroom=is_low,
        advice=tuple(saving.sentence for saving in advice),
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
