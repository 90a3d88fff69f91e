"""Estimate: what a workload needs on one kind of machine, in memory and in time, as a range with its sources."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A default that shaped an answer. `source` is a document or "estimate"; `as_of` its date when known."""

    name: str
    value: str | float | int | bool | None
    unit: str = ""
    source: str = ""
    as_of: str | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VramPart:
    """One named part of the memory of the fullest GPU."""

    name: str  # weights, gradients, optimizer, master_copy, adapters, activations, logits, kv_cache, workspace, ...
    gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VramEstimate:
    """Memory of the fullest GPU, GiB. Parts add up to `point_gib`; the plan's fit uses `safe_gib` against `usable_gib`."""

    point_gib: float
    safe_gib: float
    usable_gib: float
    headroom_gib: float  # usable - safe; negative: does not fit
    parts: tuple[VramPart, ...]
    dominated_by: str  # a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    low: float
    mid: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One workload on `nodes` machines of `gpu_count` cards each.

    `seconds_per_unit` is wall time per unit of work over the whole group: a training token for `train`; for
    `infer` see `requests_per_second` (one replica = this group, saturated within the latency targets). None when it does
    not fit or cannot run there; `reason` then says why (code: `vram`, `precision`, `software`, `parallelism`)
    and `shortfall_gib` by how much.
    """

    gpu: str
    gpu_count: float
    nodes: int
    strategy: str  # "single", "ddp", "fsdp", "zero2", "tensor_parallel=4", ...
    vram: VramEstimate
    fits: bool
    reason: str | None = None
    detail: str = ""
    shortfall_gib: float = 0.0
    seconds_per_unit: Range | None = None
    requests_per_second: Range | None = None
    tokens_per_second: Range | None = None  # over the whole group: trained, or generated
    bound: str | None = None  # compute, bandwidth, launch, communication
    low_headroom: bool = False  # within 5 % of the limit
    advice: tuple[str, ...] = ()  # settings that would free most
    times_over_target: float = 1.0  # latency of a request alone over the target that it misses most; 1: none is missed

    @property
    def meets_targets(self) -> bool:
        """A request is as fast as asked, at least alone on a replica."""
        return self.times_over_target <= 1
