"""Memory of the weights: dense, quantised, and the buffers that quantised products need."""

from dataclasses import dataclass

from service.estimate.memory_constants import MEMORY
from service.estimate.memory_setup import MemorySetup, Regime
from service.estimate.model_shape import ModelShape

DENSE_BYTES = 2.0
FP32_BYTES = 4.0
_UNTIED_BY = frozenset({"fp8"})  # published checkpoints hold the head apart from the embedding
_BITSANDBYTES = frozenset({"nf4", "nf4_double"})


def quantised_weight_bytes(
    shape: ModelShape, *, scheme: str, quantises_head: bool = False, outside_bytes: float = DENSE_BYTES
) -> float:
    """Bytes of all weights when the linear layers of the blocks are quantised.

    Embedding and head stay at `outside_bytes`, except where the library quantises the head too (a tied head becomes a
    quantised copy of its own). Source: formats in [bytes_per_weight].
    """
    each = MEMORY.bytes_per_weight[scheme]
    embedding = shape.embedding_params * outside_bytes
    if quantises_head and scheme in _BITSANDBYTES:
        head = (shape.head_params or shape.embedding_params) * each
    elif shape.tied_embeddings and scheme in _UNTIED_BY:
        head = shape.embedding_params * outside_bytes
    else:
        head = shape.head_params * outside_bytes
    return shape.linear_params * each + embedding + head


def dequantised_bytes(shape: ModelShape, *, scheme: str | None, copies: float, quantises_head: bool = False) -> float:
    """16-bit copies of the largest matrix in use, which bitsandbytes makes to multiply with it; other kernels none."""
    if scheme not in _BITSANDBYTES:
        return 0.0
    largest = max(shape.hidden * shape.intermediate, shape.embedding_params if quantises_head else 0.0)
    return copies * DENSE_BYTES * largest


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """Bytes of one whole copy of the weights, and of the temporary copies beside it."""

    resident: float
    dequantised: float


def weight_bytes(setup: MemorySetup) -> WeightBytes:
    """Bytes of the whole model's weights as the setup holds them, before any sharding.

    Training: 2 per weight in pure 16-bit and mixed regimes (the fp32 master is counted with the optimizer), 4 in fp32
    and under autocast. Inference: `weight_bytes` of the setup. The configuration's own dtype decides nothing.
    """
    shape = setup.shape
    if setup.quantization is not None:
        head = setup.facts.quantises_head
        outside = FP32_BYTES if upcasts(setup) else DENSE_BYTES
        return WeightBytes(
            resident=quantised_weight_bytes(shape, scheme=setup.quantization, quantises_head=head, outside_bytes=outside),
            dequantised=dequantised_bytes(
                shape, scheme=setup.quantization, copies=setup.constants.training.dequantised_copies, quantises_head=head
            ),
        )
    if setup.is_training:
        each = FP32_BYTES if setup.regime in (Regime.FP32, Regime.AUTOCAST) else DENSE_BYTES
    else:
        each = setup.weight_bytes
    untied = shape.embedding_params * each if _unties(setup) else 0.0
    return WeightBytes(resident=shape.params_total * each + untied, dequantised=0.0)


def _unties(setup: MemorySetup) -> bool:
    """The library keeps a head of its own beside a tied embedding, unless it trains them together."""
    trains_both = setup.is_training and setup.adapters is None
    return setup.facts.quantises_head and setup.shape.tied_embeddings and not trains_both


def upcasts(setup: MemorySetup) -> bool:
    """Embedding, head and residual stream are put into fp32 before 4-bit training on one copy of the model."""
    sharded = setup.parallel.shards_weights
    return setup.is_training and setup.facts.upcasts_4bit and setup.quantization in _BITSANDBYTES and not sharded
