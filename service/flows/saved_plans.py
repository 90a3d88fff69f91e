"""Saved plans: keep an answer with all that decided it, list and read what is kept, and move it through its states."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine

from providers.errors import InvalidInput, OptimizerError
from service.domain.plan import Plan
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest, SaveSpec
from service.domain.saved import (
    Approval,
    PlanEvent,
    PlanHashes,
    PlanState,
    PlanStateChange,
    SavedPlan,
    SavedPlanSummary,
)
from service.flows.plan_kept import PLAN, kept_values
from service.solver.market import Market
from service.solver.onprem import OwnHardware
from service.solver.solve import own_of
from service.store import plans as rows
from service.store.engine import reading, writing
from service.store.prices import drop_history_months

MEDIAN_WINDOW: Final = timedelta(days=31)  # before an instant whose medians are needed again
_NEXT: Final = {
    PlanState.DRAFT: (PlanState.PROPOSED, PlanState.APPROVED),
    PlanState.PROPOSED: (PlanState.DRAFT, PlanState.APPROVED),
    PlanState.APPROVED: (PlanState.PROPOSED, PlanState.EXPIRED),
    PlanState.EXPIRED: (PlanState.DRAFT, PlanState.PROPOSED),
}
_SHOWN: Final = tuple(f.name for f in fields(SavedPlanSummary))


class PlanConflict(OptimizerError):
    """The saved plan is not in a state for this; the message says which it is in."""

    code = "plan-conflict"


def save_plan(
    engine: Engine,
    request: PlanRequest,
    plan: Plan,
    market: Market,
    *,
    pools: Mapping[str, OnPremPool],
    default_sensitivity: DataSensitivity,
    now: datetime,
) -> bool:
    """Keeps the plan under its id; False when it was there. Saved again under another name, a draft is renamed.

    Raises:
        PlanConflict: it is there under another name, and no draft any more.
    """
    if request.save is None:
        raise InvalidInput("the request does not ask to be saved", pointer="/save")
    own = own_on(market, request, pools, default_sensitivity)
    values = kept_values(request, request.save, plan, market, own, default_sensitivity, now)
    with writing(engine) as connection:
        if not rows.add_plan(connection, values):
            _rename(connection, plan.plan_id, request.save, now)
            return False
        rows.add_event(connection, plan.plan_id, event="saved", by=request.save.owner, at=now, detail=request.save.name)
    return True


def own_on(
    market: Market, request: PlanRequest, pools: Mapping[str, OnPremPool], default_sensitivity: DataSensitivity
) -> list[OwnHardware]:
    """The own hardware that a plan of this request on this market is decided with."""
    if not request.on_prem:
        return []
    return own_of(
        request,
        pools=pools,
        default_sensitivity=default_sensitivity,
        standing=market.standing,
        calibration=market.calibration,
    )


def _rename(connection: Connection, plan_id: str, save: SaveSpec, now: datetime) -> None:
    row = rows.plan_row(connection, plan_id, lock=True)
    named = {"name": save.name, "owner": save.owner, "note": save.note}
    if all(row[name] == value for name, value in named.items()):
        return
    if row["state"] != PlanState.DRAFT:
        raise PlanConflict(f"the plan is saved under another name and is {row['state']}: only a draft is renamed")
    rows.change_plan(connection, plan_id, {**named, "changed_at": now})
    rows.add_event(connection, plan_id, event="renamed", by=save.owner, at=now, detail=save.name)


def list_plans(
    engine: Engine, *, owner: str | None, name: str | None, after: tuple[datetime, str] | None, limit: int, now: datetime
) -> tuple[tuple[SavedPlanSummary, ...], tuple[datetime, str] | None]:
    """A page of plans, the newest first, and the key that the next one begins behind."""
    with reading(engine) as connection:
        found = rows.plans_page(connection, owner=owner, name=name, after=after, limit=limit + 1)
    page = found[:limit]
    more = (page[-1]["created_at"], page[-1]["plan_id"]) if len(found) > limit else None
    return tuple(summary_of(row, now) for row in page), more


def read_plan(engine: Engine, plan_id: str, now: datetime) -> SavedPlan:
    """One plan whole. Raises UnknownPlan."""
    with reading(engine) as connection:
        row, events = rows.plan_row(connection, plan_id), rows.events_of(connection, plan_id)
    summary = summary_of(row, now)
    return SavedPlan(
        **{name: getattr(summary, name) for name in _SHOWN},
        request=TypeAdapter(dict[str, Any]).validate_json(row["request"]),
        events=tuple(PlanEvent(**{name: one[name] for name in ("at", "event", "by", "detail")}) for one in events),
        answer=PLAN.validate_json(row["answer"]),
    )


def pools_of(engine: Engine, plan_id: str) -> dict[str, OnPremPool]:
    """The own hardware that the plan was reckoned with, by name, as it was then. Raises UnknownPlan."""
    with reading(engine) as connection:
        kept = rows.plan_row(connection, plan_id)["own"]
    given = [{name: value for name, value in one["pool"].items() if value is not None} for one in kept]
    return {pool["name"]: OnPremPool.model_validate(pool, strict=False) for pool in given}


class SavedPlans:
    """The saved plans by their id, for doors that look one up."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, plan_id: str) -> Plan | None:
        """The answer as it was saved; None when it is not there."""
        with reading(self._engine) as connection:
            if not rows.has_plan(connection, plan_id):
                return None
            return PLAN.validate_json(rows.plan_row(connection, plan_id)["answer"])


def summary_of(row: Mapping[str, Any], now: datetime) -> SavedPlanSummary:
    """The row as it is told. An approval is over from its `valid_until` on, whether or not anybody looked."""
    approval = None if row["approval"] is None else TypeAdapter(Approval).validate_python(row["approval"])
    shown = {name: row[name] for name in _SHOWN if name in row}
    return SavedPlanSummary(
        **{
            **shown,
            **row["told"],
            "state": state_of(row, now),
            "approval": approval,
            "hashes": PlanHashes(**row["hashes"]),
        }
    )


def state_of(row: Mapping[str, Any], now: datetime) -> PlanState:
    """The state at this instant."""
    state = PlanState(row["state"])
    if state is PlanState.APPROVED and datetime.fromisoformat(row["approval"]["valid_until"]) <= now:
        return PlanState.EXPIRED
    return state


def change_state(engine: Engine, plan_id: str, change: PlanStateChange, now: datetime) -> None:
    """Moves a plan to another state.

    Raises:
        UnknownPlan: see its name.
        PlanConflict: no way leads there from its state, or there is nothing to approve.
        InvalidInput: an approval that does not cover the plan, or that is over already.
    """
    with writing(engine) as connection:
        row = rows.plan_row(connection, plan_id, lock=True)
        state = state_of(row, now)
        if change.state not in _NEXT[state]:
            ways = ", ".join(one.value for one in _NEXT[state])
            raise PlanConflict(f"the plan is {state.value}: from there it can become {ways}")
        approval = _approval(row, change, now) if change.state is PlanState.APPROVED else None
        values = {"state": change.state.value, "approval": approval, "reopened": None, "changed_at": now}
        rows.change_plan(connection, plan_id, values)
        rows.add_event(connection, plan_id, event=change.state.value, by=change.by, at=now, detail=change.note)


def _approval(row: Mapping[str, Any], change: PlanStateChange, now: datetime) -> dict[str, Any]:
    total = row["told"]["ranking_usd"]
    if total is None:
        raise PlanConflict("nothing fits in this plan: there is nothing to approve")
    limit, until, drift = change.limit_usd, change.valid_until, change.allowed_drift_fraction
    if limit is None or until is None or drift is None:
        raise InvalidInput("an approval needs limit_usd, valid_until and allowed_drift_fraction", pointer="/state")
    if limit < total:
        raise InvalidInput("the limit is under the plan's own total", pointer="/limit_usd")
    if until <= now:
        raise InvalidInput("the approval would be over already", pointer="/valid_until")
    made = Approval(by=change.by, at=now, limit_usd=limit, valid_until=until, allowed_drift_fraction=drift)
    kept: dict[str, Any] = TypeAdapter(Approval).dump_python(made, mode="json")
    return kept


def drop_old_history(engine: Engine, *, before: datetime) -> int:
    """Forgets whole months of price history that ended before, but none that a saved plan used. Returns the rows dropped."""
    with writing(engine) as connection:
        oldest = rows.oldest_as_of(connection)
        kept_from = before if oldest is None else min(before, oldest - MEDIAN_WINDOW)
        return drop_history_months(connection, before=kept_from)
