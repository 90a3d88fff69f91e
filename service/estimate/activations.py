"""Activations that the forward pass keeps for the backward pass, per token and layer, and over the whole model.

Units: bytes. Source of the counts: arXiv:2205.05198 section 4 for the eager transformer, extended by grouped heads,
gated MLPs, flash attention (arXiv:2205.14135), adapters and quantised linear layers; the shares are fitted.
"""

from service.domain.workload import Framework
from service.estimate.memory_setup import Adapters, AttentionKernel, MemorySetup, Recompute, Regime
from service.estimate.weights import upcasts

_HALF = 2.0
_FP32 = 4.0
_DROPOUT_MASK = 1.0
_ROW_STATISTICS = 4.0  # flash attention keeps one fp32 number per head and token
_BITSANDBYTES = ("nf4", "nf4_double")


def kept_per_token_and_layer(setup: MemorySetup) -> float:
    """Bytes per token that one layer keeps when nothing is recomputed."""
    total = _norms(setup) + _projection_inputs(setup) + _attention(setup) + _mlp(setup)
    keeps_inputs = setup.framework is not Framework.TORCHTUNE and not setup.facts.fused_kernels
    if setup.quantization in _BITSANDBYTES and keeps_inputs:
        total += _quantised_inputs(setup)
    if setup.adapters is not None:
        total += _adapter_inputs(setup, setup.adapters)
    return total


def _width_bytes(setup: MemorySetup) -> float:
    return _FP32 if setup.regime is Regime.FP32 else _HALF


def _fused(setup: MemorySetup) -> bool:
    return setup.compiled or setup.facts.fused_kernels or setup.recompute is Recompute.SELECTIVE


def _norms(setup: MemorySetup) -> float:
    """Norms of a layer: an eager RMSNorm keeps an fp32 copy, and its normalised input when its scale is trained.

    Autocast computes norms in fp32.
    """
    each, widths = _width_bytes(setup), setup.shape.norms_per_layer * setup.shape.hidden
    if setup.shape.norm == "rms" and not _fused(setup):
        return widths * (_FP32 + (each if setup.adapters is None else 0.0))
    return widths * (_FP32 if setup.regime is Regime.AUTOCAST else each)


def _projection_inputs(setup: MemorySetup) -> float:
    """Inputs of the attention and MLP projections, kept where their weights are trained."""
    return 2 * setup.shape.hidden * _width_bytes(setup) if setup.adapters is None else 0.0


def _attention(setup: MemorySetup) -> float:
    """Queries, keys, values, output; grouped heads are expanded by eager libraries; scores unless flash computes them."""
    shape, each = setup.shape, _width_bytes(setup)
    expands = setup.attention is AttentionKernel.SDPA and not _fused(setup)
    kv = shape.q_width if expands else shape.kv_width
    total = each * (2 * shape.q_width + 2 * kv) + _ROW_STATISTICS * shape.heads
    stores = setup.attention is AttentionKernel.EAGER
    if stores or (shape.score_softcap and setup.attention is AttentionKernel.SDPA):
        total += setup.constants.scores_bytes[setup.regime.value] * shape.heads * setup.sequence
    return total


def _mlp(setup: MemorySetup) -> float:
    """Widths that the MLP keeps: gated 4 when trained, 3, or 2 (fused, frozen); plain 2 or 1. Mixtures: dispatch too."""
    shape, trained = setup.shape, setup.adapters is None
    if shape.is_gated:
        copies = 4 if trained else 2 if _fused(setup) else 3
    else:
        copies = 2 if trained else 1
    each = _width_bytes(setup)
    dispatch = setup.constants.training.expert_dispatch * shape.hidden * shape.experts_per_token if shape.is_moe else 0.0
    return each * (copies * shape.mlp_width + dispatch)


def _quantised_inputs(setup: MemorySetup) -> float:
    """Linear inputs that bitsandbytes keeps although the weights are frozen."""
    constants, shape = setup.constants.training, setup.shape
    if shape.is_gated:
        return constants.bnb_gated * _HALF * (2 * shape.hidden + shape.mlp_width)
    return constants.bnb_plain * _HALF * (shape.hidden + shape.mlp_width)


def _adapter_inputs(setup: MemorySetup, adapters: Adapters) -> float:
    """Inputs of the adapted projections, kept again by the adapter: cast to fp32 where the adapter is, masked by dropout."""
    shape, facts = setup.shape, setup.facts
    h, q, f, kv = shape.hidden, shape.q_width, shape.mlp_width, shape.kv_width
    outputs = q + 2 * kv + h + (shape.mlp_matrices - 1) * f + h
    if adapters.kind == "adapter_v2":
        return setup.constants.training.adapter_v2_bytes * outputs
    if adapters.kind == "adapter":
        return 0.0
    if facts.fused_kernels:
        return 0.0
    each = float(facts.adapter_bytes) + (_HALF + _DROPOUT_MASK if facts.adapter_dropout else 0.0)
    targets = adapters.targets
    total = 0.0
    if targets & {"q", "k", "v", "qkv"}:
        total += each * h
        if facts.merged_qkv_adapter and "mlp" not in targets:
            total += _HALF * (q + 2 * kv)
    if "o" in targets:
        total += each * q
    if "mlp" in targets:
        total += each * (h if _fused(setup) else h + f)  # fused kernels recompute the input of the last projection
    return total


def activation_bytes(setup: MemorySetup) -> float:
    """Bytes of kept activations on the fullest GPU when the backward pass starts.

    Full checkpointing keeps each layer's input and one live layer; selective a share of everything; on the host, only
    the live layer and two inputs stay. Tensor parallelism with sequence parallelism divides everything and adds gathered
    hidden sequences; the pipeline's first stage holds as many micro batches as there are stages.
    """
    constants, shape, ways = setup.constants.training, setup.shape, setup.parallel
    per_layer = kept_per_token_and_layer(setup)
    tokens = setup.tokens / (ways.pipeline if ways.pipeline > 1 and ways.tensor > 1 else 1)
    layers = shape.all_layers / (ways.pipeline * setup.layer_split)
    in_flight = ways.pipeline
    stream = (_FP32 if upcasts(setup) else _width_bytes(setup)) * shape.hidden
    live = per_layer * tokens * constants.one_live_layer
    on_host = setup.activations_on_host or (setup.facts.offloads_checkpoints and setup.recompute is Recompute.FULL)
    if on_host:
        kept = live + 2 * stream * tokens
    elif setup.recompute is Recompute.FULL:
        kept = layers * stream * tokens * in_flight + live
    else:
        kept = layers * per_layer * tokens * in_flight
        if setup.recompute is Recompute.SELECTIVE:
            kept *= constants.selective_kept * (1.0 if setup.compiled else constants.selective_eager)
    gathered = constants.tensor_gathered * _HALF * shape.hidden * tokens if ways.tensor > 1 else 0.0
    return kept / ways.tensor + gathered
