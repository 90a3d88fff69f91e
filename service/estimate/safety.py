"""The safe value: a point estimate plus margins that cover at least 97 % of the measured rows of its class."""

from collections.abc import Sequence

from service.domain.estimate import VramPart
from service.estimate.memory_constants import MEMORY
from service.estimate.memory_setup import MemorySetup

_CERTAIN = frozenset({"weights", "adapters", "gradients", "optimizer", "master_copy", "kv_cache", "context"})


def memory_class(setup: MemorySetup) -> str:
    """full, lora, qlora, inference_16bit, inference_8bit or inference_4bit."""
    if setup.is_training:
        if setup.adapters is None:
            return "full"
        return "qlora" if setup.quantization else "lora"
    if setup.quantization is None:
        return "inference_16bit"
    return "inference_8bit" if MEMORY.bytes_per_weight[setup.quantization] > 0.9 else "inference_4bit"


def safe_gib(setup: MemorySetup, parts: Sequence[VramPart], *, point_gib: float) -> float:
    """The point plus a share of what follows from the formats, a larger share of what was fitted, and a fixed part."""
    margins = MEMORY.margins[memory_class(setup)]
    certain = sum(part.gib for part in parts if part.name in _CERTAIN)
    fitted = point_gib - certain
    margin = margins.certain * certain + margins.fitted * fitted + margins.fixed_gib
    return point_gib + margin + setup.unvalidated_margin * point_gib
