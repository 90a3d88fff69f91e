"""EstimateRequest and EstimateAnswer: what a workload needs and how long it takes, card by card, before any price."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from service.domain.base import Name, Request
from service.domain.estimate import Assumption, Range, VramPart
from service.domain.plan import Requirement
from service.domain.workload import Workload

GpuCount = Annotated[int, Field(ge=1, le=1024)]


class EstimateRequest(Request):
    """The body of `POST /estimate`."""

    workload: Workload
    gpus: tuple[Name, ...] | None = Field(
        default=None, min_length=1, max_length=50, description="absent: every card of the table; a family takes all its variants"
    )
    gpu_counts: tuple[GpuCount, ...] = Field(default=(1, 2, 4, 8), min_length=1, max_length=8, description="GPUs of one machine")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFit:
    """The workload on one machine with `gpu_count` of a card, under the strategy that does it soonest."""

    gpu_count: int
    strategy: str
    fits: bool
    need_gib: float  # per GPU, the safe value
    usable_gib: float
    headroom_gib: float  # negative: does not fit
    low_headroom: bool
    hours: Range | None  # of one run; null where the amount of work is not stated or it does not run
    tokens_per_second: Range | None  # of the whole group: trained, or generated
    requests_per_second: Range | None  # infer: one replica, saturated within the latency targets
    replicas: int | None  # infer: for the stated request rate
    bound: str | None  # compute, bandwidth, launch, communication
    reason: str | None  # why it does not run: vram, precision, software, parallelism
    detail: str
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldFit:
    """The smallest change of settings with which the workload runs on `gpu_count` of a card, where it now misses."""

    gpu_count: int
    settings: tuple[str, ...]  # as "gradient checkpointing", "micro batch 2", "QLoRA"
    strategy: str
    need_gib: float  # per GPU, the safe value after the change
    headroom_gib: float
    missing_gib: float  # before the change
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFit:
    """The workload on one card. `smallest_gpu_count` is the least of the asked counts that runs it; null: none does.

    `parts` are of the fullest GPU at `shown_gpu_count`: the smallest that runs it, else the one that misses by least.
    `would_fit_with` is null where it runs on the least count asked for, or where no one or two settings are enough.
    """

    gpu: str
    memory_gb: float
    smallest_gpu_count: int | None
    groups: tuple[GroupFit, ...]
    shown_gpu_count: int
    parts: tuple[VramPart, ...]
    would_fit_with: WouldFit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDifference:
    """One part of the need by the rule of thumb and by our estimate, and why they differ."""

    part: str  # weights, training_states, working_memory, overhead
    rule_gib: float
    ours_gib: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOfThumb:
    """The field's rule for this use on one GPU beside our point estimate. Differences add up to ours less the rule's."""

    use: str  # full, lora, qlora, inference_16bit, inference_8bit, inference_4bit
    bytes_per_parameter: float
    rule_gib: float
    ours_gib: float
    differences: tuple[RuleDifference, ...]
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateAnswer:
    """The answer to an EstimateRequest. `requirement` shows VRAM by part and strategy on one card, which it names."""

    summary: str
    requirement: Requirement
    gpus: tuple[GpuFit, ...]
    tokens_per_run: float | None
    assumptions: tuple[Assumption, ...]
    rule_of_thumb: RuleOfThumb
