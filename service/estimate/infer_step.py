"""InferStep: everything that decides the time of prefill and decode, resolved, and the bytes that each step reads."""

from dataclasses import dataclass

from service.estimate.hashed_once import HashedOnce
from service.estimate.kv_cache import kv_bytes_per_token
from service.estimate.memory_constants import MEMORY
from service.estimate.model_shape import ModelShape

# the memory model's formats, and mixes of llama.cpp that only tables of measurements name
BYTES_PER_WEIGHT = {**MEMORY.bytes_per_weight, "gguf_q4_0": 0.5625, "gguf_q5_k_m": 0.711, "gguf_q6_k": 0.82, "gguf_q8_0": 1.0625}
BYTES_BY_PRECISION = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.02, "int4": 0.5625, "fp4": 0.5625}
FP8_CACHE_PRECISIONS = ("fp8", "fp4")


@dataclass(frozen=True, slots=True, kw_only=True)
class InferStep(HashedOnce):
    """A batch of `batch` sequences of `prompt` tokens each answered by `answer`, on `tensor` x `pipeline` cards.

    `precision` is that of the weights (bf16, fp16, fp8, int8, int4, fp4, fp32); `quantization` the scheme, if any.
    `vector_kernels`: weight-only kernels made for one row at a time (GEMV), fast alone and slow in batches.
    """

    shape: ModelShape
    precision: str
    framework: str
    quantization: str | None = None
    kv_bytes: float = 2.0
    batch: int = 1
    prompt: int = 1
    answer: int = 1
    tensor: int = 1
    pipeline: int = 1
    vector_kernels: bool = False
    nvlink: bool | None = None

    __hash__ = HashedOnce.__hash__

    @property
    def bytes_per_weight(self) -> float:
        """Of the linear layers."""
        by_scheme = BYTES_PER_WEIGHT.get(self.quantization or "")
        return by_scheme if by_scheme is not None else BYTES_BY_PRECISION.get(self.precision, 2.0)

    @property
    def is_quantized(self) -> bool:
        return self.bytes_per_weight < 2.0

    @property
    def is_four_bit(self) -> bool:
        return self.bytes_per_weight < 0.7


def kv_bytes_read(step: InferStep, context: float) -> float:
    """Cache bytes that one decode step of one sequence reads; sliding layers read their window only."""
    shape = step.shape
    whole = kv_bytes_per_token(shape, bytes_per_value=step.kv_bytes) * context
    if not shape.sliding_window or not shape.sliding_layers or context <= shape.sliding_window:
        return whole
    seen = (shape.layers - shape.sliding_layers) + shape.sliding_layers * shape.sliding_window / context
    return whole * seen / shape.layers


def weight_bytes_resident(step: InferStep) -> float:
    """All weights over all cards: quantised linear layers, embedding and head at 16 bits."""
    shape = step.shape
    return shape.linear_params * step.bytes_per_weight + 2.0 * (shape.embedding_params + shape.head_params)


def weight_bytes_read(step: InferStep, *, rows: float | None = None) -> float:
    """Weight bytes of one step over all cards: the active layers and the head; of experts, those that `rows` hit.

    With uniform routing k of E experts a row, `rows` rows hit E (1 - (1 - k / E) ** rows) of them.
    """
    shape = step.shape
    hit = float(step.batch if rows is None else rows)
    active = max(0.0, shape.params_active - shape.embedding_params - shape.head_params)
    if shape.is_moe and hit > 1:
        mixed_layers = shape.all_layers - shape.dense_layers
        expert = float(shape.mlp_matrices * shape.hidden * shape.moe_intermediate)
        expert_active = min(active, mixed_layers * expert * shape.experts_per_token)
        ratio = shape.experts_per_token / shape.experts
        touched = (1.0 - (1.0 - ratio) ** hit) / ratio
        active = min(active - expert_active + expert_active * touched, shape.linear_params)
    head = shape.embedding_params if shape.kind != "encoder" else 0.0
    head_bytes = 0.82 if step.quantization == "gguf_q4_k_m" else 4.0 if step.precision == "fp32" else 2.0
    return active * step.bytes_per_weight + head * head_bytes
