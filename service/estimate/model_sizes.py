"""A standard decoder for a size in parameters alone, and the parameter count that a shape comes to."""

from dataclasses import replace

from providers.errors import InvalidInput
from service.domain.estimate import Assumption
from service.estimate.model_shape import BILLION, ModelShape

_VOCAB = 128_256
_CONTEXT = 8_192
_HEAD_DIM = 128
_MLP_STEP = 256
# (params in billions up to, hidden, KV heads): widths of dense open models of each size class, models.csv
_WIDTHS = (
    (0.15, 768, 4),
    (0.4, 1024, 4),
    (0.8, 1536, 4),
    (2.0, 2048, 8),
    (4.5, 3072, 8),
    (10.0, 4096, 8),
    (40.0, 5120, 8),
    (120.0, 8192, 8),
    (250.0, 12_288, 8),
    (700.0, 16_384, 8),
    (float("inf"), 20_480, 8),
)
_MLP_RATIO = 3.5
_LEAST_LAYERS = 2


def params_of_shape(shape: ModelShape) -> tuple[float, float]:
    """(all, active) parameters that the sizes come to, by counting matrices; norms and biases are left out (under 0.2 %).

    Per layer: attention q, k, v, o (latent attention: its down and up projections), and `mlp_matrices` of
    hidden x intermediate, or that many per expert plus the router. Embedding once, head again when untied.
    """
    h = shape.hidden
    if shape.attention == "mla":
        attention = _latent_attention_params(shape)
    else:
        attention = 2.0 * h * (shape.q_width + shape.kv_width)
    dense_mlp = float(shape.mlp_matrices * h * shape.intermediate)
    outside = shape.embedding_params + shape.head_params + shape.learned_pos * h
    if not shape.is_moe:
        blocks = shape.layers * (attention + dense_mlp) + shape.encoder_layers * (attention + dense_mlp)
        crossing = shape.layers * attention if shape.encoder_layers else 0.0
        return blocks + crossing + outside, blocks + crossing + outside
    expert = float(shape.mlp_matrices * h * shape.moe_intermediate)
    moe_layers = shape.layers - shape.dense_layers
    shared = shape.layers * attention + shape.dense_layers * dense_mlp + moe_layers * h * shape.experts + outside
    total = shared + moe_layers * expert * (shape.experts + shape.shared_experts)
    active = shared + moe_layers * expert * (shape.experts_per_token + shape.shared_experts)
    return total, active


def _latent_attention_params(shape: ModelShape) -> float:
    h, heads = shape.hidden, shape.heads
    query_width = heads * (shape.qk_nope_dim + shape.qk_rope_dim)
    query = h * shape.q_lora_rank + shape.q_lora_rank * query_width if shape.q_lora_rank else h * query_width
    down = h * (shape.kv_lora_rank + shape.qk_rope_dim)
    up = shape.kv_lora_rank * heads * (shape.qk_nope_dim + shape.v_head_dim)
    return float(query + down + up + heads * shape.v_head_dim * h)


def model_from_params(params_b: float) -> tuple[ModelShape, tuple[Assumption, ...]]:
    """A dense grouped-query decoder with this many parameters, in billions, and the sentence that says so.

    The width is that of open models of the size; the number of layers makes up the count, which is then set exactly.
    """
    if not params_b > 0:
        raise InvalidInput("params_b must be above 0", pointer="/workload/model/params_b")
    hidden, kv_heads = next((hidden, kv) for limit, hidden, kv in _WIDTHS if params_b <= limit)
    intermediate = round(_MLP_RATIO * hidden / _MLP_STEP) * _MLP_STEP
    heads = hidden // _HEAD_DIM
    draft = ModelShape(
        name=f"standard {params_b:g}B",
        params_total_b=params_b,
        params_active_b=params_b,
        hidden=hidden,
        layers=1,
        heads=heads,
        kv_heads=min(kv_heads, heads) if heads % min(kv_heads, heads) == 0 else 1,
        head_dim=_HEAD_DIM,
        intermediate=intermediate,
        vocab=_VOCAB if params_b >= 1 else 32_000,
        tied_embeddings=params_b < 4,
        context=_CONTEXT,
    )
    one_layer = (params_of_shape(draft)[0] - draft.embedding_params - draft.head_params) or 1.0
    blocks = params_b * BILLION - draft.embedding_params - draft.head_params
    layers = max(_LEAST_LAYERS, round(blocks / one_layer))
    shape = replace(draft, layers=layers)
    said = (
        f"dense decoder: hidden {hidden}, {layers} layers, {heads} heads of {_HEAD_DIM}, {shape.kv_heads} KV heads, "
        f"MLP {intermediate} gated, vocabulary {shape.vocab}, context {_CONTEXT}"
    )
    return shape, (Assumption(name="model_shape", value=said, source="estimate: widths of open models of this size"),)
