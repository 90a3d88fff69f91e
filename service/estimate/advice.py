"""Settings that would free memory: what changing one setting of a job saves, largest first."""

from dataclasses import dataclass, replace
from functools import lru_cache

from service.domain.workload import LossKind, Optimizer, Precision, Quantization, Task, Technique
from service.estimate.job import JobShape
from service.estimate.job_memory import job_memory
from service.estimate.parallel import Parallelism

_LEAST_FREED_GIB = 0.1
_SHORTEST = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One changed setting and what it frees of the safe need on the fullest GPU."""

    setting: str
    freed_gib: float
    job: JobShape

    @property
    def sentence(self) -> str:
        """The words of an answer."""
        return f"{self.setting} frees {self.freed_gib:.1f} GiB"


@lru_cache(maxsize=2048)
def settings_that_free_most(job: JobShape, ways: Parallelism) -> tuple[Saving, ...]:
    """Every single change that frees memory for this job, the one that frees most first."""
    need = job_memory(job, ways).safe_gib
    savings = []
    for setting, changed in _changes(job):
        freed = need - job_memory(changed, ways).safe_gib
        if freed >= _LEAST_FREED_GIB:
            savings.append(Saving(setting=setting, freed_gib=freed, job=changed))
    return tuple(sorted(savings, key=lambda saving: -saving.freed_gib))


def _changes(job: JobShape) -> list[tuple[str, JobShape]]:
    return _training_changes(job) if job.task is Task.TRAIN else _inference_changes(job)


def _training_changes(job: JobShape) -> list[tuple[str, JobShape]]:
    changes: list[tuple[str, JobShape]] = []
    if not job.gradient_checkpointing:
        changes.append(("gradient checkpointing", replace(job, gradient_checkpointing=True)))
    if job.micro_batch_size > 1:
        half = job.micro_batch_size // 2
        changes.append((f"a micro batch of {half}", replace(job, micro_batch_size=half)))
    if job.loss is LossKind.PLAIN and job.model.kind == "decoder":
        changes.append(("a chunked loss", replace(job, loss=LossKind.CHUNKED)))
    if job.sequence_length > _SHORTEST:
        half = job.sequence_length // 2
        changes.append((f"a sequence length of {half}", replace(job, sequence_length=half)))
    if not job.uses_adapters and job.optimizer is Optimizer.ADAMW:
        changes.append(("8-bit AdamW", replace(job, optimizer=Optimizer.ADAMW_8BIT)))
    if job.technique in (Technique.FULL, Technique.CONTINUED_PRETRAINING):
        changes.append(("LoRA", replace(job, technique=Technique.LORA, lora_rank=16, lora_targets="all")))
    if job.technique is Technique.LORA and job.quantization is None:
        changes.append(("QLoRA", replace(job, technique=Technique.QLORA, quantization=Quantization.NF4)))
    return changes


def _inference_changes(job: JobShape) -> list[tuple[str, JobShape]]:
    changes: list[tuple[str, JobShape]] = []
    if job.quantization is None:
        int8 = replace(job, precision=Precision.INT8, quantization=Quantization.INT8)
        int4 = replace(job, precision=Precision.INT4, quantization=Quantization.AWQ)
        changes += [("8-bit weights", int8), ("4-bit weights", int4)]
    elif job.precision in (Precision.INT8, Precision.FP8):
        changes.append(("4-bit weights", replace(job, precision=Precision.INT4, quantization=Quantization.AWQ)))
    if job.kv_cache_precision in (Precision.BF16, Precision.FP16):
        changes.append(("an 8-bit cache", replace(job, kv_cache_precision=Precision.FP8)))
    if job.micro_batch_size > 1:
        half = job.micro_batch_size // 2
        changes.append((f"{half} sequences at once", replace(job, micro_batch_size=half, concurrency=half)))
    return changes
