"""Own hardware as options beside the cloud: the same work on the pool's cards, at marginal or at full cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from providers.gpus import Gpu
from providers.offer import Fabric
from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from service.domain.estimate import Assumption, Estimate, Range
from service.domain.plan import Exclusion, OptionPrice, PlanOption
from service.domain.request import Constraints, OnPremPool, PoolMode
from service.domain.workload import Task, Workload
from service.estimate.replicas import replicas_for
from service.solver.amortize import PoolCost
from service.solver.cost import MICRO
from service.solver.deadline import band_of
from service.solver.eligible import cards_named
from service.solver.fit import NODE_STEPS, RawNeed, estimate_group
from service.solver.options import per_million_tokens, vram_of
from service.solver.order import Entry
from service.solver.policy import holds_own_hardware
from service.solver.pool_defaults import cost_of
from service.solver.pool_lines import SAID, monthly_lines
from service.solver.reasons import EXPLAINED, WOULD_ADMIT
from service.solver.rows import breakdown
from service.solver.tables import LIVE
from service.solver.words import about, about_hours, about_usd, laid_out, percent, usd
from service.solver.work import Work, interconnect_of, one_card


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHardware:
    """One pool on the work: its cost, how busy the work makes it, and the option where it can do the work."""

    pool: OnPremPool
    gpu: Gpu
    cost: PoolCost
    utilization: float  # of calendar hours of all its cards, by this work; 0 where it cannot do it
    busy_gpu_hours_per_month: float
    entry: Entry | None
    exclusion: Exclusion | None


def own_hardware(
    pools: Sequence[OnPremPool], work: Work, workload: Workload, constraints: Constraints
) -> tuple[list[OwnHardware], list[Assumption]]:
    """Every pool on the work, with the defaults that were taken."""
    found, assumed = [], []
    for at, pool in enumerate(pools):
        gpu = one_card(pool.gpu, pointer=f"/on_prem/{at}/gpu")
        cost, listed = cost_of(pool, gpu)
        assumed += listed
        found.append(_on(pool, gpu, cost, work, workload, constraints))
    return found, assumed


@dataclass(frozen=True, slots=True)
class _Run:
    """The work on a pool: machines of a run, its hours, and cards busy meanwhile."""

    estimate: Estimate
    nodes: int
    hours: Range
    busy_gpu_hours: float  # of one run


def _on(pool: OnPremPool, gpu: Gpu, cost: PoolCost, work: Work, workload: Workload, constraints: Constraints) -> OwnHardware:
    if constraints.gpus is not None and gpu.name not in cards_named(constraints.gpus):
        return _out(pool, gpu, cost, "gpu", None)
    if not holds_own_hardware(pool.country, constraints.residency):
        return _out(pool, gpu, cost, "residency", "say where it stands: on_prem country")
    run, reason, detail = _run(pool, gpu, work, workload, constraints)
    if run is None:
        return _out(pool, gpu, cost, reason, None, detail)
    busy = run.busy_gpu_hours * work.runs_each_month
    free = HOURS_PER_MONTH * cost.gpus * cost.availability_fraction * (1 - (pool.busy_fraction or 0.0))
    utilization = busy / (HOURS_PER_MONTH * cost.gpus)
    if busy > free * (1 + 1e-9):
        short = f"{about(busy)} GPU-hours a month are needed, {about(free)} are free: {about(busy - free)} short"
        return replace(
            _out(pool, gpu, cost, "pool_too_small", None, short), utilization=utilization, busy_gpu_hours_per_month=busy
        )
    entry = _entry(pool, gpu, cost, work, run, busy, constraints)
    return OwnHardware(
        pool=pool, gpu=gpu, cost=cost, utilization=utilization, busy_gpu_hours_per_month=busy, entry=entry, exclusion=None
    )


def _run(pool: OnPremPool, gpu: Gpu, work: Work, workload: Workload, constraints: Constraints) -> tuple[_Run | None, str, str]:
    """The fewest nodes that hold the work and end it in time."""
    reason, detail = "vram", ""
    for nodes in (step for step in NODE_STEPS if step <= pool.nodes):
        estimate = estimate_group(
            work.need, gpu, gpu_count=float(pool.gpus_per_node), nodes=nodes, interconnect=interconnect_of(gpu),
            fabric=Fabric.UNKNOWN,
        )  # fmt: skip
        if not estimate.fits:
            code = estimate.reason if estimate.reason != "gpu_count" else "pool_too_small"
            reason, detail = code or "vram", estimate.detail
            continue
        if not estimate.meets_targets:
            reason, detail = "too_slow", estimate.detail
            continue
        if estimate.requests_per_second is not None:
            run = _service(pool, estimate, estimate.requests_per_second.mid, nodes, work, workload)
        elif estimate.seconds_per_unit is not None:
            run = _batch(pool, estimate, estimate.seconds_per_unit, nodes, work)
        else:
            continue
        if run is None:
            return None, "pool_too_small", "more replicas are needed than it has machines for"
        if constraints.deadline_hours is not None and work.task is not Task.INFER and run.hours.mid > constraints.deadline_hours:
            reason, detail = "too_slow", f"about {about_hours(run.hours.mid)} a run"
            continue
        return run, "", ""
    reason = {"software": "software_unverified"}.get(reason, reason)
    return None, reason, detail


def _batch(pool: OnPremPool, estimate: Estimate, seconds: Range, nodes: int, work: Work) -> _Run:
    units = work.units_per_run / SECONDS_PER_HOUR
    hours = Range(low=seconds.low * units, mid=seconds.mid * units, high=seconds.high * units)
    cards = float(pool.gpus_per_node * nodes)
    if isinstance(work.need, RawNeed):
        slots = int(cards // work.need.gpu_count) if work.need.divisible else 1
        cards = float(slots * work.need.gpu_count)
    return _Run(estimate, nodes, hours, hours.mid * cards)


def _service(
    pool: OnPremPool, estimate: Estimate, requests_per_second: float, nodes: int, work: Work, workload: Workload
) -> _Run | None:
    load = workload.requests_per_second
    found = replicas_for(
        load if isinstance(load, list) else load or 0.0,
        requests_per_second,
        min_replicas=workload.min_replicas or 0,
        max_replicas=workload.max_replicas,
    )
    if found.peak * nodes > pool.nodes or found.unserved_fraction > 1e-9:
        return None
    hours = work.units_per_run
    return _Run(
        estimate, nodes * found.peak, Range(low=hours, mid=hours, high=hours), hours * found.mean * nodes * pool.gpus_per_node
    )


def _out(pool: OnPremPool, gpu: Gpu, cost: PoolCost, reason: str, admits: str | None, detail: str = "") -> OwnHardware:
    said = EXPLAINED.get(reason, "the pool has fewer GPU-hours or machines than the work needs")
    exclusion = Exclusion(
        reason=reason,
        count=1,
        explained=f"own hardware {pool.name}: {detail or said}",
        example=f"{pool.name}: {pool.nodes} x {pool.gpus_per_node} x {gpu.name}",
        nearest_miss=detail or None,
        would_admit=admits or WOULD_ADMIT.get(reason) or ("more nodes in the pool" if reason == "pool_too_small" else None),
    )
    return OwnHardware(
        pool=pool, gpu=gpu, cost=cost, utilization=0.0, busy_gpu_hours_per_month=0.0, entry=None, exclusion=exclusion
    )


def _entry(pool: OnPremPool, gpu: Gpu, cost: PoolCost, work: Work, run: _Run, busy: float, constraints: Constraints) -> Entry:
    monthly, runs = monthly_lines(pool, cost, busy), work.runs_each_month
    lines = [(name, [_micro(usd, each) for each in _views(work)]) for name, usd in monthly.items()]
    sums = [sum(values) for values in zip(*(micros for _, micros in lines), strict=True)]
    total, view = sum(monthly.values()), 0 if work.runs is not None else 1
    per_hour = cost.marginal_usd_per_gpu_hour * busy / run.hours.mid  # what follows the hours' range
    scale = 1 / runs if work.runs is not None else 1.0
    low = (total - per_hour * (run.hours.mid - run.hours.low)) * scale
    high = (total + per_hour * (run.hours.high - run.hours.mid)) * scale
    hourly = total / HOURS_PER_MONTH if pool.mode is PoolMode.BUY else total / (run.hours.mid * runs)
    made = breakdown(lines, sums, work, low_usd=round(low, 6), high_usd=round(high, 6), explained=SAID)
    option = PlanOption(
        rank=0, kind="on_prem", provider="on_prem", tier=pool.mode.value, instance_type=pool.name, gpu=gpu.name,
        form_factor=gpu.form_factor, gpu_count=float(pool.gpus_per_node), nodes=run.nodes, region=None, zone=None,
        country=pool.country, capacity_type="owned", tenancy="on_prem",
        availability="available" if pool.mode is PoolMode.OWNED else "unknown", arch="x86_64", strategy=run.estimate.strategy,
        vram=vram_of(run.estimate), hours=_rounded(run.hours), usd_per_hour=round(hourly, 6),
        usd_per_gpu_hour=round(hourly / cost.gpus, 6), cost=made,
        usd_per_million_tokens=per_million_tokens(made.ranking_usd, work),
        deadline=band_of(
            deadline_hours=constraints.deadline_hours, low=run.hours.low, high=run.hours.high, setup_hours=0.0,
            paid_hours=run.hours.mid, stops=0.0,
        ),
        flags=("low_headroom",) if run.estimate.low_headroom else (), tie_group=0,
        why=_why(pool, gpu, cost, work, run, busy, total),
        price=OptionPrice(
            offer_id=None, observed_at=None, as_of=None, source="the request's on_prem figures", basis="own_hardware", feed=None
        ),
    )  # fmt: skip
    return Entry(
        micro_usd=sums[view], usd_per_hour=option.usd_per_hour, name=f"on_prem {pool.name}", low_usd=low, high_usd=high,
        shape=(gpu.name, option.gpu_count, run.nodes, option.strategy), doubt=LIVE, row=None, make=partial(_ranked, option),
    )  # fmt: skip


def _rounded(hours: Range) -> Range:
    low, mid, high = (max(round(one, 6), 1 / MICRO) for one in (hours.low, hours.mid, hours.high))
    return Range(low=low, mid=mid, high=high)


def _ranked(option: PlanOption, rank: int, tie_group: int) -> PlanOption:
    return replace(option, rank=rank, tie_group=tie_group)


def _views(work: Work) -> tuple[float, float, float]:
    """By what a month's dollars are multiplied for a run, a month and the horizon."""
    return 1 / work.runs_each_month, 1.0 if work.runs_per_month is not None else 0.0, float(work.horizon_months)


def _micro(usd_per_month: float, times: float) -> int:
    return round(usd_per_month * times * MICRO)


def _why(pool: OnPremPool, gpu: Gpu, cost: PoolCost, work: Work, run: _Run, busy: float, monthly_usd: float) -> str:
    cards = f"{pool.nodes * pool.gpus_per_node} x {gpu.name} of {pool.name}"
    share = busy / (HOURS_PER_MONTH * cost.gpus)
    if pool.mode is PoolMode.OWNED:
        hour = usd(round(cost.marginal_usd_per_gpu_hour, 6))
        first = f"{cards} are owned: only what their busy hours add counts, {hour} a GPU-hour."
    elif cost.flat_usd_per_gpu_hour is not None:
        flat = cost.flat_usd_per_gpu_hour
        hour, month = usd(round(flat, 6)), usd(round(flat * HOURS_PER_MONTH, 6))
        first = f"{cards} at {hour} a GPU-hour, {month} a GPU-month, around the clock."
    else:
        first = f"{cards} bought for {about_usd(cost.capex_usd)} with network and spares cost {about_usd(monthly_usd)} a month."
    takes = (
        f"The service is up {about_hours(run.hours.mid)} a month"
        if work.task is Task.INFER
        else f"The work takes about {about_hours(run.hours.mid)} a run"
    )
    takes += f" {laid_out(run.estimate.strategy, float(run.nodes * pool.gpus_per_node))}"
    return f"{first} {takes}; it keeps the cards busy {percent(share)} of the time."
