"""Saturated serving: requests a second of a group of cards, with the batch that memory and latency targets allow."""

from dataclasses import dataclass

from providers.errors import InvalidInput
from providers.gpus import Gpu
from providers.offer import Interconnect
from providers.units import GIB
from service.domain.estimate import Range
from service.estimate.card_rates import rates_of
from service.estimate.job import JobShape
from service.estimate.job_steps import infer_step
from service.estimate.runtime import spread
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
    rates = rates_of(gpu, constants)
    fitting = sequences_that_fit(step, usable_gib * GIB, constants)
    if fitting < 1:
        raise InvalidInput("the memory cannot hold the weights and one sequence", pointer="/workload/model")
    most = min(fitting, job.concurrency or fitting)
    load = largest_batch_within(
        step,
        rates,
        most=most,
        time_to_first_token_seconds=job.time_to_first_token_seconds,
        time_per_output_token_seconds=job.time_per_output_token_seconds,
        constants=constants,
    )
    met = load is not None
    error = constants.error["diffusion" if job.model.kind == "diffusion" else "serving"]
    return _estimate(load or batch_time(step, rates, constants, batch=1), replicas, met, error)


def _estimate(load: BatchTime, replicas: int, meets_targets: bool, error: tuple[float, float]) -> ServingEstimate:
    seconds = spread(load.token_seconds / load.batch / replicas, error)
    tokens = Range(low=1 / seconds.high, mid=1 / seconds.mid, high=1 / seconds.low)
    requests = Range(low=tokens.low / load.answer, mid=tokens.mid / load.answer, high=tokens.high / load.answer)
    return ServingEstimate(
        requests_per_second=requests,
        tokens_per_second=tokens,
        time_to_first_token_seconds=load.first_token_seconds,
        time_per_output_token_seconds=load.token_seconds,
        batch=load.batch,
        replicas=replicas,
        bound=load.bound,
        meets_targets=meets_targets,
    )
