"""Weigh a purchase: what a decision says beyond its verdict, from the same pool cost and cloud price."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from providers.units import HOURS_PER_MONTH
from service.domain.decision import Decision, PaybackMonths
from service.domain.estimate import Assumption
from service.domain.request import PlanRequest
from service.domain.weighing import InputSwing, Npv, QueueWait, Scenario, ScenarioOutcome, SwitchingValues
from service.domain.workload import Task
from service.solver.amortize import PoolCost, breakeven_utilization, tipping_capex_usd, tipping_usd_per_gpu_hour
from service.solver.draws import INPUTS, PLAN_DRAWS, Draws, draws_of
from service.solver.fit import RawNeed
from service.solver.mix import own_and_burst
from service.solver.onprem import OwnHardware
from service.solver.purchase import Purchase, npv_usd, payback_months_of, purchase_of
from service.solver.queueing import delay_usd_per_gpu_hour, wait_per_service
from service.solver.swings import FALLING, RISING, swings
from service.solver.uncertainty import GIVEN_RANGE, UTILIZATION_RANGE, VOLATILITY, Range, outcomes
from service.solver.words import about, percent
from service.solver.work import Work

PRICE_RANGE: Final = (0.85, 1.15)  # of today's cloud price in the swings
CHANGE: Final = "cloud_price_change_per_year"
NAMED: Final = (
    Scenario(name="flat price"),
    Scenario(name="price falling 12 % a year", cloud_price_change_fraction_per_year=FALLING),
    Scenario(name="price rising 15 % a year", cloud_price_change_fraction_per_year=RISING),
)
_INPUT_OF: Final = {
    "capex_usd_per_node": "capex", "maintenance_fraction_per_year": "maintenance", "staff_usd_per_node_year": "staff",
    "electricity_usd_per_kwh": "electricity", "pue": "pue", "availability_fraction": "availability",
    "residual_fraction": "resale", "discount_rate_fraction": "discount_rate", "life_years": "life",
    "lead_time_months": "lead_time",
}  # fmt: skip
_POINTS: Final = 20  # shares are told in steps of 5 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a request says of weighing. `draws` None: the plan's table."""

    scenarios: tuple[Scenario, ...] = ()
    draws: Draws | None = None
    usd_per_hour_of_delay: float | None = None
    jobs_at_once: int = 1
    gpus_per_job: float = 1.0
    hours_per_run: float | None = None  # None: a service, which does not queue
    load_profile: tuple[float, ...] = ()  # of a service, by the hour: in any unit as asked, in GPUs of the pool
    step_gpus: int = 1  # that are bought at once


NO_TERMS: Final = Terms()


def terms_of(request: PlanRequest, draws: Draws | None) -> Terms:
    """What a request says of weighing."""
    load = request.workload.requests_per_second
    return Terms(
        scenarios=request.scenarios,
        draws=draws,
        usd_per_hour_of_delay=request.usage.delay_usd_per_hour,
        load_profile=tuple(load) if isinstance(load, list) else (),
    )


def on_pool(terms: Terms, best: OwnHardware, work: Work) -> Terms:
    """The terms with what the pool makes of the work: jobs at once, and GPUs by the hour where the load has a profile."""
    if best.entry is None:
        return terms
    option = best.entry.make(0, 0)
    cards = float(work.need.gpu_count) if isinstance(work.need, RawNeed) else option.gpu_count * option.nodes
    mean = sum(terms.load_profile) / len(terms.load_profile) if terms.load_profile else 0.0
    hourly = best.busy_gpu_hours_per_month / HOURS_PER_MONTH
    return replace(
        terms,
        gpus_per_job=cards,
        jobs_at_once=max(1, int(best.cost.gpus // cards)),
        hours_per_run=None if work.task is Task.INFER else option.hours.mid,
        step_gpus=best.pool.gpus_per_node,
        load_profile=tuple(load / mean * hourly for load in terms.load_profile) if mean else (),
    )


def weighed(
    decision: Decision, cost: PoolCost, listed: Sequence[Assumption], *, cloud_usd_per_gpu_hour: float, terms: Terms
) -> Decision:
    """The decision with its quantiles, scenarios, swings, switching values and queue.

    Args:
        listed: the defaults that the pool took, with their ranges.
    """
    share = decision.utilization or 0.0
    decision = replace(decision, switching=switching_of(cost, cloud_usd_per_gpu_hour, share), queue=queue_of(share, terms))
    if terms.load_profile:
        demand = np.asarray(terms.load_profile)
        mix = own_and_burst(cost, demand, cloud_usd_per_gpu_hour=cloud_usd_per_gpu_hour, step_gpus=terms.step_gpus)
        decision = replace(decision, own_and_burst=mix)
    bought = purchase_of(cost, utilization=share, cloud_usd_per_gpu_hour=cloud_usd_per_gpu_hour)
    if bought is None or share <= 0:
        return decision
    ranges = ranges_of(listed)
    npv, payback = npv_of(bought, ranges, terms.draws or draws_of(PLAN_DRAWS))
    return replace(
        decision,
        payback_months=payback,
        npv=npv,
        scenarios=tuple(outcome_of(bought, one) for one in (*NAMED, *terms.scenarios)),
        swings=swings_of(bought, ranges),
    )


def ranges_of(listed: Sequence[Assumption]) -> dict[str, Range]:
    """By input, low and high as factors on the base: a default's own range, 10 % either way for what was given."""
    found: dict[str, Range] = dict.fromkeys(_INPUT_OF.values(), GIVEN_RANGE)
    found["utilization"], found["colocation_and_software"] = UTILIZATION_RANGE, GIVEN_RANGE
    for one in listed:
        name = _INPUT_OF.get(one.name.rpartition(".")[2])
        if name and isinstance(one.value, int | float) and one.value and one.low is not None and one.high is not None:
            found[name] = (one.low / one.value, one.high / one.value)
    return found


def npv_of(bought: Purchase, ranges: dict[str, Range], draws: Draws) -> tuple[Npv, PaybackMonths]:
    """Quantiles of net present value and payback over the draws."""
    found = outcomes(bought, {name: ranges[name] for name in INPUTS if name in ranges}, draws)
    low, middle, high = (round(usd, 2) for usd in found.npv_usd)
    base = round(npv_usd(bought), 2)
    positive, never = (round(share * _POINTS) / _POINTS for share in (found.npv_positive_fraction, found.never_paid_fraction))
    text = (
        f"{draws.count:,} draws of cloud price ({percent(VOLATILITY)} volatility a year, no drift), utilization, purchase price,"
        f" running cost and resale: buying is worth more than renting in {percent(positive)} of them, and is not paid back"
        f" within {about(bought.months)} months of use in {percent(never)}"
    )
    npv = Npv(
        base_usd=base, p10_usd=low, p50_usd=middle, p90_usd=high, positive_fraction=positive, never_paid_fraction=never,
        draws=draws.count, explained=text,
    )  # fmt: skip
    return npv, PaybackMonths(**dict(zip(("p10", "p50", "p90"), map(shown_months, found.payback_months), strict=True)))


def shown_months(months: float) -> float | None:
    """A month with one decimal; None for never."""
    return round(months, 1) if math.isfinite(months) else None


def outcome_of(bought: Purchase, scenario: Scenario) -> ScenarioOutcome:
    """The purchase in a named future."""
    changed = replace(
        bought,
        capex_usd=bought.capex_usd * scenario.capex_factor,
        resale_usd=bought.resale_usd * scenario.capex_factor,
        maintenance_usd_per_month=bought.maintenance_usd_per_month * scenario.capex_factor,
        utilization=scenario.utilization or bought.utilization,
        cloud_usd_per_gpu_hour=bought.cloud_usd_per_gpu_hour * scenario.cloud_price_factor,
        change_per_year=scenario.cloud_price_change_fraction_per_year,
    )
    npv = round(npv_usd(changed), 2)
    return ScenarioOutcome(
        name=scenario.name,
        verdict="on_prem" if npv > 0 else "cloud",
        payback_months=shown_months(payback_months_of(changed)),
        npv_usd=npv,
        regret_of_buying_usd=max(0.0, -npv),
        regret_of_renting_usd=max(0.0, npv),
    )


def swings_of(bought: Purchase, ranges: dict[str, Range]) -> tuple[InputSwing, ...]:
    """The ten inputs that move the net present value most."""
    found = swings(bought, {**ranges, "cloud_price": PRICE_RANGE, CHANGE: (FALLING, RISING)})
    return tuple(
        InputSwing(
            name=one.name,
            low=round(one.low, 6),
            high=round(one.high, 6),
            unit="a year" if one.name == CHANGE else "times the base",
            npv_at_low_usd=round(one.npv_at_low_usd, 2),
            npv_at_high_usd=round(one.npv_at_high_usd, 2),
        )
        for one in found
    )


def switching_of(cost: PoolCost, cloud_usd_per_gpu_hour: float, share: float) -> SwitchingValues:
    """Where owning and renting cost the same, each value alone."""
    use = breakeven_utilization(cost, cloud_usd_per_gpu_hour)
    if share <= 0:
        return SwitchingValues(utilization=round(use, 6) if use <= 1 else None, usd_per_gpu_hour=None, capex_usd=None)
    capex = tipping_capex_usd(cost, cloud_usd_per_gpu_hour=cloud_usd_per_gpu_hour, utilization=share)
    return SwitchingValues(
        utilization=round(use, 6) if use <= 1 else None,
        usd_per_gpu_hour=round(tipping_usd_per_gpu_hour(cost, share), 6),
        capex_usd=None if capex is None else round(capex, 2),
    )


def queue_of(share: float, terms: Terms) -> QueueWait | None:
    """The wait of jobs that come at random; None for a service."""
    if terms.hours_per_run is None:
        return None
    ratio = wait_per_service(terms.jobs_at_once, share)
    waits = math.isfinite(ratio)
    usd = None
    if waits and terms.usd_per_hour_of_delay is not None:
        usd = delay_usd_per_gpu_hour(
            usd_per_hour_of_delay=terms.usd_per_hour_of_delay,
            wait_per_service_hour=ratio,
            gpus_per_job=max(1, round(terms.gpus_per_job)),
        )
    text = (
        f"{terms.jobs_at_once} jobs run at once; at {percent(share)} load a job that comes at random waits"
        f" {f'{about(ratio)} of its own run time' if waits else 'without end'} (run times heavy tailed; measure to replace it)"
    )
    return QueueWait(
        slots=terms.jobs_at_once,
        load_fraction=round(share, 6),
        wait_per_service=round(ratio, 6) if waits else None,
        wait_hours_per_run=round(ratio * terms.hours_per_run, 6) if waits else None,
        usd_per_gpu_hour=None if usd is None else round(usd, 6),
        explained=text,
    )
