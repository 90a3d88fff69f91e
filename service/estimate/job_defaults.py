"""The job of a workload: every default filled in, and listed with its source."""

from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import TypeVar

from providers.errors import InvalidInput
from service.domain.estimate import Assumption
from service.domain.workload import Framework, LossKind, Optimizer, Precision, Quantization, Task, Technique, Workload
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.estimate.job import ADAPTER_TECHNIQUES, PREFERENCE_TECHNIQUES, JobShape
from service.estimate.job_checks import check_job
from service.estimate.memory_constants import MEMORY
from service.estimate.model_shape import ModelShape
from service.estimate.models import resolve_model

T = TypeVar("T")
_FOUR_BIT = frozenset(
    {Quantization.NF4, Quantization.NF4_DOUBLE, Quantization.GPTQ, Quantization.AWQ, Quantization.GGUF_Q4_K_M, Quantization.NVFP4}
)
_PRECISION_OF = {
    Quantization.INT8: Precision.INT8,
    Quantization.FP8: Precision.FP8,
    Quantization.NVFP4: Precision.FP4,
    **dict.fromkeys(_FOUR_BIT - {Quantization.NVFP4}, Precision.INT4),
}
_SCHEME_OF = {Precision.INT8: Quantization.INT8, Precision.FP8: Quantization.FP8, Precision.FP4: Quantization.NVFP4}
_FOUR_BIT_SCHEME = {
    Framework.LLAMA_CPP: Quantization.GGUF_Q4_K_M,
    Framework.EXLLAMA: Quantization.GPTQ,
    Framework.HF: Quantization.NF4,
    Framework.LITGPT: Quantization.NF4,
}
_WEIGHT_ONLY = frozenset({Precision.INT8, Precision.INT4, Precision.FP4})
_LOSS_OF = {Framework.UNSLOTH: LossKind.FUSED, Framework.TORCHTUNE: LossKind.CHUNKED}
_SEQUENCE_LENGTH = 2048
_PROMPT_TOKENS, _OUTPUT_TOKENS = 512, 256
_LORA_RANK = 16


def job_shape(workload: Workload, calibration: Calibration = UNCALIBRATED) -> tuple[JobShape, tuple[Assumption, ...]]:
    """The job of a train or infer workload, and every default and calibrated factor that it took.

    Workloads that differ only in their amount of work share one.

    Raises:
        InvalidInput: the combination cannot be (its pointer says which field, `allowed` what would do).
        UnknownModel: see find_model.
    """
    if isinstance(workload.model, dict):  # no key: a model's whole configuration
        return _made(workload, calibration)
    return _kept(_Deciding(workload, _deciding(workload)), calibration)


_AMOUNTS = frozenset(
    {"name", "tokens", "examples", "epochs", "mean_tokens", "requests_per_second", "min_replicas", "max_replicas", "vram_gib",
     "gpu_count", "gpu_hours", "data", "checkpoint"}
)  # fmt: skip
_deciding = attrgetter(*(name for name in Workload.model_fields if name not in _AMOUNTS))


class _Deciding:
    """A workload that equals every other with the same fields but its amounts."""

    __slots__ = ("key", "workload")

    def __init__(self, workload: Workload, key: tuple[object, ...]) -> None:
        self.workload, self.key = workload, key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Deciding) and self.key == other.key


@lru_cache(maxsize=512)
def _kept(deciding: _Deciding, calibration: Calibration) -> tuple[JobShape, tuple[Assumption, ...]]:
    return _made(deciding.workload, calibration)


def _made(workload: Workload, calibration: Calibration) -> tuple[JobShape, tuple[Assumption, ...]]:
    if workload.task is Task.RAW:
        raise InvalidInput("a raw workload states its need: there is nothing to estimate", pointer="/workload/task")
    model, assumed = resolve_model(workload.model)
    defaults = _Defaults(list(assumed))
    job = _training(workload, model, defaults) if workload.task is Task.TRAIN else _serving(workload, model, defaults)
    check_job(job)
    if calibration is UNCALIBRATED:
        return job, tuple(defaults.listed)
    return replace(job, calibration=calibration), (*defaults.listed, *calibration.assumptions(job.framework))


class _Defaults:
    """Fills in what was not given and lists it."""

    def __init__(self, listed: list[Assumption]) -> None:
        self.listed = listed

    def fill(self, name: str, given: T | None, default: T, source: str, unit: str = "") -> T:
        """The given value, or the default, listed."""
        if given is not None:
            return given
        shown = getattr(default, "value", default)
        self.listed.append(Assumption(name=name, value=shown, unit=unit, source=source))  # type: ignore[arg-type]  # T is a plain value or an enum of text
        return default


def _training(workload: Workload, model: ModelShape, defaults: _Defaults) -> JobShape:
    technique = defaults.fill("technique", workload.technique, Technique.FULL, "the largest need of the techniques")
    adapters = technique in ADAPTER_TECHNIQUES or (technique in PREFERENCE_TECHNIQUES and workload.lora_rank is not None)
    quantization, precision = workload.quantization, workload.precision
    if adapters and precision in _WEIGHT_ONLY:
        quantization = quantization or _SCHEME_OF.get(precision, Quantization.NF4)
        precision = None
    precision = defaults.fill("precision", precision, Precision.BF16, "the compute format of current training recipes")
    if technique is Technique.QLORA:
        quantization = defaults.fill("quantization", quantization, Quantization.NF4, "QLoRA paper, arXiv:2305.14314")
    framework = defaults.fill("framework", workload.framework, Framework.HF, "the most used stack for this technique")
    if not adapters and precision is Precision.BF16:
        defaults.listed.append(_state_format(framework))
    short = min(_SEQUENCE_LENGTH, model.context or _SEQUENCE_LENGTH)
    decoder = model.kind == "decoder"
    return JobShape(
        task=Task.TRAIN,
        model=model,
        technique=technique,
        precision=precision,
        quantization=quantization,
        kv_cache_precision=workload.kv_cache_precision or _cache_precision(precision),
        optimizer=defaults.fill("optimizer", workload.optimizer, Optimizer.ADAMW, "the default of every stack here"),
        optimizer_in_backward=workload.optimizer_in_backward,
        framework=framework,
        loss=defaults.fill("loss", workload.loss, _LOSS_OF.get(framework, LossKind.PLAIN), "the default of the framework"),
        compiled=workload.compiled if workload.compiled is not None else False,
        flash_attention=workload.flash_attention if workload.flash_attention is not None else True,
        strategy=workload.strategy,
        sequence_length=defaults.fill("sequence_length", workload.sequence_length, short, "a usual fine-tuning length", "tokens"),
        micro_batch_size=defaults.fill("micro_batch_size", workload.micro_batch_size, 1, "the least need", "sequences"),
        gradient_accumulation_steps=workload.gradient_accumulation_steps or 1,
        gradient_checkpointing=defaults.fill(
            "gradient_checkpointing", workload.gradient_checkpointing, decoder, "usual for decoders, not for encoders"
        ),
        lora_rank=defaults.fill("lora_rank", workload.lora_rank, _LORA_RANK, "a usual rank") if adapters else 0,
        lora_targets=defaults.fill("lora_targets", workload.lora_targets, "all", "every linear layer") if adapters else "",
    )


def _state_format(framework: Framework) -> Assumption:
    """How the framework keeps weights, gradients and optimizer states of a full fine-tune: the need doubles with fp32."""
    kept = "bf16" if MEMORY.frameworks[framework].states_16bit else "fp32"
    return Assumption(
        name="state_format",
        value=kept,
        source=f"how {framework.value} keeps weights, gradients and optimizer states; ZeRO keeps fp32 whatever the framework",
    )


def _serving(workload: Workload, model: ModelShape, defaults: _Defaults) -> JobShape:
    quantization, given = workload.quantization, workload.precision
    if quantization is not None:
        given = _PRECISION_OF[quantization]
        if workload.precision not in (None, given, Precision.BF16, Precision.FP16):
            raise InvalidInput(
                "precision and quantization name different weights", pointer="/workload/precision", allowed=[given.value]
            )
    precision = defaults.fill("precision", given, Precision.BF16, "the published weights of current models")
    guess = Framework.LLAMA_CPP if quantization is Quantization.GGUF_Q4_K_M else Framework.VLLM
    if model.kind != "decoder":
        guess = Framework.HF
    framework = defaults.fill("framework", workload.framework, guess, "the most used engine for this")
    if quantization is None and precision in _SCHEME_OF:
        quantization = _SCHEME_OF[precision]
    if quantization is None and precision is Precision.INT4:
        scheme = _FOUR_BIT_SCHEME.get(framework, Quantization.AWQ)
        quantization = defaults.fill("quantization", None, scheme, "the usual 4-bit scheme of the engine")
    prompt, output = _lengths(workload, model, defaults)
    return JobShape(
        task=Task.INFER,
        model=model,
        technique=None,
        precision=precision,
        quantization=quantization,
        kv_cache_precision=workload.kv_cache_precision or _cache_precision(precision),
        framework=framework,
        compiled=bool(workload.compiled),
        flash_attention=workload.flash_attention if workload.flash_attention is not None else True,
        strategy=workload.strategy,
        sequence_length=workload.sequence_length or prompt + output,
        micro_batch_size=workload.concurrency or workload.micro_batch_size or 1,
        prompt_tokens=prompt,
        output_tokens=output,
        concurrency=workload.concurrency,
        time_to_first_token_seconds=workload.time_to_first_token_seconds,
        time_per_output_token_seconds=workload.time_per_output_token_seconds,
    )


def _lengths(workload: Workload, model: ModelShape, defaults: _Defaults) -> tuple[int, int]:
    """Prompt and answer tokens; where only their sum is given, the answer takes a third of it at most."""
    whole = workload.sequence_length or model.context or _PROMPT_TOKENS + _OUTPUT_TOKENS
    output = min(_OUTPUT_TOKENS, max(1, whole // 3))
    prompt = min(_PROMPT_TOKENS, max(1, whole - output))
    if workload.sequence_length:
        prompt = max(1, whole - (workload.output_tokens or output))
    prompt = defaults.fill("prompt_tokens", workload.prompt_tokens, prompt, "a short chat turn", "tokens")
    output = defaults.fill("output_tokens", workload.output_tokens, output, "a short chat answer", "tokens")
    return prompt, output


def _cache_precision(precision: Precision) -> Precision:
    """Keys and values are kept in the compute format unless told otherwise."""
    return Precision.FP32 if precision is Precision.FP32 else Precision.FP16 if precision is Precision.FP16 else Precision.BF16
