"""Decode time: seconds of one step that adds one token to every sequence of a batch."""

from service.estimate.card_rates import CardRates, matmul_rate
from service.estimate.infer_step import InferStep, kv_bytes_read, weight_bytes_read
from service.estimate.prefill import prefill_seconds
from service.estimate.time_constants import TIME, TimeConstants, share_of

EAGER = ("hf", "litgpt")
NATIVE_INT4 = ("llama_cpp", "exllama", "autoawq", "gpt_fast")
GRAPH_ENGINES = ("vllm", "sglang", "tensorrt_llm")


def decode_seconds_per_token(step: InferStep, rates: CardRates, constants: TimeConstants = TIME) -> float:
    """Wall seconds per generated token of the batch, the prompt's prefill shared by its answer."""
    seconds = decode_step_seconds(step, rates, constants, context=step.prompt + step.answer / 2.0)
    if step.prompt > 1:
        seconds += prefill_seconds(step, rates, constants) / step.answer
    return seconds / step.batch


def decode_step_seconds(step: InferStep, rates: CardRates, constants: TimeConstants = TIME, *, context: float) -> float:
    """Wall seconds of one decode step when the sequences are `context` tokens long.

    The stages of a pipeline work in turn. Eager stacks wait for whichever of card and Python is slower; engines with
    captured graphs show their gaps beside the card's work.
    """
    cost = constants.decode
    card = weight_seconds(step, rates, constants) + cache_seconds(step, rates, constants, context=context)
    if step.tensor > 1:
        latency = cost.tensor_latency_seconds * (1.0 + cost.tensor_latency_growth * step.tensor)
        card += 2.0 * step.shape.layers * latency
    outside = seconds_per_layer(step, constants) * step.shape.layers
    if step.framework == "vllm" and context > cost.vllm_graph_tokens:
        return max(card + outside, cost.vllm_eager_seconds_per_layer * step.shape.layers)
    if step.framework == "llama_cpp" and not rates.is_gddr:
        outside *= cost.llama_cpp_hbm_relative
    if step.framework not in EAGER:
        return card + outside
    outside *= share_of(cost.host_relative, rates.architecture)
    return max(card, outside) + cost.unhidden * min(card, outside)


def weight_seconds(step: InferStep, rates: CardRates, constants: TimeConstants) -> float:
    """Seconds of the linear layers: reading the weights, or the arithmetic of the rows where that is longer.

    The tiles of an engine's kernels compute many rows whether there are as many sequences or not. On cards with little
    arithmetic for their bandwidth (H20) that limits the bytes a second, whatever the format.
    """
    cost = constants.decode
    weight_bytes = weight_bytes_read(step)
    read = weight_bytes / (rates.streamed * kernel_share(step, constants))
    if step.vector_kernels:
        read *= 1.0 + cost.vector_row * (step.batch - 1)
    if step.framework in GRAPH_ENGINES:
        read = max(read, weight_bytes * cost.padded_rows / rates.matmul_16bit)
    weight_only = step.is_quantized and step.precision not in ("fp8", "fp4")
    rate = rates.matmul_16bit if weight_only else matmul_rate(rates, step.precision)
    return max(read, 2.0 * step.shape.matmul_params * step.batch / rate) / step.tensor


def cache_seconds(step: InferStep, rates: CardRates, constants: TimeConstants, *, context: float) -> float:
    """Seconds to read the caches of the batch.

    Hugging Face's eager cache is copied to append a token (read and written) and repeated to the number of query heads
    (read once, written), and its attention kernel then streams every head by one unit of the card alone.
    """
    cost = constants.decode
    cache = kv_bytes_read(step, context) * step.batch / step.tensor
    if step.framework != "hf":
        return cache / (rates.bandwidth * share_of(cost.kv_share, step.framework))
    groups = step.shape.heads / max(1, step.shape.kv_heads)
    copied = cache * (3.0 + groups if groups > 1 else 2.0)
    streamed = min(rates.streamed, step.shape.heads * step.batch * cost.head_bytes_per_second)
    return copied / rates.streamed + cache * groups / streamed


def kernel_share(step: InferStep, constants: TimeConstants) -> float:
    """Bandwidth share of the weight kernels relative to 16-bit ones."""
    cost = constants.decode
    if step.is_four_bit:
        if step.framework in NATIVE_INT4:
            return cost.int4_native
        if step.shape.is_moe and step.framework in GRAPH_ENGINES:
            return cost.int4_experts
        marlin = step.framework in GRAPH_ENGINES and not (step.framework == "vllm" and step.quantization == "awq")
        return cost.int4_engine if marlin else cost.int4_plain
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
    """Python time of Hugging Face's layers relative to 16-bit dense ones."""
    cost = constants.decode
    relative = max(1.0, cost.hf_per_expert * step.shape.experts)
    if step.precision == "fp8":
        return relative * cost.hf_fp8_relative
    if step.is_four_bit:
        return relative * cost.hf_4bit_relative
    return relative * (cost.hf_8bit_relative if step.is_quantized else 1.0)
