"""Memory of the attention key and value caches: grouped, multi-query, latent and sliding-window attention."""

from providers.errors import InvalidInput
from providers.units import gib_from_bytes
from service.estimate.model_shape import ModelShape


def kv_cache_gib(
    *, layers: int, kv_heads: int, head_dim: int, context_tokens: int, sequences: int, bytes_per_value: float
) -> float:
    """GiB of keys and values when every sequence is full: two arrays of (layers, sequences, heads, tokens, head size).

    Exact for grouped-query attention; an upper bound where layers use a sliding window.

    Args:
        kv_heads: heads after grouping, not query heads.
        bytes_per_value: 2 for fp16 and bf16, 1 for an 8-bit cache.
    Raises:
        InvalidInput: an argument is not above 0.
    Source: arXiv:2309.06180 section 3; grouping arXiv:2305.13245.
    """
    if (least := min(layers, kv_heads, head_dim, context_tokens, sequences, bytes_per_value)) <= 0:
        raise InvalidInput(f"KV cache arguments must be above 0, got {least}")
    return gib_from_bytes(2.0 * layers * sequences * kv_heads * context_tokens * head_dim * bytes_per_value)


def values_per_token_and_layer(shape: ModelShape) -> int:
    """Cached numbers of one token in one layer: a latent and its rotary part (arXiv:2405.04434), or keys and values."""
    if shape.attention == "mla":
        return shape.kv_lora_rank + shape.qk_rope_dim
    return 2 * shape.kv_width


def kv_bytes_per_token(shape: ModelShape, *, bytes_per_value: float) -> float:
    """Bytes that one token adds over all layers while no window is full."""
    return shape.layers * values_per_token_and_layer(shape) * bytes_per_value


def cache_bytes(
    shape: ModelShape,
    *,
    tokens: int,
    sequences: int,
    bytes_per_value: float,
    caps_windows: bool,
    block_tokens: int = 1,
) -> float:
    """Bytes of the cache of `sequences` sequences of `tokens` tokens each over the whole model.

    With `caps_windows` a sliding layer keeps its window only. `block_tokens`: paged caches round each sequence up.
    Encoders keep none; an encoder-decoder adds the cross attention over its prompt, which the caller counts as tokens.
    """
    if shape.kind in ("encoder", "diffusion"):
        return 0.0
    whole = -(-tokens // block_tokens) * block_tokens
    sliding = shape.sliding_layers if caps_windows and shape.sliding_window else 0
    seen = min(whole, shape.sliding_window) if sliding else whole
    layer_tokens = (shape.layers - sliding) * whole + sliding * seen
    return float(sequences * layer_tokens * values_per_token_and_layer(shape)) * bytes_per_value
