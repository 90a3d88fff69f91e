"""Training time: wall seconds per token of a job on a group of cards, with its range and what bounds it."""

from dataclasses import dataclass
from typing import NamedTuple

from providers.gpus import Gpu
from providers.offer import Fabric, Interconnect
from service.domain.estimate import Range
from service.estimate.card_rates import CardRates, matmul_rate, rates_of
from service.estimate.communication import exposed_seconds_per_token, waiting_factor
from service.estimate.job import JobShape
from service.estimate.job_steps import PASSES_BESIDE, layout_of, step_technique, train_step
from service.estimate.time_constants import TIME, TimeConstants
from service.estimate.token_work import token_work
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
    parts = step_time(train_step(job, layout), rates_of(gpu, constants), constants)
    seconds = parts.total / layout.gpus * job.seconds_factor(gpu.name)
    return TimeEstimate(seconds_per_unit=spread(seconds, training_error(job, constants)), bound=parts.bound)


def training_error(job: JobShape, constants: TimeConstants = TIME) -> tuple[float, float]:
    """Low and high over mid of the job's class, in seconds."""
    if job.model.kind == "diffusion":
        return constants.error["diffusion"]
    return constants.error["train_preference" if job.technique in PASSES_BESIDE else f"train_{step_technique(job)}"]


def relative_speed(gpu: Gpu, reference: Gpu, constants: TimeConstants = TIME) -> float:
    """How many times faster than `reference` a card runs work of which only the reference's hours are known.

    The smaller of the compute and the bandwidth ratio: which of them binds is not known, and a promise of speed
    that the work cannot use would under-price the option. A card is exactly as fast as itself.
    """
    mine, other = rates_of(gpu, constants), rates_of(reference, constants)
    return min(mine.matmul_16bit / other.matmul_16bit, mine.bandwidth / other.bandwidth)


class StepTime(NamedTuple):
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
        return self._fields[self.index(max(self))]


def step_time(step: TrainStep, rates: CardRates, constants: TimeConstants = TIME) -> StepTime:
    """GPU-seconds per token: max(arithmetic + traffic, launches) + optimizer + what communication leaves exposed.

    One token costs these seconds summed over the cards of a model-parallel group; n cards take a n-th in wall time.
    The optimizer's traffic is counted whole: sharding it saves less than the noise, and never more than linear.
    """
    work = token_work(step, constants)
    head_rate = rates.matmul_fp32 if step.precision == "fp32" else rates.matmul_16bit
    compute = work.body_flops / matmul_rate(rates, step.precision) + work.head_flops / head_rate
    compute += work.attention_flops / rates.matmul_16bit
    bandwidth = work.bytes_moved / rates.bandwidth
    launch = max(0.0, work.launch_seconds - compute - bandwidth) + work.hook_seconds
    bandwidth += (work.dequantized_bytes + work.optimizer_bytes) / rates.bandwidth
    compute, bandwidth, launch = compute * work.passes, bandwidth * work.passes, launch * work.passes
    bandwidth += work.generated_bytes / rates.streamed
    busy = compute + bandwidth + launch
    waiting = exposed_seconds_per_token(step, rates, constants, compute_seconds=busy)
    communication = (busy + waiting) * waiting_factor(step, constants) - busy
    return StepTime(compute=compute, bandwidth=bandwidth, launch=launch, communication=communication)


def spread(mid: float, error: tuple[float, float]) -> Range:
    """A range around seconds: the factors hold the 10th and 90th percentile of measured over estimated."""
    low, high = error
    return Range(low=mid * low, mid=mid, high=mid * high)
