"""The safe value: a point estimate plus margins that cover at least 97 % of the measured rows of its class."""

from collections.abc import Sequence

from service.domain.estimate import VramPart
from service.domain.workload import Framework
from service.estimate.memory_setup import MemorySetup

LEAST_EIGHT_BIT_BYTES = 0.9  # a weight of fewer bytes is one of 4 bits
CERTAIN_PARTS = frozenset({"weights", "adapters", "gradients", "optimizer", "master_copy", "kv_cache", "context"})


def memory_class(setup: MemorySetup) -> str:
    """full, lora, qlora, inference_16bit, inference_8bit or inference_4bit."""
    if setup.is_training:
        if setup.adapters is None:
            return "full"
        return "qlora" if setup.quantization else "lora"
    if setup.quantization is None:
        return "inference_16bit"
    return "inference_8bit" if setup.constants.bytes_per_weight[setup.quantization] > LEAST_EIGHT_BIT_BYTES else "inference_4bit"


def fitted_gib(parts: Sequence[VramPart]) -> float:
    """The parts that were fitted to measurements, not those that follow from formats."""
    return sum(part.gib for part in parts if part.name not in CERTAIN_PARTS)


def safe_gib(setup: MemorySetup, parts: Sequence[VramPart], *, point_gib: float) -> float:
    """The point plus a share of what follows from the formats, a larger share of what was fitted, and a fixed part."""
    margins = setup.constants.margins[memory_class(setup)]
    fitted = fitted_gib(parts)
    certain = point_gib - fitted
    margin = margins.certain * certain + margins.fitted * fitted + margins.fixed_gib
    return point_gib + margin + unvalidated_gib(setup, fitted=fitted, point_gib=point_gib)


def unvalidated_gib(setup: MemorySetup, *, fitted: float, point_gib: float) -> float:
    """Further margin where few or no measured rows are of the setup's kind, or where rows of it scatter widely."""
    margins, share = setup.constants.unvalidated, setup.unvalidated_margin
    if setup.framework is Framework.UNKNOWN:
        share += margins.framework_unknown
    if setup.is_training and setup.shape.is_moe:
        share += margins.mixture_training
    if setup.is_training and setup.parallel.tensor * setup.parallel.pipeline > 1:
        share += margins.model_parallel_training
    if setup.shape.kind == "diffusion":
        share += margins.diffusion
    scatter = margins.variable_length if setup.is_training and setup.varies else 0.0
    return share * point_gib + scatter * fitted
