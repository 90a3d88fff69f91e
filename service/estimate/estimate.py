"""What a job needs on a group of one card, in memory and in time: the composition that everyone else calls."""

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
from service.estimate.parallel import Parallelism, inference_ways, training_ways
from service.estimate.runtime import train_seconds_per_token
from service.estimate.serving import serve
from service.estimate.vram import MemoryNeed

__all__ = ["JobShape", "estimate_on", "estimates_by_strategy", "job_shape"]

LOW_HEADROOM_FRACTION = 0.05
_ADVISED = 2


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
    usable = usable_gib if usable_gib is not None else gpu.usable_gib
    ways = ways_for(job, gpu_count=gpu_count, nodes=nodes)
    if not ways:
        return _no_way(job, gpu, gpu_count=gpu_count, nodes=nodes, usable=usable)
    if refusal := _precision_refusal(job, gpu):
        return _refused(job, gpu, ways[-1], gpu_count=gpu_count, nodes=nodes, usable=usable, detail=refusal)
    fitting = [way for way in ways if job_memory(job, way).safe_gib <= usable]
    if not fitting:
        least = min(ways, key=lambda way: job_memory(job, way).safe_gib)
        return _too_small(job, gpu, least, gpu_count=gpu_count, nodes=nodes, usable=usable)
    timed = [
        _timed(job, gpu, way, gpu_count=gpu_count, nodes=nodes, interconnect=interconnect, fabric=fabric, usable=usable)
        for way in (fitting if job.task is Task.INFER else fitting[:1])
    ]
    return max(timed, key=_rate)


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
    usable = usable_gib if usable_gib is not None else gpu.usable_gib
    ways = ways_for(job, gpu_count=gpu_count, nodes=nodes)
    if not ways:
        return (_no_way(job, gpu, gpu_count=gpu_count, nodes=nodes, usable=usable),)
    if refusal := _precision_refusal(job, gpu):
        return tuple(_refused(job, gpu, way, gpu_count=gpu_count, nodes=nodes, usable=usable, detail=refusal) for way in ways)
    return tuple(
        _timed(job, gpu, way, gpu_count=gpu_count, nodes=nodes, interconnect=interconnect, fabric=fabric, usable=usable)
        if job_memory(job, way).safe_gib <= usable
        else _too_small(job, gpu, way, gpu_count=gpu_count, nodes=nodes, usable=usable)
        for way in ways
    )


@lru_cache(maxsize=4096)
def ways_for(job: JobShape, *, gpu_count: int, nodes: int) -> tuple[Parallelism, ...]:
    """The ways that are tried for a job on a group, the one with least traffic first."""
    if job.task is Task.TRAIN:
        return training_ways(gpu_count=gpu_count, nodes=nodes, forced=job.strategy, is_full=not job.uses_adapters)
    return inference_ways(job.model, gpu_count=gpu_count, nodes=nodes, forced=job.strategy)


def _rate(estimate: Estimate) -> float:
    if estimate.requests_per_second is not None:
        return estimate.requests_per_second.mid
    return estimate.tokens_per_second.mid if estimate.tokens_per_second is not None else 0.0


def _precision_refusal(job: JobShape, gpu: Gpu) -> str:
    """Why the card cannot compute in the job's format, naming one that it can; "" when it can."""
    if job.precision is Precision.BF16 and gpu.bf16_tflops is None:
        return f"{gpu.name} does not compute in bf16: use fp16"
    if job.precision is Precision.FP8 and gpu.fp8_tflops is None and (job.task is Task.TRAIN or gpu.bf16_tflops is None):
        return f"{gpu.name} does not compute in fp8: use {'bf16' if gpu.bf16_tflops is not None else 'fp16'}"
    if job.precision is Precision.FP4 and gpu.fp4_tflops is None:
        return f"{gpu.name} does not compute in fp4: use int4"
    return ""


def _vram(need: MemoryNeed, usable: float) -> VramEstimate:
    return VramEstimate(
        point_gib=need.point_gib,
        safe_gib=need.safe_gib,
        usable_gib=usable,
        headroom_gib=usable - need.safe_gib,
        parts=need.parts,
        dominated_by=need.dominated_by,
    )


def _timed(
    job: JobShape,
    gpu: Gpu,
    way: Parallelism,
    *,
    gpu_count: int,
    nodes: int,
    interconnect: Interconnect,
    fabric: Fabric,
    usable: float,
) -> Estimate:
    """A fitting estimate with its speed."""
    vram = _vram(job_memory(job, way), usable)
    is_low = vram.headroom_gib < LOW_HEADROOM_FRACTION * usable
    advice = settings_that_free_most(job, way)[:_ADVISED] if is_low else ()
    if job.task is Task.TRAIN:
        speed = train_seconds_per_token(
            job, gpu, gpu_count=gpu_count, nodes=nodes, strategy=way.label, interconnect=interconnect, fabric=fabric
        )
        seconds, bound, requests = speed.seconds_per_unit, speed.bound, None
        tokens = Range(low=1 / seconds.high, mid=1 / seconds.mid, high=1 / seconds.low)
    else:
        try:
            served = serve(
                job,
                gpu,
                gpu_count=gpu_count,
                nodes=nodes,
                tensor_parallel=way.tensor,
                pipeline_parallel=way.pipeline,
                usable_gib=usable,
                interconnect=interconnect,
            )
        except InvalidInput as refused:
            return _too_small(job, gpu, way, gpu_count=gpu_count, nodes=nodes, usable=usable, detail=str(refused))
        seconds, bound = None, served.bound
        requests, tokens = served.requests_per_second, served.tokens_per_second
    return Estimate(
        gpu=gpu.name,
        gpu_count=gpu_count,
        nodes=nodes,
        strategy=way.label,
        vram=vram,
        fits=True,
        seconds_per_unit=seconds,
        requests_per_second=requests,
        tokens_per_second=tokens,
        bound=bound,
        low_headroom=is_low,
        advice=tuple(one.sentence for one in advice),
    )


def _too_small(
    job: JobShape, gpu: Gpu, way: Parallelism, *, gpu_count: int, nodes: int, usable: float, detail: str = ""
) -> Estimate:
    vram = _vram(job_memory(job, way), usable)
    said = f"needs {vram.safe_gib:.1f} GiB a GPU, {gpu.name} leaves {usable:.1f} GiB"
    return Estimate(
        gpu=gpu.name,
        gpu_count=gpu_count,
        nodes=nodes,
        strategy=way.label,
        vram=vram,
        fits=False,
        reason="vram",
        detail=detail or said,
        shortfall_gib=max(0.0, -vram.headroom_gib),
    )


def _refused(job: JobShape, gpu: Gpu, way: Parallelism, *, gpu_count: int, nodes: int, usable: float, detail: str) -> Estimate:
    return Estimate(
        gpu=gpu.name,
        gpu_count=gpu_count,
        nodes=nodes,
        strategy=way.label,
        vram=_vram(job_memory(job, way), usable),
        fits=False,
        reason="precision",
        detail=detail,
    )


def _no_way(job: JobShape, gpu: Gpu, *, gpu_count: int, nodes: int, usable: float) -> Estimate:
    """The forced strategy cannot be laid over this many GPUs."""
    forced = job.strategy.value if job.strategy is not None else "no strategy"
    return Estimate(
        gpu=gpu.name,
        gpu_count=gpu_count,
        nodes=nodes,
        strategy=forced,
        vram=_vram(job_memory(job, Parallelism()), usable),
        fits=False,
        reason="parallelism",
        detail=f"{forced} does not divide {job.model.name} over {gpu_count * nodes} GPUs",
    )
