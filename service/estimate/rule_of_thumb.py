"""The field's rules of thumb: bytes per parameter and a share of a card's peak, shown beside ours and never used in a plan."""

from collections.abc import Mapping
from types import MappingProxyType

from providers.errors import InvalidInput
from providers.units import GB, gib_from_bytes
from service.estimate.card_rates import CardRates
from service.estimate.infer_step import InferStep
from service.estimate.train_step import TrainStep

UTILIZED_FRACTION = 0.40  # of the 16-bit peak: the usual "model FLOPs utilization"
STREAMED_FRACTION = 0.70  # of the bandwidth, reading the weights once per token
# bytes per parameter: the usual table says 112, 18, 6, 14, 7 and 4 GB for a model of 7 billion
BYTES_PER_PARAM: Mapping[str, float] = MappingProxyType(
    {
        "full": 16.0,
        "lora": 18 / 7,
        "qlora": 6 / 7,
        "inference_16bit": 2.0,
        "inference_8bit": 1.0,
        "inference_4bit": 4 / 7,
    }
)


def rule_of_thumb_gib(params_b: float, *, kind: str) -> float:
    """GiB that the rule gives for a model of `params_b` billion parameters; batch, sequence and library do not matter to it.

    Raises:
        InvalidInput: `kind` is none of BYTES_PER_PARAM.
    """
    if kind not in BYTES_PER_PARAM:
        raise InvalidInput("the rule of thumb knows no such use", pointer="/kind", allowed=tuple(BYTES_PER_PARAM))
    return gib_from_bytes(params_b * GB * BYTES_PER_PARAM[kind])


def rule_of_thumb_tokens_per_second(step: TrainStep | InferStep, rates: CardRates, *, phase: str) -> float:
    """Tokens per second and GPU by the rule: 6 operations a weight in training (4 with adapters), 2 in prefill.

    Raises:
        InvalidInput: the phase is serving, for which the rule has no batch.
    """
    if isinstance(step, TrainStep):
        operations = (6.0 if step.technique == "full" else 4.0) * step.shape.params_active
        return UTILIZED_FRACTION * rates.peak_16bit / operations
    if phase == "prefill":
        return UTILIZED_FRACTION * rates.peak_16bit / (2.0 * step.shape.params_active)
    if phase == "decode":
        read = step.shape.params_active * step.bytes_per_weight / (STREAMED_FRACTION * rates.bandwidth)
        return max(1, step.batch) / read / step.pipeline
    raise InvalidInput("the rule of thumb tells no rate of saturated serving")
