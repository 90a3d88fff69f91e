"""Rows of a throughput table as steps of the time model: other people's spellings read as ours."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from rapidfuzz import fuzz, process

from providers.errors import InvalidInput, OptimizerError
from providers.gpus import GPUS, Gpu, find_gpu
from service.domain.workload import Framework
from service.estimate.infer_step import FP8_CACHE_PRECISIONS, InferStep
from service.estimate.job_steps import FUSED_FRAMEWORKS
from service.estimate.model_shape import ModelShape
from service.estimate.models import find_model
from service.estimate.train_step import Layout, TrainStep, adapted_layers

Row = Mapping[str, str | None]
CARDS_PER_MACHINE = 8
FRAMEWORK_ALIASES = {
    "hf_generate": "hf",
    "hf_trainer": "hf",
    "hf_peft": "hf",
    "hf_deepspeed": "hf",
    "transformers": "hf",
    "peft": "hf",
    "trl": "hf",
    "litgpt_eager": "litgpt",
    "lit_gpt": "litgpt",
    "nemo": "megatron",
    "megatron_lm": "megatron",
    "trtllm": "tensorrt_llm",
    "trt_llm": "tensorrt_llm",
    "swift": "ms_swift",
    "composer": "llm_foundry",
    "exllamav2": "exllama",
    "exllama_v2": "exllama",
    "llamacpp": "llama_cpp",
}
_QUANTIZATIONS = {"nf4-dq": "nf4_double", "gptq4": "gptq", "gptq8": "int8", "fp4": "nvfp4", "int4-g32": "int4_g32"}
_PRECISIONS = {"4bit": "int4", "8bit": "int8"}
_ACCUMULATION = {"hf": 8.0, "megatron": 16.0, "ms_swift": 16.0}  # micro batches a step where a table is silent
_SHAPE_COLUMNS = {
    "hidden": "hidden",
    "layers": "layers",
    "heads": "heads",
    "kv_heads": "kv_heads",
    "vocab": "vocab",
    "intermediate": "intermediate",
}
_SHARDED = {
    "fsdp": "fsdp",
    "zero3": "zero3",
    "zero2": "zero2",
    "zero1": "zero1",
    "fsdp-zero2": "zero2",
    "megatron-zero1": "zero1",
}


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row's step on its card, its throughput class, and what had to be taken for granted."""

    step: TrainStep | InferStep
    gpu: Gpu
    phase: str  # train, decode, prefill, serving
    notes: tuple[str, ...]


def read_row(row: Row, *, hide_framework: bool = False) -> ReadRow:
    """The step of a row with the columns of a throughput table; shape columns win over the model table.

    Raises:
        InvalidInput: the phase is not one of train, decode, prefill, serve, or the shape cannot be found.
    """
    notes: list[str] = []
    phase = {"serve": "serving"}.get(_text(row, "phase"), _text(row, "phase"))
    shape = _shape(row, notes)
    framework = Framework.UNKNOWN.value if hide_framework else _framework(_text(row, "framework"), notes)
    gpu = _gpu(_text(row, "gpu"), notes)
    if phase == "train":
        return ReadRow(_train_step(row, shape, framework), gpu, phase, tuple(notes))
    if phase in ("decode", "prefill", "serving"):
        return ReadRow(_infer_step(row, shape, framework), gpu, phase, tuple(notes))
    raise InvalidInput("the phase is not known", pointer="/phase", allowed=("train", "decode", "prefill", "serve"))


def _train_step(row: Row, shape: ModelShape, framework: str) -> TrainStep:
    technique = _text(row, "technique").lower()
    kind = "qlora" if technique.startswith("qlora") else "full" if technique in ("full", "pretrain") else "lora"
    notes = _text(row, "notes").lower()
    compiled = ("compile" in notes and "eager" not in notes) or framework in FUSED_FRAMEWORKS
    quantization = _text(row, "quant")
    return TrainStep(
        shape=shape,
        technique=kind,
        precision=_text(row, "precision").partition("-")[0] or "bf16",
        framework=framework,
        micro_batch=_count(row, "micro_batch"),
        sequence=_count(row, "seq_len"),
        recompute={"1": "full", "sel": "selective"}.get(_text(row, "grad_checkpointing"), "none"),
        compiled=compiled,
        flash_attention=_text(row, "flash_attention") != "none",
        accumulation=_ACCUMULATION.get(framework, 1.0),
        quantization=_QUANTIZATIONS.get(quantization, quantization) or None,
        adapted=adapted_layers(shape, _text(row, "lora_targets") or None if kind != "full" else "none"),
        layout=_layout(row),
    )


def _layout(row: Row) -> Layout:
    words = _text(row, "strategy").lower()
    gpus = _count(row, "n_gpus")
    tensor, pipeline, context = _count(row, "tp"), _count(row, "pp"), _count(row, "cp")
    first = words.partition("+")[0]
    return Layout(
        gpus=gpus,
        nodes=ceil(gpus / CARDS_PER_MACHINE),
        data=max(1, gpus // (tensor * pipeline * context)),
        tensor=tensor,
        pipeline=pipeline,
        context=context,
        sharding=_SHARDED.get(words, _SHARDED.get(first, "none")),
        naive_pipeline=words == "naive-mp",
    )


def _infer_step(row: Row, shape: ModelShape, framework: str) -> InferStep:
    precision = _text(row, "precision").lower()
    quantization = _text(row, "quant").lower()
    scheme = _QUANTIZATIONS.get(quantization, re.sub(r"-g\d+$", "", quantization).replace("-", "_"))
    precision = _PRECISIONS.get(precision, precision) or "bf16"
    batch = _text(row, "micro_batch")
    return InferStep(
        shape=shape,
        precision=precision,
        framework=framework,
        quantization=scheme or None,
        kv_bytes=1.0 if precision in FP8_CACHE_PRECISIONS and framework == "tensorrt_llm" else 2.0,
        batch=int(float(batch)) if re.fullmatch(r"[\d.]+", batch) else 0,
        prompt=_count(row, "input_len"),
        answer=_count(row, "output_len"),
        tensor=_count(row, "tp"),
        pipeline=_count(row, "pp"),
        vector_kernels="gemv" in _text(row, "notes").lower(),
    )


def _text(row: Row, column: str) -> str:
    return (row.get(column) or "").strip()


def _count(row: Row, column: str) -> int:
    """A whole number of at least 1; an empty cell is 1."""
    try:
        return max(1, int(float(_text(row, column) or 1)))
    except (ValueError, OverflowError):
        raise InvalidInput(f"the column {column} holds no count", pointer=f"/{column}") from None


def _framework(spelling: str, notes: list[str]) -> str:
    key = re.sub(r"[\s.\-]+", "_", spelling.lower())
    key = FRAMEWORK_ALIASES.get(key, key)
    if key in set(Framework):
        return key
    notes.append("unknown framework: taken as unknown")
    return Framework.UNKNOWN.value


def _gpu(spelling: str, notes: list[str]) -> Gpu:
    """The card of a spelling; a power limit behind the name is dropped, an unknown name becomes the most similar one."""
    for tried in (spelling, re.sub(r"-\d+W$", "", spelling)):
        try:
            return find_gpu(tried).gpu
        except OptimizerError as error:
            near = getattr(error, "allowed", ())
    if not near:
        near = [hit[0] for hit in process.extract(spelling, GPUS.keys(), scorer=fuzz.WRatio, limit=1)]
    notes.append(f"unknown GPU: taken as {near[0]}")
    return GPUS[near[0]]


def _shape(row: Row, notes: list[str]) -> ModelShape:
    """The model's shape with the row's own columns in it; a name that is not known needs all of them."""
    given = {field: _count(row, column) for column, field in _SHAPE_COLUMNS.items() if _text(row, column)}
    try:
        known = find_model(_text(row, "model"))
    except OptimizerError:
        notes.append("unknown model: the row's own sizes are used")
        return _shape_of_columns(row, given)
    changed = {field: value for field, value in given.items() if getattr(known, field) != value}
    if "hidden" in changed or "heads" in changed:
        changed["head_dim"] = given.get("hidden", known.hidden) // max(1, given.get("heads", known.heads))
    if changed:
        return replace(known, **changed)  # type: ignore[arg-type]  # every changed field is a count
    return known


def _shape_of_columns(row: Row, given: Mapping[str, int]) -> ModelShape:
    missing = sorted(set(_SHAPE_COLUMNS.values()) - set(given))
    params_b = _text(row, "params_b")
    if missing or not params_b:
        raise InvalidInput(f"the model is not known and the row lacks {', '.join(missing) or 'params_b'}", pointer="/model")
    try:
        billions = float(params_b)
    except ValueError:
        raise InvalidInput("params_b holds no number", pointer="/params_b") from None
    body = billions * 1e9 - 2.0 * given["vocab"] * given["hidden"]
    plain = given["layers"] * (4.0 * given["hidden"] ** 2 + 2.0 * given["hidden"] * given["intermediate"])
    return ModelShape(
        name=_text(row, "model") or "unnamed",
        params_total_b=billions,
        params_active_b=billions,
        head_dim=given["hidden"] // given["heads"],
        mlp_matrices=2 if body < 1.1 * plain else 3,
        context=max(_count(row, "seq_len"), 2048),
        hidden=given["hidden"],
        layers=given["layers"],
        heads=given["heads"],
        kv_heads=given["kv_heads"],
        vocab=given["vocab"],
        intermediate=given["intermediate"],
    )
