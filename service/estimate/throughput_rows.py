"""Rows of a throughput table as steps of the time model: other people's spellings read as ours."""

import re
from dataclasses import dataclass
from math import ceil

from rapidfuzz import fuzz, process

from providers.errors import InvalidInput
from providers.gpus import GPUS, Gpu
from service.domain.workload import Framework
from service.estimate.infer_step import FP8_CACHE_PRECISIONS, InferStep
from service.estimate.job_steps import FUSED_FRAMEWORKS
from service.estimate.model_shape import ModelShape
from service.estimate.row_cells import (
    Row,
    card_of,
    count_of,
    framework_of,
    is_compiled,
    recompute_of,
    scheme_of,
    shape_of,
    text_of,
    trains_every_weight,
)
from service.estimate.train_step import Layout, TrainStep, adapted_layers

PHASES = {"train": "train", "decode": "decode", "prefill": "prefill", "serve": "serving"}
CARDS_PER_MACHINE = 8
_PRECISIONS = {"4bit": "int4", "8bit": "int8"}
_ACCUMULATION = {"hf": 8.0, "megatron": 16.0, "ms_swift": 16.0}  # micro batches a step where a table is silent
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
    phase = PHASES.get(text_of(row, "phase"), "")
    shape = shape_of(row, notes)
    framework = Framework.UNKNOWN.value if hide_framework else framework_of(row, notes).value
    gpu = card_of(row, notes) or _most_similar_card(row, notes)
    if phase == "train":
        return ReadRow(_train_step(row, shape, framework), gpu, phase, tuple(notes))
    if phase:
        return ReadRow(_infer_step(row, shape, framework), gpu, phase, tuple(notes))
    raise InvalidInput("the phase is not known", pointer="/phase", allowed=tuple(PHASES))


def technique_of(row: Row) -> str:
    """full, lora or qlora; adapters of other kinds cost what LoRA does."""
    if text_of(row, "technique").lower().startswith("qlora"):
        return "qlora"
    return "full" if trains_every_weight(row) else "lora"


def _most_similar_card(row: Row, notes: list[str]) -> Gpu:
    """A time needs rates: of a spelling like no other, the least unlike one."""
    name = process.extract(text_of(row, "gpu"), GPUS.keys(), scorer=fuzz.WRatio, limit=1)[0][0]
    notes[-1] = f"the GPU is not known: timed as {name}"
    return GPUS[name]


def _train_step(row: Row, shape: ModelShape, framework: str) -> TrainStep:
    kind = technique_of(row)
    return TrainStep(
        shape=shape,
        technique=kind,
        precision=text_of(row, "precision").partition("-")[0] or "bf16",
        framework=framework,
        micro_batch=count_of(row, "micro_batch"),
        sequence=count_of(row, "seq_len"),
        recompute=recompute_of(row),
        compiled=is_compiled(row) or framework in FUSED_FRAMEWORKS,
        flash_attention=text_of(row, "flash_attention") != "none",
        accumulation=_ACCUMULATION.get(framework, 1.0),
        quantization=scheme_of(row) or None,
        adapted=adapted_layers(shape, text_of(row, "lora_targets") or None if kind != "full" else "none"),
        layout=_layout(row),
    )


def _layout(row: Row) -> Layout:
    words = text_of(row, "strategy").lower()
    gpus = count_of(row, "n_gpus")
    tensor, pipeline, context = count_of(row, "tp"), count_of(row, "pp"), count_of(row, "cp")
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
    precision = text_of(row, "precision").lower()
    precision = _PRECISIONS.get(precision, precision) or "bf16"
    batch = text_of(row, "micro_batch")
    return InferStep(
        shape=shape,
        precision=precision,
        framework=framework,
        quantization=scheme_of(row) or None,
        kv_bytes=1.0 if precision in FP8_CACHE_PRECISIONS and framework == "tensorrt_llm" else 2.0,
        batch=int(float(batch)) if re.fullmatch(r"[\d.]+", batch) else 0,
        prompt=count_of(row, "input_len"),
        answer=count_of(row, "output_len"),
        tensor=count_of(row, "tp"),
        pipeline=count_of(row, "pp"),
        vector_kernels="gemv" in text_of(row, "notes").lower(),
    )
