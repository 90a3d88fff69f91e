"""Trainable parameters of adapters, and their weights, gradients and states."""

from service.estimate.memory_setup import Adapters
from service.estimate.model_shape import ModelShape

_PREFIX_PARAMS = 1.2e6
_SCALED_PARAMS = 4.3e6
ALL_LINEAR = frozenset({"q", "k", "v", "o", "mlp"})


def parse_targets(text: str) -> frozenset[str]:
    """The adapted parts that a text names: q, k, v, o, mlp, qkv (fused), head, embed; "all" is every linear layer."""
    words = {word.strip().lower() for word in text.replace("+", ",").split(",") if word.strip()}
    expanded = set(words)
    if "all" in words:
        expanded = (words - {"all"}) | ALL_LINEAR
    return frozenset(expanded)


def adapter_params(shape: ModelShape, adapters: Adapters) -> float:
    """Parameters of the added matrices: rank x (inputs + outputs) of every adapted projection; arXiv:2106.09685.

    The fused projection (qkv) has one pair of matrices for all three outputs. Of a mixture the dense width counts: the
    usual targets leave experts alone.
    """
    if adapters.kind != "lora":
        return _SCALED_PARAMS if adapters.kind == "adapter_v2" else _PREFIX_PARAMS
    h, q, kv, f = shape.hidden, shape.q_width, shape.kv_width, shape.intermediate
    sizes = {
        "q": h + q,
        "k": h + kv,
        "v": h + kv,
        "o": q + h,
        "qkv": h + q + 2 * kv,
        "mlp": (shape.mlp_matrices - 1) * (h + f) + (f + h),
    }
    per_layer = sum(sizes[part] for part in adapters.targets if part in sizes)
    head = h + shape.vocab if "head" in adapters.targets else 0
    return float(adapters.rank * (per_layer * shape.all_layers + head))


def fully_trained_params(shape: ModelShape, adapters: Adapters) -> float:
    """Embedding and head where the adapters' targets ask to train them whole."""
    return shape.embedding_params + shape.head_params if "embed" in adapters.targets else 0.0
