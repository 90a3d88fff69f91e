"""Work of one training token: operations of linear layers and attention, and memory traffic beside them."""

from service.estimate.time_constants import TimeConstants
from service.estimate.train_step import TrainStep

FORWARD_PASSES = 2  # operations per weight and token: a multiply and an add
HF_STYLE = ("hf", "ms_swift", "llama_factory", "axolotl", "deepspeed", "unknown")
SELECTIVE_SHARE = 0.4  # of a forward pass, recomputed by per-operator checkpointing


def recomputed_forwards(step: TrainStep) -> float:
    """Forward passes repeated in the backward one."""
    return {"full": 1.0, "selective": SELECTIVE_SHARE}.get(step.recompute, 0.0)


def linear_flops_per_token(step: TrainStep) -> float:
    """Operations of the linear layers: 6 per weight in full training, 4 with adapters, 2 more when recomputed.

    A frozen weight needs no gradient of itself, only of its input.
    """
    backward = 2.0 if step.technique == "full" else 1.0
    return FORWARD_PASSES * (1.0 + backward + recomputed_forwards(step)) * step.shape.matmul_params


def attention_flops_per_token(step: TrainStep) -> float:
    """Operations of scores and values: 4 x layers x width x mean context forward, 2.5 times that backward.

    Flash kernels recompute the scores, hence 2.5 rather than 2; a causal mask halves the mean context.
    """
    shape = step.shape
    passes = 3.5 + (1.0 if step.recompute == "full" else 0.0)
    return 4.0 * shape.q_width * attended_tokens(step) * passes


def attended_tokens(step: TrainStep) -> float:
    """Context a token attends to, summed over the layers."""
    shape = step.shape
    causal = 1.0 if shape.kind == "encoder" else 0.5
    whole = shape.all_layers * step.sequence * causal
    if not shape.sliding_window or shape.sliding_window >= step.sequence:
        return whole
    windowed = shape.sliding_window * (1.0 - shape.sliding_window / (2.0 * step.sequence))
    return (shape.all_layers - shape.sliding_layers) * step.sequence * causal + shape.sliding_layers * windowed


def traffic_bytes_per_token(step: TrainStep, constants: TimeConstants) -> float:
    """Bytes read and written by norms, activations, residuals, adapters, unfused attention and the loss."""
    shape, cost = step.shape, constants.elementwise
    unit = cost.compiled_bytes if step.compiled else cost.eager_bytes
    if not step.compiled and step.framework in HF_STYLE:
        unit *= cost.hf_relative
    again = 1.0 + (cost.recompute_relative if step.recompute == "full" else 0.0)
    layers = shape.all_layers
    total = unit * layers * (shape.hidden + shape.mlp_width / 2.0) * again
    if not step.flash_attention:
        total += constants.attention.unfused_bytes * layers * shape.heads * step.sequence
    if step.technique != "full":
        passes = 2.5 + (1.0 if step.recompute == "full" else 0.0)
        fused = cost.compiled_adapter_relative if step.compiled else 1.0
        widths = 10.0 * step.adapted.input_width + 8.0 * step.adapted.output_width
        total += cost.adapter_bytes * layers * widths * passes * fused
    if shape.kind != "encoder":
        total += cost.logits_bytes * shape.vocab
    return total


def dequantized_bytes_per_token(step: TrainStep, constants: TimeConstants) -> float:
    """Bytes of quantised weights expanded: every pass writes them out once for all tokens of the micro batch."""
    if step.technique != "qlora":
        return 0.0
    cost = constants.quantized
    passes = 3.0 if step.recompute == "full" else 2.0
    scheme = cost.gptq_relative if (step.quantization or "").startswith("gptq") else 1.0
    return passes * step.shape.linear_params * cost.dequantize_bytes * scheme / step.tokens
