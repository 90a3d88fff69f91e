"""A job on a group of GPUs as the setup that the memory model takes."""

from functools import lru_cache

from service.domain.workload import LossKind, Precision, Quantization, Strategy, Task, Technique
from service.estimate.adapters import parse_targets
from service.estimate.job import PREFERENCE_TECHNIQUES, JobShape
from service.estimate.memory_constants import MEMORY
from service.estimate.memory_setup import Adapters, AttentionKernel, MemorySetup, Reading, Recompute, Regime
from service.estimate.parallel import Parallelism
from service.estimate.vram import MemoryNeed, memory_need

_BYTES = {Precision.FP32: 4.0, Precision.FP8: 1.0, Precision.INT8: 1.0, Precision.INT4: 0.5, Precision.FP4: 0.5}
_HALF = 2.0
_ZERO = frozenset({Strategy.ZERO1, Strategy.ZERO2, Strategy.ZERO3})


@lru_cache(maxsize=8192)
def job_memory(job: JobShape, ways: Parallelism) -> MemoryNeed:
    """What the fullest GPU needs, as the whole device sees it. It does not depend on the card."""
    return memory_need(setup_of(job, ways))


def setup_of(job: JobShape, ways: Parallelism) -> MemorySetup:
    """The memory setup of a job spread in these ways."""
    return _training_setup(job, ways) if job.task is Task.TRAIN else _inference_setup(job, ways)


def _inference_setup(job: JobShape, ways: Parallelism) -> MemorySetup:
    return MemorySetup(
        shape=job.model,
        framework=job.framework,
        is_training=False,
        quantization=_scheme(job.quantization),
        parallel=ways,
        micro_batch=job.micro_batch_size,
        sequence=max(job.sequence_length, job.prompt_tokens + job.output_tokens),
        prompt=job.prompt_tokens,
        kv_bytes=_BYTES.get(job.kv_cache_precision, _HALF),
        weight_bytes=4.0 if job.precision is Precision.FP32 else _HALF,
        attention=AttentionKernel.FLASH if job.flash_attention else AttentionKernel.EAGER,
        reading=Reading.DEVICE,
        fitted_factor=job.calibration.memory_factor(job.framework, "inference"),
    )


def _training_setup(job: JobShape, ways: Parallelism) -> MemorySetup:
    adapters = Adapters(rank=job.lora_rank, targets=parse_targets(job.lora_targets)) if job.uses_adapters else None
    trained, frozen = _copies(job)
    doubled = job.technique in (Technique.DPO, Technique.REWARD_MODEL)
    return MemorySetup(
        shape=job.model,
        framework=job.framework,
        regime=_regime(job, ways),
        quantization=_scheme(job.quantization),
        parallel=ways,
        micro_batch=job.micro_batch_size,
        sequence=job.sequence_length,
        kv_bytes=_BYTES.get(job.kv_cache_precision, _HALF),
        attention=AttentionKernel.SDPA if job.flash_attention else AttentionKernel.EAGER,
        compiled=job.compiled,
        recompute=Recompute.FULL if job.gradient_checkpointing else Recompute.NONE,
        loss=LossKind.FUSED if job.technique is Technique.REWARD_MODEL else job.loss,
        adapters=adapters,
        optimizer=job.optimizer.value,
        optimizer_in_backward=job.optimizer_in_backward,
        accumulates=job.gradient_accumulation_steps > 1 or ways.strategy in _ZERO,
        reading=Reading.DEVICE,
        sequences_doubled=doubled,
        frozen_copies=frozen,
        trained_copies=trained,
        generates=job.technique in (Technique.PPO, Technique.GRPO),
        fitted_factor=job.calibration.memory_factor(job.framework, "training"),
        unvalidated_margin=MEMORY.unvalidated.preference if job.technique in PREFERENCE_TECHNIQUES else 0.0,
    )


def _copies(job: JobShape) -> tuple[float, float]:
    """(trained, frozen) models on the GPUs. Adapters switched off are their own reference.

    DPO: policy and reference (arXiv:2305.18290). PPO: actor and critic trained, reference and reward frozen
    (arXiv:2203.02155). GRPO: no critic (arXiv:2402.03300).
    """
    if job.uses_adapters:
        return 1.0, 1.0 if job.technique is Technique.PPO else 0.0
    copies = {Technique.DPO: (1.0, 1.0), Technique.PPO: (2.0, 2.0), Technique.GRPO: (1.0, 1.0)}
    return copies.get(job.technique or Technique.FULL, (1.0, 0.0))


def _regime(job: JobShape, ways: Parallelism) -> Regime:
    """Formats of the states: DeepSpeed's stages keep fp32 states whatever the framework in front of them."""
    if job.precision is Precision.FP32:
        return Regime.FP32
    if job.precision is Precision.FP16:
        return Regime.AUTOCAST if not job.uses_adapters else Regime.PURE_16
    facts = MEMORY.frameworks[job.framework]
    if job.uses_adapters or (facts.states_16bit and ways.strategy not in _ZERO):
        return Regime.PURE_16
    return Regime.MIXED


def _scheme(quantization: Quantization | None) -> str | None:
    return quantization.value if quantization is not None else None
