"""Buffers that sharded training needs beside its shards: gathered layers, unreduced gradients, buckets."""

from providers.units import GIB
from service.domain.workload import Strategy
from service.estimate.memory_setup import MemorySetup

_HALF = 2.0


def gathered_bytes(setup: MemorySetup, *, weight_bytes: float) -> float:
    """Bytes of whole layers, unreduced gradients and buckets alive on one GPU.

    Fully sharded: two gathered layers (one in use, one fetched ahead), embedding and head (the outermost unit, which
    stays gathered), and the unreduced gradient of the largest of them when it is trained; DeepSpeed adds live and
    bucket buffers. With a pipeline the stage stays gathered between micro batches. Stage 2: two buckets. Replicas: one
    bucket copy of the gradients.
    Sources: arXiv:1910.02054, arXiv:2304.11277.
    """
    ways, shape = setup.parallel, setup.shape
    if ways.gpus == 1:
        return 0.0
    trained = setup.adapters is None
    if ways.shards_weights:
        layer = shape.layer_params / ways.tensor
        per_weight = weight_bytes / shape.params_total if setup.quantization else _HALF
        ends = (shape.embedding_params + shape.head_params) / ways.tensor
        total = 2 * layer * per_weight + _HALF * ends
        if trained:
            total += max(layer, ends / 2) * (4 if setup.facts.fp32_shards else 2)
        if ways.pipeline > 1:
            total += 2 * _HALF * shape.params_total / (ways.tensor * ways.pipeline)
        if ways.strategy is Strategy.ZERO3:
            total += setup.constants.training.prefetch_gib * GIB
        return total
    if ways.strategy is Strategy.ZERO2:
        return setup.constants.training.bucket_gib * GIB
    if ways.strategy is Strategy.DDP and trained:
        return _HALF * shape.params_total
    return 0.0
