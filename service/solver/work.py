"""Work: how much there is to do, in units that are equal on every machine, and how often it is done.

Usage given in hours or as a share refers to one named card and becomes an amount once, here; every option then does
the same amount. The unit is a trained token (train), an hour of the reference card (raw) or an hour of service (infer).
"""

from dataclasses import dataclass
from typing import Final

from providers.errors import InvalidInput
from providers.gpus import Gpu, select_gpus
from providers.offer import Fabric, Interconnect
from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from service.domain.estimate import Assumption, Estimate
from service.domain.plan import PER_MONTH, PER_RUN
from service.domain.request import OnPremPool, PlanRequest, Usage
from service.domain.workload import Task, Workload
from service.estimate.job import JobShape
from service.solver.fit import NODE_STEPS, RawNeed, estimate_group, task_of

_COUNTS: Final = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every option of a plan must do."""

    task: Task
    need: JobShape | RawNeed
    units_per_run: float  # tokens, reference GPU-hours, or hours the service is up in a month
    runs: float | None  # one-off: how many runs in all
    runs_per_month: float | None  # recurring; exactly one of the two is given. A service is one run a month
    horizon_months: int
    hours_per_month: float | None  # as stated for the reference card or pool, or of a service

    @property
    def ranking_period(self) -> str:
        """By which total options are ordered: it is the same order for all of them."""
        return PER_RUN if self.runs is not None else PER_MONTH

    @property
    def months(self) -> float:
        """Months over which recurring work is done."""
        return float(self.horizon_months)

    @property
    def runs_in_all(self) -> float:
        """Runs over the horizon."""
        return self.runs if self.runs is not None else (self.runs_per_month or 0.0) * self.horizon_months

    @property
    def runs_each_month(self) -> float:
        """Runs in a mean month; one-off runs are spread over the horizon."""
        return self.runs_per_month if self.runs_per_month is not None else (self.runs or 0.0) / self.horizon_months


def interconnect_of(gpu: Gpu) -> Interconnect:
    """The link that machines of this card usually have."""
    return Interconnect.NVLINK if gpu.nvlink_gb_per_s else Interconnect.NONE


def one_card(name: str, *, pointer: str) -> Gpu:
    """The card of a name; of a family the one with the least memory and speed, which promises nothing it cannot hold."""
    found = _select(name, pointer)
    return min(found, key=lambda gpu: (gpu.memory_gb, gpu.bf16_tflops or gpu.fp16_tflops or gpu.fp32_tflops, gpu.name))


def _select(name: str, pointer: str) -> tuple[Gpu, ...]:
    try:
        return select_gpus(name)
    except InvalidInput as error:
        raise type(error)(str(error), pointer=pointer, allowed=error.allowed) from error


def work_of(
    request: PlanRequest, job: JobShape | None, pools: tuple[OnPremPool, ...], utilization: float | None
) -> tuple[Work, list[Assumption]]:
    """The work that the request asks for, and what was assumed of it.

    Args:
        job: the estimate's shape; None for raw work.
        pools: the request's pools with names resolved.
        utilization: the share of `usage.measured_pool`, where the usage names one.
    Raises:
        InvalidInput: the amount of work is not given, or hours and shares refer to no card.
    """
    usage, workload = request.usage, request.workload
    share = usage.utilization if usage.utilization is not None else utilization
    hours = usage.hours_per_month if share is None else share * HOURS_PER_MONTH
    if job is not None and workload.task is Task.INFER:
        return _service(request, job, hours)
    if job is not None and hours is None:
        runs, runs_per_month, units = _runs(usage, workload, workload.total_tokens, None)
        return _made(usage, job, units, runs, runs_per_month, None), []
    gpu, group, assumed = _reference(request, pools)
    if job is None:
        need: JobShape | RawNeed = _raw_need(workload, gpu, divisible=hours is not None)
        per_run, monthly = workload.gpu_hours, None if hours is None else hours * _cards(group, need)
    else:
        need, per_run = job, workload.total_tokens
        monthly = (hours or 0.0) * SECONDS_PER_HOUR * _tokens_per_second(job, gpu, group)
    runs, runs_per_month, units = _runs(usage, workload, per_run, monthly)
    return _made(usage, need, units, runs, runs_per_month, hours), assumed


def _made(
    usage: Usage, need: JobShape | RawNeed, units: float, runs: float | None, runs_per_month: float | None, hours: float | None
) -> Work:
    return Work(
        task=task_of(need), need=need, units_per_run=units, runs=runs, runs_per_month=runs_per_month,
        horizon_months=usage.horizon_months, hours_per_month=hours,
    )  # fmt: skip


def _runs(
    usage: Usage, workload: Workload, per_run: float | None, monthly: float | None
) -> tuple[float | None, float | None, float]:
    """One-off runs, runs a month, and units of one run. A month's work without a run's size is one run."""
    if monthly is not None:
        return (None, 1.0, monthly) if per_run is None else (None, monthly / per_run, per_run)
    if per_run is None:
        field = "gpu_hours" if workload.task is Task.RAW else "tokens"
        raise InvalidInput(
            f"how much work is one run? Give {field}, or usage.hours_per_month or usage.utilization",
            pointer=f"/workload/{field}",
        )
    return usage.runs, usage.runs_per_month, per_run


def _service(request: PlanRequest, job: JobShape, hours: float | None) -> tuple[Work, list[Assumption]]:
    usage, assumed = request.usage, []
    if hours is None:
        if "usage" in request.model_fields_set and (usage.runs is not None or usage.runs_per_month is not None):
            raise InvalidInput(
                "a service has no runs: give hours_per_month or utilization, the hours that it is up",
                pointer="/usage/runs" if usage.runs is not None else "/usage/runs_per_month",
                allowed=("hours_per_month", "utilization"),
            )
        hours = float(HOURS_PER_MONTH)
        assumed.append(Assumption(name="usage.hours_per_month", value=hours, unit="h", source="a service that is always up"))
    return _made(usage, job, hours, None, 1.0, hours), assumed


def _reference(request: PlanRequest, pools: tuple[OnPremPool, ...]) -> tuple[Gpu, OnPremPool | None, list[Assumption]]:
    """The card that hours refer to, and the pool when it is the pool's card."""
    named = request.usage.reference_gpu
    if named is None:
        if not pools:
            raise InvalidInput(
                "hours and shares refer to a card: which one? Give usage.reference_gpu, or an on-premises pool",
                pointer="/usage/reference_gpu",
            )
        gpu = one_card(pools[0].gpu, pointer="/on_prem/0/gpu")
        text = f"{pools[0].gpus_per_node * pools[0].nodes} x {gpu.name}"
        return gpu, pools[0], [Assumption(name="usage.reference_gpu", value=text, source="the pool's cards, all of them")]
    gpu = one_card(named, pointer="/usage/reference_gpu")
    assumed = []
    if gpu.name != named:
        assumed.append(Assumption(name="usage.reference_gpu", value=gpu.name, source="the least variant of the name given"))
    if pools and one_card(pools[0].gpu, pointer="/on_prem/0/gpu").name == gpu.name:
        return gpu, pools[0], assumed
    return gpu, None, assumed


def _raw_need(workload: Workload, gpu: Gpu, *, divisible: bool) -> RawNeed:
    if workload.vram_gib is None:
        raise InvalidInput("a raw workload states vram_gib", pointer="/workload/vram_gib")
    return RawNeed(
        vram_gib=workload.vram_gib,
        gpu_count=workload.gpu_count or 1,
        reference=gpu.name,
        divisible=divisible and workload.gpu_hours is None,
    )


def _cards(group: OnPremPool | None, need: JobShape | RawNeed) -> float:
    """Cards whose busy hours are meant: the whole pool, or as many as the work takes at once."""
    if group is not None:
        return float(group.gpus_per_node * group.nodes)
    return float(need.gpu_count) if isinstance(need, RawNeed) else 1.0


def _tokens_per_second(job: JobShape, gpu: Gpu, group: OnPremPool | None) -> float:
    """Mid speed of the reference: the whole pool, or the smallest group of the named card that holds the job."""
    tries = [(group.gpus_per_node, nodes) for nodes in NODE_STEPS if nodes <= group.nodes] if group else []
    tries = tries or [*((count, 1) for count in _COUNTS), *((8, nodes) for nodes in NODE_STEPS[1:])]
    last: Estimate | None = None
    for count, nodes in tries:
        last = estimate_group(
            job, gpu, gpu_count=float(count), nodes=nodes, interconnect=interconnect_of(gpu), fabric=Fabric.UNKNOWN
        )
        if last.fits and last.seconds_per_unit is not None:
            copies = group.nodes / nodes if group else 1.0
            return copies / last.seconds_per_unit.mid
    raise InvalidInput(
        f"the work does not run on {gpu.name} ({last.reason if last else 'vram'}): name another reference card",
        pointer="/usage/reference_gpu",
    )
