"""Fit: what a job needs and how fast it runs on every machine kind of a market, as arrays.

Memoised on the job's shape (which holds no amount of work) and the kinds (which belong to one market), so that
requests that differ in tokens, usage or constraints share the estimates and nothing of the answer.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from providers.gpus import GPUS, Gpu
from providers.offer import Fabric, Interconnect
from providers.units import gib_from_gb
from service.domain.estimate import Estimate, Range, VramEstimate
from service.domain.workload import Task
from service.estimate.estimate import estimate_on
from service.estimate.job import JobShape
from service.estimate.runtime import relative_speed
from service.solver.columns import Array, Bools, Floats
from service.solver.tables import Kind, Kinds

NODE_STEPS: Final = (1, 2, 4, 8, 16)
REASONS: Final = ("", "vram", "precision", "software", "parallelism", "gpu_count")  # why a kind cannot run the job
RAW_SPREAD: Final = (0.8, 1.25)  # a card's true speed beside its ratio to the reference


@dataclass(frozen=True, slots=True)
class RawNeed:
    """A need that is stated, not estimated: memory per GPU and GPUs, with hours on a reference card."""

    vram_gib: float
    gpu_count: int
    reference: str
    divisible: bool  # several pieces may run side by side on the GPUs of one machine


@dataclass(frozen=True, eq=False)
class KindFits:
    """One job on the kinds asked about, on `nodes` machines. `seconds` are per unit of work; NaN where it does not run.

    The unit is a trained token (train), a request (infer: `seconds` is 1 / requests per second of the group) or an
    hour of the reference card (raw).
    """

    nodes: int
    estimates: tuple[Estimate | None, ...]  # None: not asked about
    fits: Bools
    reason: Array  # index into REASONS
    low: Floats
    mid: Floats
    high: Floats


@lru_cache(maxsize=64)
def fits_on(need: JobShape | RawNeed, kinds: Kinds, nodes: int, asked: bytes) -> KindFits:
    """The job on the kinds whose byte in `asked` is 1, at this number of machines: who fits on fewer is not asked again."""
    estimates = tuple(
        estimate_kind(need, kind, nodes) if is_asked else None for kind, is_asked in zip(kinds.all, asked, strict=True)
    )
    spans = [None if estimate is None else _seconds(estimate) for estimate in estimates]
    nothing = Range(low=np.nan, mid=np.nan, high=np.nan)
    ranges = [span or nothing for span in spans]
    reasons = [
        0 if estimate is None or span is not None else _reason(estimate) for span, estimate in zip(spans, estimates, strict=True)
    ]
    return KindFits(
        nodes=nodes,
        estimates=estimates,
        fits=np.array([span is not None for span in spans], dtype=np.bool_),
        reason=np.array(reasons, dtype=np.uint8),
        low=np.array([span.low for span in ranges]),
        mid=np.array([span.mid for span in ranges]),
        high=np.array([span.high for span in ranges]),
    )


def estimate_kind(need: JobShape | RawNeed, kind: Kind, nodes: int) -> Estimate:
    """The job on one kind. A fraction of a card has its share of the memory and of the speed."""
    if kind.gpu not in GPUS:  # stored by a version that knew the card
        return _unknown_card(kind, nodes)
    return estimate_group(
        need,
        GPUS[kind.gpu],
        gpu_count=kind.gpu_count,
        nodes=nodes,
        interconnect=Interconnect(kind.interconnect),
        fabric=Fabric(kind.fabric),
        gpu_memory_gb=kind.gpu_memory_gb,
    )


def _unknown_card(kind: Kind, nodes: int) -> Estimate:
    nothing = VramEstimate(point_gib=0.0, safe_gib=0.0, usable_gib=0.0, headroom_gib=0.0, parts=(), dominated_by="")
    detail = f"{kind.gpu} is not in the table of cards"
    return Estimate(
        gpu=kind.gpu,
        gpu_count=kind.gpu_count,
        nodes=nodes,
        strategy="",
        vram=nothing,
        fits=False,
        reason="software",
        detail=detail,
    )


@lru_cache(maxsize=8192)
def estimate_group(
    need: JobShape | RawNeed,
    gpu: Gpu,
    *,
    gpu_count: float,
    nodes: int,
    interconnect: Interconnect,
    fabric: Fabric,
    gpu_memory_gb: float | None = None,
) -> Estimate:
    """The job on `nodes` machines of `gpu_count` cards each."""
    if isinstance(need, RawNeed):
        return _raw(need, gpu, gpu_count=gpu_count, nodes=nodes, gpu_memory_gb=gpu_memory_gb)
    if gpu_count >= 1:
        return estimate_on(need, gpu, gpu_count=int(gpu_count), nodes=nodes, interconnect=interconnect, fabric=fabric)
    usable = gib_from_gb(gpu.memory_gb * gpu_count if gpu_memory_gb is None else gpu_memory_gb)
    whole = estimate_on(need, gpu, gpu_count=1, nodes=nodes, interconnect=interconnect, fabric=fabric, usable_gib=usable)
    return replace(
        whole,
        gpu_count=gpu_count,
        seconds_per_unit=_scaled(whole.seconds_per_unit, 1 / gpu_count),
        requests_per_second=_scaled(whole.requests_per_second, gpu_count),
        tokens_per_second=_scaled(whole.tokens_per_second, gpu_count),
    )


def _scaled(span: Range | None, factor: float) -> Range | None:
    return None if span is None else Range(low=span.low * factor, mid=span.mid * factor, high=span.high * factor)


def _raw(need: RawNeed, gpu: Gpu, *, gpu_count: float, nodes: int, gpu_memory_gb: float | None) -> Estimate:
    usable = gpu.usable_gib if gpu_count >= 1 or gpu_memory_gb is None else gib_from_gb(gpu_memory_gb)
    holds = usable >= need.vram_gib
    enough = gpu_count * nodes >= need.gpu_count or (gpu_count < 1 and need.gpu_count == 1)
    speed = relative_speed(gpu, GPUS[need.reference]) * _cards_at_work(need, gpu_count, nodes)
    return Estimate(
        gpu=gpu.name,
        gpu_count=gpu_count,
        nodes=nodes,
        strategy="as stated",
        vram=VramEstimate(
            point_gib=need.vram_gib,
            safe_gib=need.vram_gib,
            usable_gib=usable,
            headroom_gib=usable - need.vram_gib,
            parts=(),
            dominated_by="the need is stated",
        ),
        fits=holds and enough,
        reason=None if holds and enough else "vram" if not holds else "gpu_count",
        shortfall_gib=max(0.0, need.vram_gib - usable),
        seconds_per_unit=_spread(3600 / speed, gpu.name == need.reference) if holds and enough else None,
        low_headroom=holds and usable - need.vram_gib < 0.05 * usable,
    )


def _cards_at_work(need: RawNeed, gpu_count: float, nodes: int) -> float:
    if gpu_count < 1:
        return gpu_count
    copies = int(gpu_count * nodes // need.gpu_count) if need.divisible else 1
    return float(max(copies, 1) * need.gpu_count)


def _spread(mid: float, is_reference: bool) -> Range:
    """The reference card's hours are stated, not estimated: they have no range."""
    low, high = (1.0, 1.0) if is_reference else RAW_SPREAD
    return Range(low=mid * low, mid=mid, high=mid * high)


def _seconds(estimate: Estimate) -> Range | None:
    if not estimate.fits:
        return None
    if estimate.requests_per_second is not None:
        rate = estimate.requests_per_second
        return Range(low=1 / rate.high, mid=1 / rate.mid, high=1 / rate.low)
    return estimate.seconds_per_unit


def _reason(estimate: Estimate) -> int:
    return REASONS.index(estimate.reason) if estimate.reason in REASONS else REASONS.index("parallelism")


def task_of(need: JobShape | RawNeed) -> Task:
    """The task of a need."""
    return Task.RAW if isinstance(need, RawNeed) else need.task
