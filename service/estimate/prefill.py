"""Prefill time: wall seconds to read the prompts of a batch, from matrix work, attention and a pass over the weights."""

from service.estimate.card_rates import CardRates
from service.estimate.infer_step import InferStep, weight_bytes_read
from service.estimate.time_constants import TIME, TimeConstants

UNFUSED_ATTENTION = ("autoawq",)  # scores of the whole prompt are written out, cast and read again


def prefill_seconds(step: InferStep, rates: CardRates, constants: TimeConstants = TIME) -> float:
    """Wall seconds until the first token of the whole batch, on the step's cards.

    2 operations per active weight and prompt token, plus attention at half of the prompt on average, and at least
    one pass over the weights. The stages of a pipeline work in turn.
    """
    shape = step.shape
    rows = float(step.batch * step.prompt)
    linear = 2.0 * max(1.0, shape.params_active - shape.embedding_params) * rows
    seconds = linear * (1.0 + constants.matmul.narrow_hidden / shape.hidden) / prompt_rate(step, rates, constants)
    scores = 2.0 * shape.layers * shape.q_width * step.prompt * rows
    seconds += scores / (rates.matmul_16bit * constants.attention.prompt_share)
    if step.framework in UNFUSED_ATTENTION:
        seconds += constants.prefill.unfused_bytes * shape.layers * shape.heads * step.prompt * rows / rates.bandwidth
    reading = weight_bytes_read(step, rows=rows) / rates.streamed
    launches = shape.layers * constants.prefill.prompt_seconds_per_layer
    together = max((seconds + reading) / step.tensor, launches)
    if step.framework == "llama_cpp" and step.pipeline > 1:
        together /= 1.0 + constants.prefill.pipeline_overlap * (step.pipeline - 1)
    return together


def prompt_rate(step: InferStep, rates: CardRates, constants: TimeConstants) -> float:
    """Sustained operations per second of the linear layers over many rows, by kernel family.

    Weight-only kernels expand the weights to 16 bits; llama.cpp and exllama sum in integers or 16 bits.
    """
    cost = constants.prefill
    if step.vector_kernels:
        return rates.matmul_16bit * cost.share_vector
    if step.framework == "llama_cpp":
        share = cost.share_llama_cpp if step.is_quantized else cost.share_llama_cpp_16bit
        return rates.matmul_half_accumulate * share
    if step.framework == "exllama":
        return rates.matmul_half_accumulate * cost.share_exllama
    if step.precision == "fp8":
        return rates.matmul_fp8 * cost.share_8bit
    if step.precision == "fp4":
        return rates.matmul_fp4 * cost.share_8bit
    if step.precision == "fp32":
        return rates.matmul_fp32
    return rates.matmul_16bit * (cost.share_quantized if step.is_quantized else cost.share_16bit)
