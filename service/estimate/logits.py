"""Memory of the output logits and the loss: the largest buffer of a small model with a large vocabulary."""

from service.domain.workload import Framework, LossKind
from service.estimate.memory_setup import MemorySetup


def logits_bytes_per_entry(setup: MemorySetup) -> float:
    """Bytes per token and vocabulary entry alive when the backward pass starts, by framework and kind of loss."""
    table = setup.constants.logits_bytes
    if setup.loss is LossKind.FUSED:
        return table["fused"]
    if setup.loss is LossKind.CHUNKED:
        return table["chunked"]
    name = setup.facts.logits
    if name == "hf":
        return table["hf_older"] if setup.older_library else table["hf"]
    if setup.compiled:
        return table["torchtitan_compiled"] if setup.framework is Framework.TORCHTITAN else min(table["compiled"], table[name])
    if name == "litgpt" and setup.adapters is None:
        return table["litgpt_full"]
    return table[name]


def logits_bytes(setup: MemorySetup, *, tokens: float) -> float:
    """Bytes of logits and loss for `tokens` tokens of one GPU; encoders have no vocabulary head to speak of."""
    if setup.shape.kind in ("encoder", "diffusion"):
        return 0.0
    return logits_bytes_per_entry(setup) * tokens * setup.shape.vocab / setup.parallel.tensor
