"""Cells of a table of measurements: other people's spellings of numbers, frameworks, cards and models read as ours."""

import re
from collections.abc import Mapping
from dataclasses import replace
from math import inf, isfinite

from rapidfuzz import fuzz, process

from providers.errors import InvalidInput, OptimizerError
from providers.gpus import GPUS, Gpu, find_gpu
from service.domain.workload import Framework
from service.estimate.model_shape import BILLION, ModelShape
from service.estimate.model_sizes import params_of_shape
from service.estimate.models import find_model

Row = Mapping[str, str | None]
FRAMEWORK_ALIASES = {
    "hf_generate": Framework.HF,
    "hf_trainer": Framework.HF,
    "hf_peft": Framework.HF,
    "hf_deepspeed": Framework.HF,
    "transformers": Framework.HF,
    "peft": Framework.HF,
    "trl": Framework.HF,
    "litgpt_eager": Framework.LITGPT,
    "lit_gpt": Framework.LITGPT,
    "nemo": Framework.MEGATRON,
    "megatron_lm": Framework.MEGATRON,
    "trtllm": Framework.TENSORRT_LLM,
    "trt_llm": Framework.TENSORRT_LLM,
    "swift": Framework.MS_SWIFT,
    "composer": Framework.LLM_FOUNDRY,
    "exllamav2": Framework.EXLLAMA,
    "exllama_v2": Framework.EXLLAMA,
    "llamacpp": Framework.LLAMA_CPP,
}
_SCHEME_ALIASES = {
    "nf4_dq": "nf4_double",
    "gptq4": "gptq",
    "gptq8": "gptq_8",
    "int4_g32": "int4_group32",
    "fp4": "nvfp4",
}
_RECOMPUTED = {"1": "full", "sel": "selective"}
_FULL_TECHNIQUES = frozenset({"full", "pretrain", "continued_pretraining"})
_SHAPE_COLUMNS = ("hidden", "layers", "heads", "kv_heads", "vocab", "intermediate")
_LEAST_LIKENESS = 80
_SAME_SIZE_FRACTION = 0.02


def text_of(row: Row, column: str) -> str:
    """The cell without blanks; "" when it is empty or the column is absent."""
    return (row.get(column) or "").strip()


def count_of(row: Row, column: str, *, default: int = 1) -> int:
    """A whole number of at least 1; an empty cell is the default.

    Raises:
        InvalidInput: the cell holds something else.
    """
    return max(1, int(number_of(row, column, default=float(default))))


def number_of(row: Row, column: str, *, default: float) -> float:
    """A finite number; an empty cell is the default."""
    raw = text_of(row, column)
    try:
        value = float(raw) if raw else default
    except ValueError:
        value = inf
    if not isfinite(value):
        raise InvalidInput(f"the column {column} holds no number", pointer=f"/{column}")
    return value


def measured_of(row: Row, column: str) -> float:
    """The measurement that a row is judged by.

    Raises:
        InvalidInput: there is none above 0.
    """
    value = number_of(row, column, default=0.0)
    if not value > 0.0:
        raise InvalidInput(f"the column {column} holds no measurement above 0", pointer=f"/{column}")
    return value


def scheme_of(row: Row) -> str:
    """The spelling of the column `quant` as ours, group sizes dropped where the name tells them; "" when it is empty."""
    raw = text_of(row, "quant").lower().replace("-", "_")
    return _SCHEME_ALIASES.get(raw, re.sub(r"_g\d+$", "", raw))


def recompute_of(row: Row) -> str:
    """none, selective or full."""
    return _RECOMPUTED.get(text_of(row, "grad_checkpointing"), "none")


def is_compiled(row: Row) -> bool:
    """The notes say that a compiler made the kernels."""
    notes = text_of(row, "notes").lower()
    return "compile" in notes and "eager" not in notes


def trains_every_weight(row: Row) -> bool:
    """Full fine-tuning and pretraining, not adapters."""
    return text_of(row, "technique").lower() in _FULL_TECHNIQUES


def framework_of(row: Row, notes: list[str]) -> Framework:
    """The framework of a spelling; one that is not known is `unknown`, with a note."""
    key = re.sub(r"[\s.\-]+", "_", text_of(row, "framework").lower())
    if key in FRAMEWORK_ALIASES:
        return FRAMEWORK_ALIASES[key]
    if key in set(Framework):
        return Framework(key)
    notes.append("the framework's spelling is not known: taken as unknown")
    return Framework.UNKNOWN


def card_of(row: Row, notes: list[str]) -> Gpu | None:
    """The card of a spelling; a power limit behind the name is dropped, a near spelling is taken with a note."""
    spelling = text_of(row, "gpu")
    for tried in (spelling, re.sub(r"-\d+W$", "", spelling)):
        try:
            return find_gpu(tried).gpu
        except OptimizerError:
            continue
    hits = process.extract(spelling, GPUS.keys(), scorer=fuzz.WRatio, limit=1)
    if hits and hits[0][1] >= _LEAST_LIKENESS:
        notes.append(f"the GPU's spelling is not known: taken as {hits[0][0]}")
        return GPUS[hits[0][0]]
    notes.append("the GPU is not known: its memory is taken as unlimited")
    return None


def shape_of(row: Row, notes: list[str]) -> ModelShape:
    """The model's shape with the row's own sizes in it; a name that is not known needs all of them.

    Raises:
        InvalidInput: the name is not known and a size is missing.
    """
    given = {column: count_of(row, column) for column in _SHAPE_COLUMNS if text_of(row, column)}
    params_b = number_of(row, "params_b", default=0.0)
    try:
        known = find_model(text_of(row, "model"))
    except OptimizerError:
        notes.append("the model's name is not known: the row's own sizes are used")
        return _shape_of_columns(row, given, params_b)
    changed = {column: value for column, value in given.items() if getattr(known, column) != value}
    if {"hidden", "heads"} & changed.keys():
        changed["head_dim"] = given.get("hidden", known.hidden) // given.get("heads", known.heads)
    shape = replace(known, **changed) if changed else known  # type: ignore[arg-type]  # every changed field is a count
    if params_b and abs(params_b / known.params_total_b - 1) > _SAME_SIZE_FRACTION:
        active = params_b * known.params_active_b / known.params_total_b
        shape = replace(shape, params_total_b=params_b, params_active_b=active)
    return shape


def _shape_of_columns(row: Row, given: Mapping[str, int], params_b: float) -> ModelShape:
    missing = [column for column in _SHAPE_COLUMNS if column not in given]
    if missing or params_b <= 0:
        raise InvalidInput(f"the model is not known and the row lacks {', '.join(missing) or 'params_b'}", pointer="/model")
    candidates = [
        ModelShape(
            name=text_of(row, "model") or "unnamed",
            params_total_b=params_b,
            params_active_b=params_b,
            head_dim=max(1, given["hidden"] // given["heads"]),
            mlp_matrices=matrices,
            tied_embeddings=tied,
            norm="rms" if matrices == 3 else "ln",
            context=max(count_of(row, "seq_len"), 2048),
            **given,  # type: ignore[arg-type]  # the six sizes of _SHAPE_COLUMNS are whole numbers
        )
        for matrices in (3, 2)
        for tied in (False, True)
    ]
    return min(candidates, key=lambda shape: abs(params_of_shape(shape)[0] / BILLION - params_b))
