"""Decode time: seconds of one step that adds one token to every sequence of a batch."""

from service.estimate.card_rates import CardRates
from service.estimate.infer_step import InferStep, kv_bytes_read, weight_bytes_read
from service.estimate.prefill import prefill_seconds
from service.estimate.time_constants import TIME, TimeConstants

EAGER = ("hf", "litgpt")
NATIVE_INT4 = ("llama_cpp", "exllama", "autoawq", "gpt_fast")


def decode_step_seconds(
    step: InferStep, rates: CardRates, constants: TimeConstants = TIME, *, context: float | None = None
) -> float:
    """Wall seconds of one decode step at a mean context (default: the prompt and half of the answer).

    Weights and caches are read once per step; eager stacks wait for whichever of card and Python is slower.
    """
    seen = step.prompt + step.answer / 2.0 if context is None else context
    card = memory_seconds(step, rates, constants, context=seen) + compute_seconds(step, rates)
    if step.tensor > 1:
        card += 2 * step.shape.layers * constants.decode.tensor_latency_seconds * (1.0 + 0.15 * step.tensor)
    python = seconds_per_layer(step, constants) * step.shape.layers
    if step.framework in EAGER:
        return max(card, python) + constants.decode.unhidden * min(card, python)
    return card + python


def memory_seconds(step: InferStep, rates: CardRates, constants: TimeConstants, *, context: float) -> float:
    """Seconds to read weights and caches, spread over the tensor-parallel cards."""
    cost = constants.decode
    weights = weight_bytes_read(step) / (cost.bandwidth_share * _kernel_share(step, constants))
    cache = kv_bytes_read(step, context) * step.batch * cache_passes(step) / cost.kv_share
    return (weights + cache) / rates.bandwidth / step.tensor


def compute_seconds(step: InferStep, rates: CardRates) -> float:
    """Seconds of arithmetic of one step: visible in large batches only."""
    return 2.0 * step.shape.params_active * step.batch / rates.matmul_16bit / step.tensor


def decode_seconds_per_token(step: InferStep, rates: CardRates, constants: TimeConstants = TIME) -> float:
    """Wall seconds per generated token of the batch, the prompt's prefill shared by its answers."""
    seconds = decode_step_seconds(step, rates, constants) / step.batch
    if step.prompt > 1:
        seconds += prefill_seconds(step, rates, constants) / (step.batch * step.answer)
    return seconds


def cache_passes(step: InferStep) -> float:
    """How often the cache is moved per step: read once; Hugging Face's eager cache does more.

    There every step copies the cache to append one token (read and written) and repeats grouped heads to the number
    of query heads (read once, written and read again at full width).
    """
    if step.framework != "hf":
        return 1.0
    groups = step.shape.heads / max(1, step.shape.kv_heads)
    return 3.0 if groups <= 1 else 3.0 + 2.0 * groups


def _kernel_share(step: InferStep, constants: TimeConstants) -> float:
    """Bandwidth share of the weight kernels relative to 16-bit ones."""
    cost = constants.decode
    if step.is_four_bit:
        return cost.int4_native if step.framework in NATIVE_INT4 else cost.int4_generic
    if step.precision == "fp8":
        return cost.fp8
    return cost.int8 if step.is_quantized else 1.0


def seconds_per_layer(step: InferStep, constants: TimeConstants) -> float:
    """Time outside the card's work per layer: Python of eager stacks, the gaps of captured graphs."""
    cost = constants.decode
    known = cost.seconds_per_layer.get(step.framework)
    seconds = cost.seconds_per_layer["unknown"] if known is None else known
    if step.framework == "litgpt" and step.is_four_bit:
        seconds *= cost.litgpt_4bit_relative
    if step.framework == "hf":
        seconds *= _hf_relative(step, constants)
    elif step.shape.is_moe:
        seconds *= cost.expert_launch_relative
    return seconds


def _hf_relative(step: InferStep, constants: TimeConstants) -> float:
    cost = constants.decode
    relative = cost.hf_expert_relative if step.shape.is_moe else 1.0
    if step.precision == "fp8":
        return relative * cost.hf_fp8_relative
    if step.is_four_bit:
        return relative * cost.hf_4bit_relative
    return relative * (cost.hf_8bit_relative if step.is_quantized else 1.0)
