"""VRAM: the memory of the fullest GPU by named part, as a point and as a safe value."""

from dataclasses import dataclass
from functools import lru_cache
from math import isfinite

from providers.units import GIB, gib_from_bytes
from service.domain.estimate import VramPart
from service.estimate.inference_memory import inference_peak
from service.estimate.memory_setup import MemorySetup, Reading
from service.estimate.safety import CERTAIN_PARTS, safe_gib
from service.estimate.training_memory import fragmentation_bytes, training_peak

_WORDS = {
    "weights": "the weights",
    "gradients": "the gradients",
    "optimizer": "the optimizer states",
    "master_copy": "the fp32 master copy of the weights",
    "adapters": "the adapters",
    "activations": "the activations kept for the backward pass",
    "logits": "the output logits and the loss",
    "kv_cache": "the key and value cache",
    "workspace": "the workspace of the prompt",
    "gathered_layers": "gathered layers and communication buckets",
    "step_temporary": "temporaries of the optimizer step",
    "dequantised": "16-bit copies of quantised matrices in use",
    "cast_weights": "16-bit casts of the weights",
    "fused_copies": "matrices joined at load",
    "rotary": "rotary tables",
    "fragmentation": "cached and unused blocks",
    "preallocated": "the cache that the engine takes in advance",
    "context": "the CUDA context and libraries",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Need of the fullest GPU, GiB. Parts add up to `point_gib`."""

    point_gib: float
    safe_gib: float
    parts: tuple[VramPart, ...]
    dominated_by: str  # a sentence on the largest part


def _dominated_by(parts: tuple[VramPart, ...], point_gib: float) -> str:
    largest = max(parts, key=lambda part: part.gib)
    words = _WORDS[largest.name]
    return f"{words[0].upper()}{words[1:]} take {largest.gib:.3g} GiB, {largest.gib / point_gib:.0%} of the need"


def _preallocated(setup: MemorySetup, needed: float) -> float:
    """Cache that a serving engine takes beyond the need, up to its share of a known card: seen by a reading of the device."""
    if not (setup.facts.engine and setup.reading is Reading.DEVICE and setup.card_gib is not None and isfinite(setup.card_gib)):
        return 0.0
    return setup.constants.inference.engine_share * setup.card_gib * GIB - needed


@lru_cache(maxsize=8192)
def memory_need(setup: MemorySetup) -> MemoryNeed:
    """Point and safe need of a setup, by part, in the setup's own reading."""
    overhead, live = setup.constants.overhead, 0.0
    if setup.is_training:
        parts, live = training_peak(setup)
    else:
        parts = inference_peak(setup)
    if setup.reading is not Reading.ALLOCATED:
        if setup.is_training:
            parts["fragmentation"] = fragmentation_bytes(setup, parts, live=live)
        else:
            parts["fragmentation"] = overhead.fragmentation_inference * sum(parts.values())
    if setup.reading is Reading.DEVICE:
        together = (setup.parallel.gpus if setup.is_training else setup.model_split) > 1
        parts["context"] = (overhead.context_gib + (overhead.collective_gib if together else 0.0)) * GIB
    if setup.fitted_factor != 1.0:
        parts = {name: size if name in CERTAIN_PARTS else setup.fitted_factor * size for name, size in parts.items()}
    if (fill := _preallocated(setup, sum(parts.values()))) > 0:
        parts["preallocated"] = fill
    shown = tuple(VramPart(name=name, gib=gib_from_bytes(size)) for name, size in parts.items() if size > 0)
    point = sum(part.gib for part in shown)
    return MemoryNeed(
        point_gib=point,
        safe_gib=safe_gib(setup, shown, point_gib=point),
        parts=shown,
        dominated_by=_dominated_by(shown, point),
    )
