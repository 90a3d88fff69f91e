"""Combinations of a job that cannot be: each refused with the field and the values that would do."""

from collections.abc import Sequence

from providers.errors import InvalidInput
from service.domain.workload import Precision, Quantization, Strategy, Task, Technique
from service.estimate.job import ADAPTER_TECHNIQUES, PREFERENCE_TECHNIQUES, JobShape
from service.estimate.parallel import TENSOR_DEGREES, tensor_degrees

_ADAPTED = ("q", "k", "v", "o", "mlp", "head", "embed")
_WEIGHT_ONLY = (Precision.INT8, Precision.INT4, Precision.FP4)
_ENCODER_TECHNIQUES = (Technique.FULL, Technique.LORA, Technique.QLORA, Technique.CONTINUED_PRETRAINING)


def check_job(job: JobShape) -> None:
    """Passes a job that can be run somewhere.

    Raises:
        InvalidInput: with the JSON pointer of the field at fault.
    """
    _check_lengths(job)
    _check_split(job)
    if job.task is Task.TRAIN:
        _check_technique(job)
        _check_adapters(job)


def check_counts(job: JobShape, gpu_counts: Sequence[int]) -> None:
    """Passes counts of which one at least can be split by a forced tensor parallelism.

    Raises:
        InvalidInput: none of the stated counts divides the key-value heads.
    """
    if job.strategy is not Strategy.TENSOR_PARALLEL or job.task is not Task.INFER:
        return
    if not any(count in tensor_degrees(job.model, count) for count in gpu_counts):
        allowed = [str(count) for count in TENSOR_DEGREES if count in tensor_degrees(job.model, count)]
        raise InvalidInput(
            "tensor parallelism over this many GPUs does not divide the key-value heads",
            pointer="/workload/strategy",
            allowed=allowed,
        )


def _check_lengths(job: JobShape) -> None:
    context = job.model.context
    if not context or job.model.kind == "encoder_decoder":
        return
    if job.sequence_length > context:
        field = "sequence_length" if job.task is Task.TRAIN else "prompt_tokens"
        raise InvalidInput(
            f"{job.sequence_length} tokens are over the model's context of {context}",
            pointer=f"/workload/{field}",
            allowed=[f"1 to {context}"],
        )


def _check_split(job: JobShape) -> None:
    heads = job.model.heads if job.model.attention == "mla" else job.model.kv_heads
    if job.strategy is Strategy.TENSOR_PARALLEL and heads == 1:
        raise InvalidInput(
            "tensor parallelism splits the key-value heads, and this model has one",
            pointer="/workload/strategy",
            allowed=[one.value for one in Strategy if one is not Strategy.TENSOR_PARALLEL],
        )


def _check_technique(job: JobShape) -> None:
    technique, model = job.technique, job.model
    if model.kind != "decoder" and technique in PREFERENCE_TECHNIQUES:
        raise InvalidInput(
            f"{technique.value if technique else technique} needs a decoder and this model is an {model.kind.replace('_', '-')}",
            pointer="/workload/technique",
            allowed=[one.value for one in _ENCODER_TECHNIQUES],
        )
    if job.uses_adapters:
        return
    if job.quantization is not None:
        raise InvalidInput(
            "quantised weights cannot be trained in full: train adapters on them",
            pointer="/workload/quantization",
            allowed=sorted(one.value for one in ADAPTER_TECHNIQUES),
        )
    if job.precision in _WEIGHT_ONLY:
        raise InvalidInput(
            f"{job.precision.value} weights cannot be trained in full",
            pointer="/workload/precision",
            allowed=[one.value for one in Precision if one not in _WEIGHT_ONLY],
        )


def _check_adapters(job: JobShape) -> None:
    if not job.uses_adapters:
        return
    width = min(job.model.hidden, job.model.kv_width) or job.model.hidden
    if width and job.lora_rank > width:
        raise InvalidInput(
            f"a rank of {job.lora_rank} is over the narrowest adapted width, {width}",
            pointer="/workload/lora_rank",
            allowed=[f"1 to {width}"],
        )
    parts = [part.strip() for part in job.lora_targets.replace("+", ",").lower().split(",")]
    unknown = [part for part in parts if part not in (*_ADAPTED, "all", "qkv")]
    if unknown or not any(parts):
        raise InvalidInput(
            "lora_targets names a layer that is not adapted", pointer="/workload/lora_targets", allowed=["all", *_ADAPTED]
        )
    if job.technique is Technique.QLORA and job.quantization is None:
        raise InvalidInput(
            "QLoRA needs a quantisation", pointer="/workload/quantization", allowed=[one.value for one in Quantization]
        )
