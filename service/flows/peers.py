"""Peers: other estimators judged on the same rows as ours, by the same rule.

The rule of thumb is ours to compute (service/estimate/rule_of_thumb.py). `hf-vram-calc` is run as it is published: its own
formulas, given the published parameter count and shape of the row's model, so that no error of its model lookup counts. Its
total of inference leaves the cache out; the cache it shows beside is added, which makes it better.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from service.estimate.card_rates import rates_of
from service.estimate.memory_rows import class_of_row, read_memory_row
from service.estimate.memory_setup import MemorySetup
from service.estimate.row_cells import Row, framework_of, measured_of, text_of
from service.estimate.rule_of_thumb import rule_of_thumb_gib, rule_of_thumb_tokens_per_second
from service.estimate.score_memory import CLASSES as MEMORY_CLASSES
from service.estimate.score_memory import MEASURED_COLUMN as MEASURED_GIB
from service.estimate.score_throughput import CLASSES as THROUGHPUT_CLASSES
from service.estimate.score_throughput import MEASURED_COLUMN as MEASURED_RATE
from service.estimate.score_throughput import kind_of_row
from service.estimate.scores import Compared, Score, judge
from service.estimate.throughput_rows import read_row

RULE_OF_THUMB = "rule of thumb"
HF_VRAM_CALC = "hf-vram-calc"
_HEAVY = ("torch", "transformers", "accelerate")  # imported by hf-vram-calc for its model lookup, not for its formulas
_DTYPES = {"inference_16bit": "bf16", "inference_8bit": "int8", "inference_4bit": "int4", "qlora": "int4"}


def score_memory_peers(rows: Sequence[Row], *, by: str) -> dict[str, Score]:
    """Each peer's figures for the same rows, GiB a GPU; a peer has no safe value of its own, so both are its point.

    hf-vram-calc is left out where `missing_peer` says why.
    """
    estimates: dict[str, Callable[[Row], float]] = {RULE_OF_THUMB: _rule_of_thumb_gib}
    if missing_peer() is None:
        estimates[HF_VRAM_CALC] = _hf_vram_calc_gib
    return {
        name: judge(
            rows,
            by=by,
            classes=MEMORY_CLASSES,
            class_of=class_of_row,
            framework_of=_framework,
            compare=_comparing(estimate, MEASURED_GIB, is_rate=False),
        )
        for name, estimate in estimates.items()
    }


def score_throughput_peers(rows: Sequence[Row], *, by: str) -> dict[str, Score]:
    """The rule of thumb on the same rows, tokens per second and GPU. hf-vram-calc tells no times."""
    score = judge(
        rows,
        by=by,
        classes=THROUGHPUT_CLASSES,
        class_of=kind_of_row,
        framework_of=_framework,
        compare=_comparing(_rule_of_thumb_rate, MEASURED_RATE, is_rate=True),
    )
    return {RULE_OF_THUMB: score}


def _framework(row: Row) -> str:
    return framework_of(row, []).value


def _comparing(estimate: Callable[[Row], float], column: str, *, is_rate: bool) -> Callable[[Row], Compared]:
    def compare(row: Row) -> Compared:
        point = estimate(row)
        return Compared(measured=measured_of(row, column), point=point, safe=point, is_rate=is_rate)

    return compare


def _rule_of_thumb_gib(row: Row) -> float:
    """The rule for the whole job, shared by the GPUs that share its weights."""
    setup, _ = read_memory_row(row)
    whole = rule_of_thumb_gib(setup.shape.params_total_b, kind=class_of_row(row))
    shards = setup.parallel.shard_degree if setup.parallel.shards_weights else 1
    return whole / (setup.model_split * shards)


def _rule_of_thumb_rate(row: Row) -> float:
    read = read_row(row)
    return rule_of_thumb_tokens_per_second(read.step, rates_of(read.gpu), phase=read.phase)


def missing_peer() -> str | None:
    """Why hf-vram-calc cannot be run here; None when it can."""
    try:
        version(HF_VRAM_CALC)
    except PackageNotFoundError:
        return "hf-vram-calc is not installed: python -m pip install --no-deps hf-vram-calc"
    return None


def _hf_vram_calc_gib(row: Row) -> float:
    """The total that the tool shows for the row's use, split as its own tensor and pipeline arithmetic does."""
    peer, (setup, _) = _hf_vram_calc(), read_memory_row(row)
    kind = class_of_row(row)
    calculator = peer.VRAMCalculator(peer.ConfigManager())
    result: Any = peer.calculator.LlmodelMemoryResult(
        _DTYPES.get(kind, "fp32" if text_of(row, "precision") == "fp32" else "bf16"),
        batch_size=setup.micro_batch,
        sequence_length=setup.sequence,
        lora_rank=setup.adapters.rank if setup.adapters else 64,
        tensor_parallel_size=setup.parallel.tensor,
    )
    result.calculate_all(_config(peer, setup), int(setup.shape.params_total), calculator)
    total = {"full": result.training_memory, "lora": result.lora_memory, "qlora": result.lora_memory}
    split = peer.ParallelizationCalculator.calculate_combined_parallel(
        total.get(kind, result.inference_memory + result.kv_cache_memory),
        tp_size=setup.parallel.tensor,
        pp_size=setup.parallel.pipeline * setup.layer_split,
    )
    return float(split)


def _config(peer: ModuleType, setup: MemorySetup) -> Any:
    shape = setup.shape
    return peer.ModelConfig(
        model_name=shape.name,
        vocab_size=shape.vocab,
        hidden_size=shape.hidden,
        num_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.intermediate,
    )


@lru_cache(maxsize=1)
def _hf_vram_calc() -> ModuleType:
    with _stand_ins([name for name in _HEAVY if find_spec(name) is None]):
        return import_module("hf_vram_calc")


@contextmanager
def _stand_ins(names: Sequence[str]) -> Iterator[None]:
    """Empty modules in place of libraries that are imported and never called: they are some gigabytes."""
    placed = {name: _Empty(name) for name in names}
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name in placed:
            del sys.modules[name]


class _Empty(ModuleType):
    """A module of which any name can be imported; calling one fails."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Empty(f"{self.__name__}.{name}")
