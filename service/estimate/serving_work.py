"""ServingWork: what a serving step asks of any card, worked out once per step so that only the card's rates are left."""

from dataclasses import dataclass
from functools import lru_cache

from service.estimate.communication import BYTES_16BIT
from service.estimate.decode import kernel_share, seconds_per_layer
from service.estimate.infer_step import InferStep, kv_bytes_read, weight_bytes_read, weight_bytes_resident
from service.estimate.kv_cache import kv_bytes_per_token
from service.estimate.time_constants import TimeConstants


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingWork:
    """Of one replica. `row_*` and `exchanged_*` are of one sequence's token, `prompt_*` of one whole prompt."""

    row_flops: float
    prompt_flops: float
    cache_bytes_read: float
    weight_bytes_read: float  # one row; as the bandwidth of 16-bit kernels counts them
    kernel_share: float
    launch_seconds: float
    exchanged_bytes: float  # over the link between the cards of a group
    resident_bytes: float
    cache_bytes_held: float  # by one sequence on average


@lru_cache(maxsize=2048)
def serving_work(step: InferStep, constants: TimeConstants) -> ServingWork:
    """The card's part left out. Sequences join and leave at different times: each holds its prompt and a part of its answer."""
    cost, shape = constants.serving, step.shape
    passes = cost.diffusion_passes if shape.kind == "diffusion" else 1.0
    prompt_flops = (2.0 * shape.params_active + 2.0 * shape.layers * shape.q_width * step.prompt) * step.prompt * passes
    sent = 2.0 * shape.layers * shape.hidden * BYTES_16BIT * 2.0 * (step.tensor - 1) / step.tensor / step.pipeline
    share = kernel_share(step, constants)
    return ServingWork(
        row_flops=2.0 * shape.params_active,
        prompt_flops=prompt_flops,
        cache_bytes_read=kv_bytes_read(step, step.prompt + step.answer / 2.0),
        weight_bytes_read=weight_bytes_read(step, rows=1) / share,
        kernel_share=share,
        launch_seconds=shape.layers * seconds_per_layer(step, constants) * cost.step_overhead_relative,
        exchanged_bytes=sent,
        resident_bytes=weight_bytes_resident(step),
        cache_bytes_held=kv_bytes_per_token(shape, bytes_per_value=step.kv_bytes)
        * (step.prompt + cost.kv_output_fraction * step.answer),
    )
