"""Report plans: the plans of a report as they were answered, saved ones and ones that were planned for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import Engine

from providers.units import MONTHS_PER_YEAR
from service.domain.plan import Plan
from service.domain.report import ReportPlan
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest, SaveSpec
from service.domain.saved import OwnHardwareInputs, PlanHashes
from service.flows.plan import make_plan
from service.flows.plan_kept import PLAN, kept_values
from service.flows.saved_plans import own_on, summary_of
from service.solver.market import Market
from service.store import plans
from service.store.engine import reading

UNSAVED: Final = "unsaved"
_OWN = TypeAdapter(tuple[OwnHardwareInputs, ...])
_KEPT: Final = ("plan_id", "name", "owner", "note", "state", "answer", "own", "hashes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """A request of a report's body, planned, and what is kept of it for the report."""

    plan: Plan
    kept: dict[str, Any]
    horizon_months: int


def plan_inline(
    request: PlanRequest,
    market: Market,
    *,
    pools: Mapping[str, OnPremPool],
    default_sensitivity: DataSensitivity,
    now: datetime,
) -> Inline:
    """Plans a request for a report on this market, without saving the plan. Raises as `make_plan`."""
    plan = make_plan(request, market, now=now, pools=pools, default_sensitivity=default_sensitivity)
    own = own_on(market, request, pools, default_sensitivity)
    named = request.save or SaveSpec(name=request.workload.name, owner=UNSAVED)
    values = kept_values(request, named, plan, market, own, default_sensitivity, now)
    kept = {name: values[name] for name in _KEPT} | {"state": UNSAVED}
    return Inline(plan=plan, kept=kept, horizon_months=request.usage.horizon_months)


def plans_of(
    engine: Engine, plan_ids: Sequence[str], inline: Sequence[Mapping[str, Any]], now: datetime
) -> tuple[ReportPlan, ...]:
    """The plans in the order that they were named, then the requests. Raises UnknownPlan."""
    found = []
    with reading(engine) as connection:
        for plan_id in plan_ids:
            row = plans.plan_row(connection, plan_id)
            found.append(_report_plan(row, plans.plan_before(connection, row), now))
    return (*found, *(_report_plan(kept, None, now) for kept in inline))


def _report_plan(row: Mapping[str, Any], before: Mapping[str, Any] | None, now: datetime) -> ReportPlan:
    is_saved = row["state"] != UNSAVED
    summary = summary_of(row, now) if is_saved else None
    return ReportPlan(
        plan_id=row["plan_id"],
        name=row["name"],
        owner=row["owner"],
        note=row["note"],
        state=UNSAVED if summary is None else summary.state.value,
        approval=None if summary is None else summary.approval,
        plan=PLAN.validate_json(row["answer"]),
        own=_OWN.validate_python(row["own"]),
        hashes=PlanHashes(**row["hashes"]),
        before=None if before is None else PLAN.validate_json(before["answer"]),
        before_at=None if before is None else before["created_at"],
    )


def month_of(day: date, later: int) -> date:
    """The first day of the month that many months later."""
    at = day.year * MONTHS_PER_YEAR + day.month - 1 + later
    return date(at // MONTHS_PER_YEAR, at % MONTHS_PER_YEAR + 1, 1)
