"""Training time: wall seconds per token of a job on a group of cards, with its range and what bounds it."""

from dataclasses import dataclass

from providers.gpus import Gpu
from providers.offer import Fabric, Interconnect
from service.domain.estimate import Range
from service.estimate.card_rates import CardRates, rates_of
from service.estimate.communication import exposed_seconds_per_token, waiting_factor
from service.estimate.flops import (
    attention_seconds_per_token,
    dequantize_seconds_per_token,
    linear_seconds_per_token,
    recomputed_forwards,
    traffic_bytes_per_token,
)
from service.estimate.job import JobShape
from service.estimate.job_steps import layout_of, train_step
from service.estimate.time_constants import TIME, TimeConstants, share_of
from service.estimate.train_step import TrainStep


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeEstimate:
    """`seconds_per_unit`: wall seconds per training token over the whole group; `bound`: its largest part."""

    seconds_per_unit: Range
    bound: str  # compute, bandwidth, launch, communication


def train_seconds_per_token(
    job: JobShape,
    gpu: Gpu,
    *,
    gpu_count: int,
    nodes: int = 1,
    strategy: str = "single",
    interconnect: Interconnect = Interconnect.UNKNOWN,
    fabric: Fabric = Fabric.UNKNOWN,
    constants: TimeConstants = TIME,
) -> TimeEstimate:
    """Wall seconds per training token of a job on `nodes` machines of `gpu_count` cards each.

    Raises:
        InvalidInput: the strategy is not known or does not divide the group, or the card has no known rate.
    """
    layout = layout_of(strategy, gpu_count=gpu_count, nodes=nodes, interconnect=interconnect, fabric=fabric)
    step = train_step(job, layout)
    parts = step_time(step, rates_of(gpu, constants), constants)
    kind = "diffusion" if job.model.kind == "diffusion" else "train_preference" if step.preference else f"train_{step.technique}"
    return TimeEstimate(seconds_per_unit=spread(parts.total / layout.gpus, constants.error[kind]), bound=parts.bound)


def relative_speed(gpu: Gpu, reference: Gpu, constants: TimeConstants = TIME) -> float:
    """How many times faster than `reference` a card runs work of which only the reference's hours are known.

    The smaller of the compute and the bandwidth ratio: which of them binds is not known, and a promise of speed
    that the work cannot use would under-price the option. A card is exactly as fast as itself.
    """
    mine, other = rates_of(gpu, constants), rates_of(reference, constants)
    return min(mine.matmul_16bit / other.matmul_16bit, mine.bandwidth / other.bandwidth)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """GPU-seconds per token, by what is waited for; the total is their sum."""

    compute: float
    bandwidth: float
    launch: float
    communication: float

    @property
    def total(self) -> float:
        return self.compute + self.bandwidth + self.launch + self.communication

    @property
    def bound(self) -> str:
        parts = {name: getattr(self, name) for name in ("compute", "bandwidth", "launch", "communication")}
        return max(parts, key=parts.__getitem__)


def step_time(step: TrainStep, rates: CardRates, constants: TimeConstants = TIME) -> StepTime:
    """GPU-seconds per token: max(arithmetic + traffic, launches) + optimizer + what communication leaves exposed.

    One token costs these seconds summed over the cards of a model-parallel group; n cards take a n-th in wall time.
    The optimizer's traffic is counted whole: sharding it saves less than the noise, and never more than linear.
    """
    compute = linear_seconds_per_token(step, rates, constants)
    compute += attention_seconds_per_token(step, rates, constants)
    cost = constants.elementwise
    bandwidth = traffic_bytes_per_token(step, constants) / (rates.bandwidth * cost.bandwidth_share)
    launch = max(0.0, _launch_seconds(step, constants) - compute - bandwidth)
    bandwidth += dequantize_seconds_per_token(step, rates, constants)
    if step.technique == "full":
        moved = constants.optimizer.bytes_per_parameter * step.shape.params_total
        bandwidth += moved / (rates.bandwidth * cost.bandwidth_share) / (step.tokens * step.accumulation)
    launch += _hook_seconds(step, constants)
    if step.preference:
        more = _passes(step, constants)
        compute, bandwidth, launch = compute * more, bandwidth * more, launch * more
        bandwidth += _generation_seconds(step, rates, constants)
    busy = compute + bandwidth + launch
    waiting = exposed_seconds_per_token(step, rates, constants, compute_seconds=busy)
    factor = waiting_factor(step, constants)
    communication = (busy + waiting) * factor - busy
    return StepTime(compute=compute, bandwidth=bandwidth, launch=launch, communication=communication)


def _passes(step: TrainStep, constants: TimeConstants) -> float:
    """Work of a preference step over that of its policy's training step alone."""
    forward = 1.0 / (3.0 + recomputed_forwards(step))
    cost = constants.preference
    return 1.0 + share_of(cost.trainings, step.preference) + share_of(cost.forwards, step.preference) * forward


def _generation_seconds(step: TrainStep, rates: CardRates, constants: TimeConstants) -> float:
    """GPU-seconds per token in which the policy writes answers: its weights are read once for a batch of them."""
    cost = constants.preference
    read = 2.0 * step.shape.params_active / rates.streamed / cost.generation_batch
    return share_of(cost.generated_fraction, step.preference) * read


def _launch_seconds(step: TrainStep, constants: TimeConstants) -> float:
    """Time an eager program needs to issue its kernels, per token; a compiled one issues few."""
    if step.compiled:
        return 0.0
    cost = constants.launch
    kernels = cost.kernels_per_layer + cost.kernels_per_adapter * step.adapted.modules
    passes = 4.0 if step.recompute == "full" else 3.0
    return cost.seconds_per_kernel * kernels * step.shape.all_layers * passes / step.tokens


def _hook_seconds(step: TrainStep, constants: TimeConstants) -> float:
    """Time of the gather and release hooks of eager sharded training, per token."""
    if not step.layout.fully_sharded or step.compiled:
        return 0.0
    cost = constants.launch
    hooks = cost.zero3_hook_relative if step.layout.sharding == "zero3" else 1.0
    return cost.hook_seconds_per_layer * hooks * step.shape.all_layers / step.tokens


def spread(mid: float, error: tuple[float, float]) -> Range:
    """A range around seconds: the factors hold the 10th and 90th percentile of measured over estimated."""
    low, high = error
    return Range(low=mid * low, mid=mid, high=mid * high)
