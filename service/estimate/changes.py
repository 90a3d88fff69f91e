"""Changes of one setting of a job that free memory, the one that alters the work least first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from providers.errors import InvalidInput
from service.domain.workload import Framework, LossKind, Optimizer, Precision, Quantization, Task, Technique
from service.estimate.job import JobShape
from service.estimate.job_checks import check_job

_SHORTEST = 256
_LORA_RANK = 16
_FULL = frozenset({Technique.FULL, Technique.CONTINUED_PRETRAINING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One changed setting in words, which setting it is, and the job that has it."""

    setting: str
    of: str
    job: JobShape


def changes_of(job: JobShape) -> tuple[Change, ...]:
    """Every change of one setting that may free memory and that the job can have.

    First what leaves the result as it is (recomputed activations, a loss in chunks, smaller micro batches with more of
    them), then what rounds it (8-bit states, caches, weights), then what trains fewer weights, last what cuts the data.
    """
    found = _training(job) if job.task is Task.TRAIN else _inference(job)
    return tuple(change for change in found if _can_be(change.job))


def _can_be(job: JobShape) -> bool:
    try:
        check_job(job)
    except InvalidInput:
        return False
    return True


def _training(job: JobShape) -> Iterator[Change]:
    if not job.gradient_checkpointing:
        yield Change(setting="gradient checkpointing", of="checkpointing", job=replace(job, gradient_checkpointing=True))
    if job.loss is LossKind.PLAIN and job.model.kind == "decoder":
        yield Change(setting="a chunked loss", of="loss", job=replace(job, loss=LossKind.CHUNKED))
    for size in _halved(job.micro_batch_size):
        yield Change(setting=f"micro batch {size}", of="micro batch", job=replace(job, micro_batch_size=size))
    if not job.uses_adapters and job.optimizer is Optimizer.ADAMW:
        yield Change(setting="8-bit AdamW", of="optimizer", job=replace(job, optimizer=Optimizer.ADAMW_8BIT))
    if _could_step_in_backward(job):
        fused = replace(job, optimizer_in_backward=True)
        yield Change(setting="the optimizer in the backward pass", of="backward", job=fused)
    adapted = replace(job, lora_rank=job.lora_rank or _LORA_RANK, lora_targets=job.lora_targets or "all")
    if job.technique in _FULL:
        yield Change(setting="LoRA", of="technique", job=replace(adapted, technique=Technique.LORA))
    if job.technique in _FULL or (job.technique is Technique.LORA and job.quantization is None):
        quantised = replace(adapted, technique=Technique.QLORA, quantization=Quantization.NF4)
        yield Change(setting="QLoRA", of="technique", job=quantised)
    if job.sequence_length > _SHORTEST:
        half = job.sequence_length // 2
        yield Change(setting=f"a sequence length of {half}", of="sequence", job=replace(job, sequence_length=half))


def _could_step_in_backward(job: JobShape) -> bool:
    """Gradients are used up as they appear: one framework offers it, where no gradients are accumulated."""
    offered = job.framework is Framework.TORCHTUNE and not job.uses_adapters and job.gradient_accumulation_steps == 1
    return offered and not job.optimizer_in_backward


def _inference(job: JobShape) -> Iterator[Change]:
    for size in _halved(job.micro_batch_size):
        fewer = replace(job, micro_batch_size=size, concurrency=size)
        yield Change(setting=f"{size} sequence{'s' if size > 1 else ''} at once", of="sequences", job=fewer)
    if job.kv_cache_precision in (Precision.BF16, Precision.FP16):
        yield Change(setting="an 8-bit cache", of="cache", job=replace(job, kv_cache_precision=Precision.FP8))
    if job.quantization is None:
        int8 = replace(job, precision=Precision.INT8, quantization=Quantization.INT8)
        yield Change(setting="8-bit weights", of="weights", job=int8)
    if job.quantization is None or job.precision in (Precision.INT8, Precision.FP8):
        int4 = replace(job, precision=Precision.INT4, quantization=Quantization.AWQ)
        yield Change(setting="4-bit weights", of="weights", job=int4)


def _halved(size: int) -> Iterator[int]:
    """8: 4, 2, 1."""
    while size > 1:
        size //= 2
        yield size
