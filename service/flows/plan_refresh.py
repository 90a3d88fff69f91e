"""Plan refresh: a saved request solved again, at its own snapshot and on the prices of now, and what changed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from providers.errors import OptimizerError
from service.domain.plan import Plan
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest
from service.domain.saved import CostChange, PlanState, RefreshedPlan, Resolved
from service.estimate.calibration import UNCALIBRATED, calibration_from
from service.flows.as_of import PastMarket, load_market_at
from service.flows.plan import make_plan
from service.flows.plan_kept import PLAN, STATUSES
from service.flows.saved_plans import state_of
from service.solver.change import cost_change
from service.solver.identity import SOLVER_VERSION
from service.solver.market import Market
from service.solver.words import percent
from service.store import plans as rows
from service.store.engine import reading, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """The newest market with its pools, and what the settings say of the class of data."""

    market: Market
    pools: Mapping[str, OnPremPool]


def refresh_plan(engine: Engine, plan_id: str, today: Today, now: datetime) -> RefreshedPlan:
    """The saved plan beside its request solved again. Drift over what an approval allows, or a total over its limit, reopens.

    Raises:
        UnknownPlan: no plan of this id is saved.
    """
    with reading(engine) as connection:
        row = rows.plan_row(connection, plan_id)
    saved = PLAN.validate_json(row["answer"])
    again = solve_at_snapshot(engine, row, saved)
    asked = request_of(row).model_copy(update={"as_of": None, "evaluated_at": None, "save": None, "fields": None})
    present = make_plan(asked, today.market, now=now, pools=today.pools, default_sensitivity=sensitivity_of(row))
    change = cost_change(saved, present)
    state, reopened = _note(engine, plan_id, change, now)
    return RefreshedPlan(
        plan_id=plan_id,
        state=state,
        reopened=reopened,
        saved_solver_version=row["solver_version"],
        solver_version=SOLVER_VERSION,
        saved=saved,
        at_snapshot=again,
        now=present,
        change=change,
    )


def solve_at_snapshot(engine: Engine, row: Mapping[str, Any], saved: Plan) -> Resolved:
    """The same request on the same prices: equal to the last digit under the same version of the solver."""
    past = past_market(engine, row)
    if past is None:
        return Resolved(is_equal=None, plan=None, change=None, explained="The prices of its snapshot are not stored here.")
    try:
        plan = make_plan(
            request_of(row), past.market, now=row["evaluated_at"], pools=past.pools, default_sensitivity=sensitivity_of(row)
        )
    except OptimizerError as error:  # a later version may refuse what an earlier one took
        return Resolved(is_equal=None, plan=None, change=None, explained=f"This version refuses the request: {error}.")
    if PLAN.dump_json(plan).decode() == row["answer"]:
        return Resolved(is_equal=True, plan=None, change=None, explained="Equal to the last digit.")
    version = row["solver_version"]
    why = "" if version == SOLVER_VERSION else f"saved under version {version}, solved under {SOLVER_VERSION}: "
    change = cost_change(saved, plan)
    return Resolved(is_equal=False, plan=plan, change=change, explained=f"{why}{change.explained}")


def past_market(engine: Engine, row: Mapping[str, Any]) -> PastMarket | None:
    """The market that a saved plan was solved on, its feeds as they stood then; None when it is not stored here."""
    if row["as_of"] is None:
        return None
    past = load_market_at(engine, row["as_of"], {})
    if past is None or past.market.snapshot_id != row["hashes"]["snapshot_id"]:
        return None
    kept = row["market"]
    own_factors = kept["calibration"]
    found = dict(zip(past.market.feed_names, past.market.feeds, strict=True))
    if not set(kept["feeds"]) <= found.keys():
        return None
    market = Market.build(
        {name: found[name] for name in kept["feeds"]},
        STATUSES.validate_python(kept["statuses"]),
        snapshot_id=past.market.snapshot_id,
        as_of=past.market.as_of,
        medians=past.market.medians,
        calibration=UNCALIBRATED if own_factors is None else calibration_from(own_factors),
        standing=past.market.standing,
    )
    return replace(past, market=market)


def request_of(row: Mapping[str, Any]) -> PlanRequest:
    """The request as it was sent."""
    return PlanRequest.model_validate_json(row["request"])


def sensitivity_of(row: Mapping[str, Any]) -> DataSensitivity:
    """The class of data that a request without one had."""
    return DataSensitivity(row["market"]["default_sensitivity"])


def _note(engine: Engine, plan_id: str, change: CostChange, now: datetime) -> tuple[PlanState, str | None]:
    with writing(engine) as connection:
        row = rows.plan_row(connection, plan_id, lock=True)
        state = state_of(row, now)
        values: dict[str, Any] = {"refreshed_at": now, "drift_fraction": change.difference_fraction}
        reason = _reopens(row["approval"], change) if state is PlanState.APPROVED else None
        if reason is not None:
            state = PlanState.PROPOSED
            values |= {"state": state.value, "approval": None, "reopened": reason, "changed_at": now}
            rows.add_event(connection, plan_id, event="reopened", by="refresh", at=now, detail=reason)
        rows.change_plan(connection, plan_id, values)
    return state, reason or row["reopened"]


def _reopens(approval: Mapping[str, Any], change: CostChange) -> str | None:
    if change.after_usd is None or change.difference_fraction is None:
        return f"The cost cannot be compared any more. {change.explained}"
    if abs(change.difference_fraction) > approval["allowed_drift_fraction"]:
        allowed = percent(approval["allowed_drift_fraction"])
        return f"The total moved by {percent(change.difference_fraction)}, allowed are {allowed}."
    if change.after_usd > approval["limit_usd"]:
        return "The total is over the approved limit."
    return None
