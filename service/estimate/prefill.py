"""Prefill time: GPU-seconds to read the prompts of a batch, from matrix work, attention and one pass over the weights."""

from service.estimate.card_rates import CardRates
from service.estimate.infer_step import InferStep, weight_bytes_read
from service.estimate.time_constants import TIME, TimeConstants


def prefill_seconds(step: InferStep, rates: CardRates, constants: TimeConstants = TIME) -> float:
    """Wall seconds until the first token of the whole batch, on the step's cards.

    2 operations per active weight and prompt token, plus attention; weight-only quantised kernels expand the weights
    to 16 bits first and reach a smaller share. A pipeline works on one stage at a time.
    """
    shape, cost = step.shape, constants.prefill
    weight_only = step.is_quantized and step.precision not in ("fp8", "fp4")
    if step.precision in ("fp8", "fp4"):
        rate = rates.matmul_fp8 if step.precision == "fp8" else rates.matmul_fp4
    else:
        rate = rates.matmul_16bit
    rate *= cost.share_quantized if weight_only else cost.share_16bit
    if rates.name and step.precision == "fp32":
        rate = rates.matmul_fp32
    rows = float(step.batch * step.prompt)
    linear = 2.0 * max(1.0, shape.params_active - shape.embedding_params) * rows / rate
    linear *= 1.0 + constants.matmul.narrow_hidden / shape.hidden
    scores = 4.0 * shape.layers * shape.q_width * step.prompt * 0.5 * rows / rates.attention
    reading = weight_bytes_read(step, rows=rows) / (rates.bandwidth * constants.decode.bandwidth_share)
    return (linear + scores + reading) / step.tensor
