"""Estimate: the memory and the hours of a workload on every card asked for, without any price."""

from collections.abc import Sequence

from providers.errors import UnknownGpu
from providers.gpus import GPUS, Gpu, select_gpus
from providers.offer import Interconnect
from providers.units import SECONDS_PER_HOUR
from service.domain.estimate import Estimate, Range, VramPart
from service.domain.estimation import EstimateAnswer, EstimateRequest, GpuFit, GroupFit, WouldFit
from service.domain.plan import Requirement
from service.domain.workload import Workload
from service.estimate.advice import changes_that_fit
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.estimate.estimate import JobShape, estimate_on, estimates_by_strategy, job_shape, ways_for
from service.estimate.job_checks import check_counts
from service.estimate.replicas import replicas_for
from service.estimate.rule_beside_ours import rule_beside_ours
from service.solver.requirement import requirement_on


def make_estimate(request: EstimateRequest, calibration: Calibration = UNCALIBRATED) -> EstimateAnswer:
    """What the workload needs on each card and count, which of them run it, and for how long.

    Raises:
        UnknownModel, UnknownGpu: a name is in neither table.
        InvalidInput: the workload contradicts itself, or states its need (raw).
    """
    job, assumptions = job_shape(request.workload, calibration)
    cards = _cards(request.gpus)
    counts = tuple(dict.fromkeys(request.gpu_counts))
    check_counts(job, counts)
    fits = tuple(_on_card(job, card, counts, request.workload) for card in cards)
    shown = _shown_card(fits)
    requirement = _requirement(job, GPUS[shown.gpu], counts)
    return EstimateAnswer(
        summary=_summary(job, fits),
        requirement=requirement,
        gpus=fits,
        tokens_per_run=request.workload.total_tokens,
        assumptions=assumptions,
        rule_of_thumb=rule_beside_ours(job),
    )


def _cards(names: Sequence[str] | None) -> tuple[Gpu, ...]:
    if names is None:
        return tuple(GPUS.values())
    found: dict[str, Gpu] = {}
    for index, name in enumerate(names):
        try:
            found.update((gpu.name, gpu) for gpu in select_gpus(name))
        except UnknownGpu as error:
            raise UnknownGpu(str(error), pointer=f"/gpus/{index}", allowed=error.allowed) from error
    return tuple(found.values())


def _on_card(job: JobShape, gpu: Gpu, counts: Sequence[int], workload: Workload) -> GpuFit:
    estimates = [estimate_on(job, gpu, gpu_count=count, interconnect=_link(gpu, count)) for count in counts]
    runs = [int(estimate.gpu_count) for estimate in estimates if estimate.fits]
    shown = min(estimates, key=lambda one: (not one.fits, one.gpu_count if one.fits else one.shortfall_gib, one.gpu_count))
    return GpuFit(
        gpu=gpu.name,
        memory_gb=gpu.memory_gb,
        smallest_gpu_count=min(runs, default=None),
        groups=tuple(_group(estimate, workload) for estimate in estimates),
        shown_gpu_count=int(shown.gpu_count),
        parts=tuple(VramPart(name=part.name, gib=round(part.gib, 3)) for part in shown.vram.parts),
        would_fit_with=_would_fit(job, gpu, estimates, least=min(runs, default=None)),
    )


def _would_fit(job: JobShape, gpu: Gpu, estimates: Sequence[Estimate], *, least: int | None) -> WouldFit | None:
    """The smallest change with which the job runs on fewer GPUs than now, or at all, and the fewest on which it does."""
    missing = sorted(
        (one for one in estimates if one.reason == "vram" and (least is None or one.gpu_count < least)),
        key=lambda one: one.gpu_count,
    )
    if not missing:
        return None
    usable = missing[-1].vram.usable_gib
    for change in changes_that_fit(job, ways_for(job, gpu_count=int(missing[-1].gpu_count), nodes=1), usable_gib=usable):
        for before in missing:
            count = int(before.gpu_count)
            after = estimate_on(change.job, gpu, gpu_count=count, interconnect=_link(gpu, count))
            if after.fits:
                return _with_change(change.settings, before, after)
    return None


def _with_change(settings: tuple[str, ...], before: Estimate, after: Estimate) -> WouldFit:
    need, usable = after.vram.safe_gib, after.vram.usable_gib
    words = " and ".join(settings)
    return WouldFit(
        gpu_count=int(after.gpu_count),
        settings=settings,
        strategy=after.strategy,
        need_gib=round(need, 3),
        headroom_gib=round(after.vram.headroom_gib, 3),
        missing_gib=round(before.shortfall_gib, 3),
        explained=f"{after.gpu_count:g} x {after.gpu} would run it with {words}: {need:.1f} of {usable:.1f} GiB a GPU.",
    )


def _link(gpu: Gpu, count: int) -> Interconnect:
    """What machines with several of this card usually have between them."""
    if count == 1:
        return Interconnect.UNKNOWN
    return Interconnect.NVLINK if gpu.nvlink_gb_per_s else Interconnect.NONE


def _group(estimate: Estimate, workload: Workload) -> GroupFit:
    return GroupFit(
        gpu_count=int(estimate.gpu_count),
        strategy=estimate.strategy,
        fits=estimate.fits,
        need_gib=round(estimate.vram.safe_gib, 3),
        usable_gib=round(estimate.vram.usable_gib, 3),
        headroom_gib=round(estimate.vram.headroom_gib, 3),
        low_headroom=estimate.low_headroom,
        hours=_hours(estimate.seconds_per_unit, workload.total_tokens),
        tokens_per_second=_rounded(estimate.tokens_per_second),
        requests_per_second=_rounded(estimate.requests_per_second),
        replicas=_replicas(estimate.requests_per_second, workload),
        bound=estimate.bound,
        reason=estimate.reason,
        detail=estimate.detail,
        advice=estimate.advice,
    )


def _hours(seconds_per_unit: Range | None, tokens: float | None) -> Range | None:
    if seconds_per_unit is None or tokens is None:
        return None
    scale = tokens / SECONDS_PER_HOUR
    return _rounded(Range(low=seconds_per_unit.low * scale, mid=seconds_per_unit.mid * scale, high=seconds_per_unit.high * scale))


def _rounded(span: Range | None) -> Range | None:
    return None if span is None else Range(low=round(span.low, 6), mid=round(span.mid, 6), high=round(span.high, 6))


def _replicas(rate: Range | None, workload: Workload) -> int | None:
    asked = workload.requests_per_second
    if rate is None or asked is None:
        return None
    least, most = workload.min_replicas or 0, workload.max_replicas
    return replicas_for(asked, rate.mid, min_replicas=least, max_replicas=most).peak


def _shown_card(fits: Sequence[GpuFit]) -> GpuFit:
    """The card that the parts are shown on: the smallest that runs it on the fewest GPUs; the largest when none does."""
    runs = [fit for fit in fits if fit.smallest_gpu_count is not None]
    if runs:
        return min(runs, key=lambda fit: (fit.smallest_gpu_count or 0, fit.memory_gb, fit.gpu))
    return max(fits, key=lambda fit: (fit.memory_gb, fit.gpu))


def _requirement(job: JobShape, gpu: Gpu, counts: Sequence[int]) -> Requirement:
    tried = [
        estimate
        for count in counts
        for estimate in estimates_by_strategy(job, gpu, gpu_count=count, interconnect=_link(gpu, count))
    ]
    least = min(tried, key=lambda one: (not one.fits, one.gpu_count, one.vram.safe_gib))
    return Requirement(
        model=job.model.name,
        explained=f"On {least.gpu_count:g} x {gpu.name} ({least.strategy}): {least.vram.dominated_by}.",
        by_strategy=tuple(requirement_on(estimate) for estimate in tried),
    )


def _summary(job: JobShape, fits: Sequence[GpuFit]) -> str:
    runs = [fit for fit in fits if fit.smallest_gpu_count is not None]
    if not runs:
        nearest = max((group for fit in fits for group in fit.groups), key=lambda group: group.headroom_gib)
        return f"{job.model.name} does not run on any of these: the nearest misses by {-nearest.headroom_gib:.3g} GiB a GPU."
    single = sum(fit.smallest_gpu_count == 1 for fit in runs)
    return f"{job.model.name} runs on {len(runs)} of {len(fits)} cards, on {single} of them with one GPU."
