"""Load of one serving replica: how many sequences fit, and how long a token takes at a batch."""

from collections.abc import Callable
from math import floor
from typing import NamedTuple

from service.estimate.card_rates import CardRates
from service.estimate.communication import tensor_link
from service.estimate.infer_step import InferStep, weight_bytes_read
from service.estimate.serving_work import serving_work
from service.estimate.time_constants import TIME, TimeConstants


class BatchTime(NamedTuple):
    """One replica decoding `batch` sequences in a steady state: its wall seconds.

    In a steady state every answer of n tokens waits for n steps and for the prefills of the sequences that join
    meanwhile, one per sequence that leaves: `token_seconds` is what one sequence waits per token.
    """

    batch: int
    answer: int
    stages: int  # of a pipeline: a prompt passes them one after the other
    prompt_seconds: float  # prefill of one prompt
    step_seconds: float
    compute: float  # what the step waits for
    memory: float
    launch: float
    exchange: float

    @property
    def bound(self) -> str:
        """compute, bandwidth, launch or communication: the largest part of the step."""
        parts = ((self.compute, "compute"), (self.memory, "bandwidth"), (self.launch, "launch"), (self.exchange, "communication"))
        return max(parts)[1]

    @property
    def token_seconds(self) -> float:
        return self.step_seconds + self.batch * self.prompt_seconds / self.answer

    @property
    def first_token_seconds(self) -> float:
        return self.prompt_seconds * self.stages + self.step_seconds

    @property
    def tokens_per_second(self) -> float:
        """Generated, by the replica."""
        return self.batch / self.token_seconds


def sequences_that_fit(step: InferStep, usable_bytes: float, constants: TimeConstants = TIME) -> int:
    """Sequences whose caches fit beside the weights of one replica; 0 when the weights do not.

    `usable_bytes` is of one card.
    """
    cost, work = constants.serving, serving_work(step, constants)
    free = cost.memory_fraction * usable_bytes * step.tensor * step.pipeline - work.resident_bytes
    if free <= 0:
        return 0
    most = int(cost.max_sequences_experts if step.shape.is_moe else cost.max_sequences)
    return min(floor(free / work.cache_bytes_held), most) if work.cache_bytes_held else most


def batch_time(step: InferStep, rates: CardRates, constants: TimeConstants = TIME, *, batch: int) -> BatchTime:
    """Wall seconds of one replica at `batch` sequences of continuous batching."""
    return load_curve(step, rates, constants)(batch)


def load_curve(step: InferStep, rates: CardRates, constants: TimeConstants = TIME) -> Callable[[int], BatchTime]:
    """The times of one replica as a function of its batch; what does not depend on the batch is worked out once.

    The stages of a pipeline work on parts of the batch at the same time, so that each reads its weights once per part.
    """
    work, shape, overlap_rest = serving_work(step, constants), step.shape, constants.serving.overlap_rest
    cards = step.tensor * step.pipeline
    compute_rate = _compute_rate(step, rates, constants) * cards
    row_seconds = work.row_flops / compute_rate
    exchange = exchange_seconds_per_token(step, rates, constants)
    prompt_seconds = work.prompt_flops / compute_rate + exchange * step.prompt
    cache_seconds = work.cache_bytes_read / cards / rates.streamed
    read_rate = step.tensor * rates.streamed
    all_weights, launch = work.weight_bytes_read / read_rate, work.launch_seconds

    def at(batch: int) -> BatchTime:
        weights = weight_bytes_read(step, rows=batch) / work.kernel_share / read_rate if shape.is_moe else all_weights
        memory = weights + cache_seconds * batch
        compute = row_seconds * batch
        waiting = exchange * batch
        overlapped = max(memory, compute) + overlap_rest * min(memory, compute)
        step_seconds = overlapped + launch + waiting
        return BatchTime(
            batch, step.answer, step.pipeline, prompt_seconds, step_seconds, compute, memory, launch, exchange=waiting
        )

    return at


def exchange_seconds_per_token(step: InferStep, rates: CardRates, constants: TimeConstants) -> float:
    """Seconds of the two all-reduces a layer of a tensor-parallel group, the exposed part, per token of the batch."""
    if step.tensor <= 1:
        return 0.0
    has_nvlink = rates.nvlink > 0 and step.nvlink is not False
    # over NVLink an all-reduce waits for its cards more than for its bytes; a slow link is all bytes
    exposed = constants.serving.tensor_exposed if has_nvlink else 1.0
    return exposed * serving_work(step, constants).exchanged_bytes / tensor_link(step.nvlink, step.tensor, rates, constants)


def _compute_rate(step: InferStep, rates: CardRates, constants: TimeConstants) -> float:
    """Sustained operations per second of the linear layers of full batches, of one card.

    A card without a unit for a format computes it at 16 bits; so do weight-only kernels, with the expansion beside.
    """
    cost = constants.serving
    if step.precision == "fp32":
        return rates.matmul_fp32
    rate = rates.matmul_16bit * cost.share_16bit
    if step.precision == "fp8" and rates.matmul_fp8 > rates.matmul_16bit:
        rate = max(rate, rates.matmul_fp8 * cost.share_8bit)
    elif step.precision == "fp4" and rates.matmul_fp4 > rates.matmul_16bit:
        rate = max(rate, rates.matmul_fp4 * cost.share_4bit * (cost.expert_fp4_relative if step.shape.is_moe else 1.0))
    elif step.is_quantized:
        rate *= cost.weight_only_relative
    return rate * cost.expert_relative if step.shape.is_moe else rate


def largest_batch_within(
    step: InferStep,
    rates: CardRates,
    *,
    most: int,
    time_to_first_token_seconds: float | None,
    time_per_output_token_seconds: float | None,
    constants: TimeConstants = TIME,
) -> BatchTime | None:
    """The largest batch up to `most` that meets both targets; None when not even one sequence alone does.

    Latency grows with the batch, nearly in a line: a straight line between the ends finds the limit in few tries,
    and every second try halves the rest.
    """

    at = load_curve(step, rates, constants)

    def tried(batch: int) -> tuple[BatchTime, float]:
        load = at(batch)
        first = load.first_token_seconds / time_to_first_token_seconds if time_to_first_token_seconds else 0.0
        token = load.token_seconds / time_per_output_token_seconds if time_per_output_token_seconds else 0.0
        return load, max(first, token)

    best, above = tried(most)
    if above <= 1.0:
        return best
    best, below = tried(1)
    if below > 1.0:
        return None
    low, high, straight = 1, most, True
    while high - low > 1:
        share = (1.0 - below) / (above - below) if straight and above > below else 0.5
        middle = min(high - 1, max(low + 1, low + int(share * (high - low))))
        load, ratio = tried(middle)
        if ratio <= 1.0:
            low, below, best = middle, ratio, load
        else:
            high, above = middle, ratio
        straight = not straight
    return best
