"""POST /plan: where a workload is cheapest to run, and why."""

import time
from datetime import datetime
from functools import partial

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.chat import caller_key
from service.api.context import Context, context_of
from service.api.model_names import with_model
from service.api.once import KEY_PROBLEMS, IdempotencyKey, answered_once
from service.api.routing import operation, router_of
from service.domain.plan import Plan
from service.domain.request import PlanRequest
from service.flows.idempotency import Answered
from service.flows.plan import check_request, make_plan, market_as_of
from service.flows.saved_plans import save_plan
from service.solver.market import Market

router = router_of("plan")
_PLAN = TypeAdapter(Plan)
_PROBLEMS = ("unknown-model", "unknown-gpu", "no-prices", "conflict", *KEY_PROBLEMS, "unavailable")


@router.post(
    "/plan", response_model=Plan, **operation("makePlan", "Rank where to run a workload", problems=_PROBLEMS, body=PlanRequest)
)
async def post_plan(request: Request, idempotency_key: IdempotencyKey = None) -> Response:
    """Every way to do the whole work, cheapest first, cloud beside own hardware, with each dollar a named line.

    What is left out is counted with its reason, every default is listed, and "nothing fits" is an answer (200) with the
    nearest miss. The same request with the same `as_of` and `evaluated_at` gives the same answer. With `save` the answer
    is kept: Location says where.
    """
    context = context_of(request)
    asked = await with_model(await read_json(request, PlanRequest), context)
    now = context.clock()
    check_request(asked, now)
    if asked.as_of is None and asked.save is None and idempotency_key is None:
        began = time.perf_counter()
        plan = make_plan(
            asked, context.require_market(), now=now, pools=context.pools(), default_sensitivity=context.default_sensitivity
        )
        context.metrics.planned(plan, began)
        return Response(plan_json(plan, asked), media_type="application/json", headers={"Cache-Control": "no-store"})
    answer = partial(_answer, context, asked, now)
    request.scope["changes"] = asked.save is not None  # for the audit log
    route = f"POST /plan {caller_key(request)}"  # another caller's key is another key
    return await run_in_threadpool(answered_once, context, route, idempotency_key, asked, answer)


def _answer(context: Context, asked: PlanRequest, now: datetime) -> Answered:
    """The plan with the help of the database: on earlier prices, kept, or both."""
    market: Market
    if asked.as_of is None:
        market, pools = context.require_market(), context.pools()
    else:
        past = market_as_of(context.engine, asked, asked.as_of, now=now, known=context.known, calibration=context.calibration)
        market, pools = past.market, past.pools
    default = context.default_sensitivity
    plan = make_plan(asked, market, now=now, pools=pools, default_sensitivity=default)
    headers = {}
    if asked.save is not None:
        save_plan(context.engine, asked, plan, market, pools=pools, default_sensitivity=default, now=now)
        headers["Location"] = f"/plans/{plan.plan_id}"
    return Answered(status=200, body=plan_json(plan, asked).decode(), headers=headers)


def plan_json(plan: Plan, asked: PlanRequest) -> bytes:
    """The plan, or the fields of it that were asked for."""
    return _PLAN.dump_json(plan, include=None if asked.fields is None else set(asked.fields))
