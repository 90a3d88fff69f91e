"""Saturated serving: requests a second of a group of cards, with the batch that memory and latency targets allow."""

from dataclasses import dataclass

from providers.errors import InvalidInput
from providers.gpus import Gpu
from providers.offer import Interconnect
from providers.units import GIB
from service.domain.estimate import Range
from service.estimate.card_rates import CardRates, rates_of
from service.estimate.infer_step import InferStep
from service.estimate.job import JobShape
from service.estimate.job_steps import infer_step
from service.estimate.serving_load import BatchTime, batch_time, largest_batch_within, sequences_that_fit
from service.estimate.time_constants import TIME, TimeConstants


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEstimate:
    """A group of cards under full load; rates are of the whole group, `replicas` copies of the model.

    `batch` is the sequences one replica decodes at once; latencies are those of one request at that batch.
    `meets_targets` False: not even one sequence at a time is fast enough; the figures are then those of batch 1.
    """

    requests_per_second: Range
    tokens_per_second: Range  # generated
    time_to_first_token_seconds: float
    time_per_output_token_seconds: float
    batch: int
    replicas: int
    bound: str  # compute, bandwidth, launch
    meets_targets: bool = True


def serve(
    job: JobShape,
    gpu: Gpu,
    *,
    gpu_count: int,
    nodes: int = 1,
    tensor_parallel: int = 1,
    usable_gib: float,
    interconnect: Interconnect = Interconnect.UNKNOWN,
    pipeline_parallel: int = 1,
    constants: TimeConstants = TIME,
) -> ServingEstimate:
    """Rates and latencies of `nodes` machines of `gpu_count` cards serving a job with continuous batching.

    Args:
        usable_gib: memory of one card that the job may use.
    Raises:
        InvalidInput: a replica has more cards than the group, or its memory cannot hold one sequence.
    """
    cards = tensor_parallel * pipeline_parallel
    replicas = gpu_count * nodes // cards
    if replicas < 1:
        raise InvalidInput(f"a replica of {cards} cards does not fit {gpu_count * nodes}", pointer="/workload/strategy")
    step = infer_step(job, tensor=tensor_parallel, pipeline=pipeline_parallel, interconnect=interconnect)
    slower = job.seconds_factor(gpu.name)
    found = saturated(job, step, rates_of(gpu, constants), usable_gib=usable_gib, slower=slower, constants=constants)
    if found is None:
        raise InvalidInput("the memory cannot hold the weights and one sequence", pointer="/workload/model")
    load, met = found
    rate, (fast, slow) = (
        load.batch * replicas / (load.token_seconds * slower),
        serving_error(job, constants),
    )  # the error is of seconds
    tokens = Range(low=rate / slow, mid=rate, high=rate / fast)
    return ServingEstimate(
        requests_per_second=Range(low=tokens.low / load.answer, mid=rate / load.answer, high=tokens.high / load.answer),
        tokens_per_second=tokens,
        time_to_first_token_seconds=load.first_token_seconds * slower,
        time_per_output_token_seconds=load.token_seconds * slower,
        batch=load.batch,
        replicas=replicas,
        bound=load.bound,
        meets_targets=met,
    )


def saturated(
    job: JobShape, step: InferStep, rates: CardRates, *, usable_gib: float, slower: float, constants: TimeConstants = TIME
) -> tuple[BatchTime, bool] | None:
    """The load of one replica with as many sequences as memory, targets and the job allow, and whether it meets the targets.

    `slower` is the user's own factor on our times. None: its memory cannot hold one sequence. Where even one alone is too
    slow, the load is of that one.
    """
    fitting = sequences_that_fit(step, usable_gib * GIB, constants)
    if fitting < 1:
        return None
    load = largest_batch_within(
        step,
        rates,
        most=min(fitting, job.concurrency or fitting),
        time_to_first_token_seconds=_over(job.time_to_first_token_seconds, slower),
        time_per_output_token_seconds=_over(job.time_per_output_token_seconds, slower),
        constants=constants,
    )
    return (load, True) if load is not None else (batch_time(step, rates, constants, batch=1), False)


def _over(target_seconds: float | None, slower: float) -> float | None:
    return None if target_seconds is None else target_seconds / slower


def serving_error(job: JobShape, constants: TimeConstants = TIME) -> tuple[float, float]:
    """Low and high over mid of the job's class, in seconds."""
    return constants.error["diffusion" if job.model.kind == "diffusion" else "serving"]
