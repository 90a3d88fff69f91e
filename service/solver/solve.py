"""Solve: from a request and a market to a plan. Pure: the same inputs give the same answer to the last digit.

The way of one request: work (equal on every machine), shapes per machine kind, mask over groups, cost of the groups,
the cheapest rows, exact lines of these rows with own hardware beside them, decision, answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from service.domain.estimate import Assumption
from service.domain.plan import BestOfMarketTier, Decision, Exclusion, Plan, PlanOption, PlanPrices
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest
from service.domain.workload import Task
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.estimate.estimate import job_shape
from service.solver.candidates import Found, find
from service.solver.dearest import dearest_on_demand
from service.solver.decide import decide
from service.solver.draws import Draws
from service.solver.eligible import Mask, mask_of
from service.solver.excluded import exclusions
from service.solver.identity import SOLVER_VERSION, plan_id
from service.solver.interruption import prior_assumptions
from service.solver.leaders import leaders_of
from service.solver.market import Market
from service.solver.market_best import best_of_markets, first_of_markets
from service.solver.measured import assumed_of, gpus_of, measured_of, share_of, with_reading
from service.solver.named_pools import named_pools
from service.solver.onprem import OwnHardware, own_hardware
from service.solver.options import cloud_entries
from service.solver.order import Entry, made, ordered
from service.solver.pick import Rows, cheapest, joined
from service.solver.policy_price import policy_price
from service.solver.pricing import PRICE_RANGE, Pricing, job_terms
from service.solver.requirement import requirement_of
from service.solver.shape import shapes_of
from service.solver.standing import NOTHING_ELSE, Standing
from service.solver.surcharge import with_surcharges
from service.solver.tables import LIVE, SUSPECT
from service.solver.told import prices_of
from service.solver.transfer import AS_OF, EGRESS_USD_PER_GB, SOURCE, transfer_of
from service.solver.unpriced import not_priced
from service.solver.weigh import terms_of
from service.solver.words import about_usd
from service.solver.work import Work, work_of

__all__ = ["SOLVER_VERSION", "own_of", "solve"]


@dataclass(frozen=True, eq=False)
class _Problem:
    """A request with everything about it settled that does not depend on prices."""

    request: PlanRequest
    data_class: DataSensitivity
    pools: tuple[OnPremPool, ...]
    work: Work
    assumed: list[Assumption]


def solve(
    request: PlanRequest,
    market: Market,
    *,
    evaluated_at: datetime,
    pools: Mapping[str, OnPremPool] | None = None,
    draws: Draws | None = None,
    default_sensitivity: DataSensitivity = DataSensitivity.INTERNAL,
    measured_utilization: float | None = None,
) -> Plan:
    """The plan of a request on this market at this instant.

    Args:
        pools: stored pools by name, for requests that name them.
        draws: the points of the decision's quantiles; None: the plan's own table.
        default_sensitivity: the class of data of a request that names none.
        measured_utilization: a share in the place of what the market's measurement of `usage.measured_pool` says.
    Raises:
        InvalidInput: with the JSON pointer of what cannot be.
    """
    use = None if measured_utilization is not None else measured_of(request.usage, market.standing.measured)
    share = measured_utilization if use is None else share_of(use)
    problem = _problem(request, pools or {}, default_sensitivity, share, market.calibration)
    pricing, assumed = _pricing(problem, market)
    mask = mask_of(market, request.constraints, problem.data_class, pricing, evaluated_at)
    found = find(pricing, mask, request.constraints)
    cloud, first = _cloud(market, pricing, found, mask, request)
    own, listed = own_hardware(problem.pools, problem.work, request.workload, request.constraints)
    shown = ordered([*cloud, *(one.entry for one in own if one.entry is not None)], request.limit)
    options = with_surcharges(made(shown), market)
    dearest = dearest_on_demand(pricing, found) if own else {}
    decision = decide(own, _cheapest(cloud, shown, options), problem.work, dearest, terms_of(request, draws))
    if use is not None:
        decision = with_reading(decision, use, now=evaluated_at, gpus=gpus_of(use, (*problem.pools, *(pools or {}).values())))
    left_out = (*exclusions(pricing, mask, found, request.constraints), *(one.exclusion for one in own if one.exclusion))
    measured = () if use is None else (assumed_of(use),)
    assumptions = (*problem.assumed, *measured, *assumed, *listed, *_priors(options), *_class_assumed(problem))
    best = best_of_markets(first, options)
    return _answer(problem, market, pricing, mask, found, shown, options, decision, left_out, assumptions, best, evaluated_at)


def own_of(
    request: PlanRequest,
    *,
    pools: Mapping[str, OnPremPool],
    default_sensitivity: DataSensitivity,
    standing: Standing = NOTHING_ELSE,
    calibration: Calibration = UNCALIBRATED,
) -> list[OwnHardware]:
    """The own hardware of a request on its work, with its cost: what a plan of it decides with, whatever the market."""
    use = measured_of(request.usage, standing.measured)
    problem = _problem(request, pools, default_sensitivity, None if use is None else share_of(use), calibration)
    return own_hardware(problem.pools, problem.work, request.workload, request.constraints)[0]


def _problem(
    request: PlanRequest, stored: Mapping[str, OnPremPool], default: DataSensitivity, measured: float | None,
    calibration: Calibration = UNCALIBRATED,
) -> _Problem:  # fmt: skip
    pools = named_pools(request, stored)
    job, assumed = (None, ()) if request.workload.task is Task.RAW else job_shape(request.workload, calibration)
    measured_on = stored.get(request.usage.measured_pool or "")
    work, of_work = work_of(request, job, pools or ((measured_on,) if measured_on is not None else ()), measured)
    return _Problem(
        request=request,
        data_class=request.constraints.data_sensitivity or default,
        pools=pools,
        work=work,
        assumed=[*assumed, *of_work],
    )


def _pricing(problem: _Problem, market: Market) -> tuple[Pricing, list[Assumption]]:
    request, work = problem.request, problem.work
    job, assumed = job_terms(request, work)
    data = request.workload.data
    is_single = work.runs is not None and work.runs <= 1
    made = Pricing(
        groups=market.groups,
        shapes=shapes_of(work, market.groups.kinds, request.workload, request.constraints, job.setup_hours),
        work=work,
        job=job,
        transfer=transfer_of(data, market.groups.sellers.all, work.runs_each_month),
        disk_gb=None if data is None else data.disk_gb,
        ranges_prices=not is_single,
    )
    location = data.location if data is not None else None
    rate = None if location is None else EGRESS_USD_PER_GB.get(location.provider)
    if rate is not None and data is not None and data.dataset_gb:
        name = "egress_usd_per_gb"
        assumed.append(Assumption(name=name, value=rate, unit="USD per GB", source=SOURCE, as_of=AS_OF))
    return made, assumed


def _cloud(
    market: Market, pricing: Pricing, found: Found, mask: Mask, request: PlanRequest
) -> tuple[list[Entry], dict[int, Entry]]:
    """The cheapest rows as entries, and the cheapest of each market tier, which may lie beyond them.

    Where none of the cheapest has a live, unsuspected price the cheapest that has one stands among them.
    """
    allowed, kept = found.allowed, mask.sieve.kept
    rows = cheapest(allowed, request.limit)
    first, added = first_of_markets(found, mask.sieve, rows)
    doubt = market.groups.doubt
    trusted: list[Rows] = []
    if len(rows) and (best := int(doubt[rows.group].min())) > LIVE:
        least = int(doubt[allowed.at[allowed.counts > 0]].min())
        if least < best:
            trusted = [cheapest(allowed, 1, kept.get(("doubt", least), lambda: np.flatnonzero(doubt[allowed.at] == least)))]
    all_rows = joined((rows, *added, *trusted)) if added or trusted else rows
    entries = cloud_entries(market, pricing, all_rows, mask, request.constraints.deadline_hours)
    ranked = [*entries[: len(rows)], *entries[len(rows) + len(added) :]]
    return ranked, {tier: entries[number] for tier, number in first.items()}


def _cheapest(cloud: Sequence[Entry], shown: Sequence[Entry], options: Sequence[PlanOption]) -> PlanOption | None:
    """The cloud option of least cost, shown or not; a suspect price decides nothing where there is another."""
    if not cloud:
        return None
    trusted = [one for one in cloud if one.doubt < SUSPECT]
    least = min(trusted or cloud, key=lambda one: (one.micro_usd, one.usd_per_hour, one.name))
    return next((option for one, option in zip(shown, options, strict=True) if one is least), None) or least.make(0, 0)


def _priors(options: Sequence[PlanOption]) -> list[Assumption]:
    spot = [option for option in options if option.capacity_type == "spot"]
    hosts = any(option.tenancy == "community_host" for option in spot)
    listed = prior_assumptions(host_bids=hosts, spot=any(option.tenancy != "community_host" for option in spot))
    return [*listed, PRICE_RANGE] if any(option.price.low_usd_per_hour is not None for option in options) else listed


def _class_assumed(problem: _Problem) -> list[Assumption]:
    if problem.request.constraints.data_sensitivity is not None:
        return []
    return [Assumption(name="constraints.data_sensitivity", value=problem.data_class.value, source="the setting's default")]


def _answer(
    problem: _Problem,
    market: Market,
    pricing: Pricing,
    mask: Mask,
    found: Found,
    shown: Sequence[Entry],
    options: tuple[PlanOption, ...],
    decision: Decision,
    left_out: tuple[Exclusion, ...],
    assumptions: tuple[Assumption, ...],
    best: tuple[BestOfMarketTier, ...],
    evaluated_at: datetime,
) -> Plan:
    request, echo = problem.request, problem.request.model_dump(mode="json")
    name = plan_id(echo, market, problem.data_class, problem.pools, evaluated_at)
    echo["constraints"]["data_sensitivity"] = problem.data_class.value  # its defaults filled in
    prices = prices_of(market, evaluated_at)
    total = int(found.allowed.counts.sum()) + sum(1 for one in shown if one.row is None)
    best_cloud = next((option for option in options if option.kind == "cloud"), None)
    return Plan(
        plan_id=name,
        summary=_summary(prices, decision, options, problem.work),
        evaluated_at=evaluated_at,
        requirement=requirement_of(problem.work.need),
        options=options,
        options_found=total,
        leaders=leaders_of(shown, options, market, pricing, found, mask.sieve),
        decision=decision,
        exclusions=left_out,
        policy_price=policy_price(problem.data_class, request.constraints, pricing, mask, found, best_cloud),
        assumptions=assumptions,
        not_priced=not_priced(pricing, mask.sieve, options),
        prices=prices,
        request_echo=echo,
        solver_version=SOLVER_VERSION,
        best_by_market_tier=best,
    )


def _summary(prices: PlanPrices, decision: Decision, options: Sequence[PlanOption], work: Work) -> str:
    """How old the prices are, the decision, and the first option with its total: a sentence each."""
    if not options:
        return f"{prices.explained} {decision.sentence}"
    first, total = options[0].why.partition(". ")[0], about_usd(options[0].cost.ranking_usd)
    return f"{prices.explained} {decision.sentence} First stands {first}: {total} {work.period_said} in all."
