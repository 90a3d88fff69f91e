"""POST /plan: where a workload is cheapest to run, and why."""

from datetime import datetime

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.context import Context, context_of
from service.api.routing import operation, router_of
from service.domain.plan import Plan
from service.domain.request import PlanRequest
from service.flows.plan import check_request, make_plan, make_plan_as_of

router = router_of("plan")
_PLAN = TypeAdapter(Plan)
_PROBLEMS = ("unknown-model", "unknown-gpu", "no-prices", "unavailable")


@router.post(
    "/plan", response_model=Plan, **operation("makePlan", "Rank where to run a workload", problems=_PROBLEMS, body=PlanRequest)
)
async def post_plan(request: Request) -> Response:
    """Every way to do the whole work, cheapest first, cloud beside own hardware, with each dollar a named line.

    What is left out is counted with its reason, every default is listed, and "nothing fits" is an answer (200) with the
    nearest miss. The same request with the same `as_of` and `evaluated_at` gives the same answer.
    """
    asked = await read_json(request, PlanRequest)
    context = context_of(request)
    now = context.clock()
    check_request(asked, now)
    if asked.as_of is not None:
        plan = await run_in_threadpool(_plan_as_of, context, asked, asked.as_of, now)
    else:
        plan = make_plan(
            asked, context.require_market(), now=now, pools=context.pools(), default_sensitivity=context.default_sensitivity
        )
    return Response(plan_json(plan, asked), media_type="application/json", headers={"Cache-Control": "no-store"})


def _plan_as_of(context: Context, asked: PlanRequest, as_of: datetime, now: datetime) -> Plan:
    return make_plan_as_of(
        context.engine, asked, as_of, now=now, known=context.known, default_sensitivity=context.default_sensitivity
    )


def plan_json(plan: Plan, asked: PlanRequest) -> bytes:
    """The plan, or the fields of it that were asked for."""
    return _PLAN.dump_json(plan, include=None if asked.fields is None else set(asked.fields))
