"""Saved plans: keep an answer, look at it again, and see what changed since."""

from typing import Final

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from service.domain.request import PlanRequest, SaveSpec
from service.domain.saved import RefreshedPlan, SavedPlan
from service.flows.plan import check_request, make_plan, market_as_of
from service.flows.plan_refresh import Today, refresh_plan
from service.flows.saved_plans import pools_of, read_plan, save_plan
from service.web.context import WebContext, context_of
from service.web.plan_pages import answer_parts
from service.web.refusals import PageRefusal
from service.web.render import page
from service.web.sent import Sent, first, read_form
from service.web.site import page_router

router = page_router()
SEE_OTHER: Final = 303


@router.post("/ui/plans")
async def post_saved(request: Request) -> Response:
    """Keeps the answer that the page showed and goes to it, or on to a report over it."""
    sent = await read_form(request, writes=True)
    plan_id = await run_in_threadpool(_save, context_of(request), sent)
    target = f"/ui/reports?plan={plan_id}" if first(sent, "next") == "report" else f"/ui/plans/{plan_id}"
    return RedirectResponse(target, status_code=SEE_OTHER)


@router.get("/ui/plans/{plan_id}")
def get_saved(request: Request, plan_id: str) -> Response:
    """The plan as it was answered."""
    context = context_of(request)
    saved = read_plan(context.engine, plan_id[:100], context.clock())
    return _shown(request, saved, None)


def _shown(request: Request, saved: SavedPlan, change: RefreshedPlan | None) -> Response:
    """The plan, its charts with the hardware as it was then, and what changed since."""
    asked = PlanRequest.model_validate_json(to_json(saved.request))
    pools = pools_of(context_of(request).engine, saved.plan_id)
    parts = answer_parts(saved.answer, asked, pools=pools, base=str(request.base_url).rstrip("/"))
    return page(request, "saved.html", saved=saved, change=change, **parts)


@router.post("/ui/plans/{plan_id}/refresh")
async def post_refresh(request: Request, plan_id: str) -> Response:
    """The plan beside its request solved on the prices of now."""
    await read_form(request, writes=True)
    return await run_in_threadpool(_refreshed, request, plan_id[:100])


def _refreshed(request: Request, plan_id: str) -> Response:
    context = context_of(request)
    today = Today(market=context.require_market(), pools=context.pools())
    change = refresh_plan(context.engine, plan_id, today, context.clock())
    saved = read_plan(context.engine, plan_id, context.clock())
    return _shown(request, saved, change)


def _save(context: WebContext, sent: Sent) -> str:
    asked = _request_to_save(sent)
    now = context.clock()
    check_request(asked, now)
    market, pools = context.require_market(), context.pools()
    if asked.as_of is not None and market.snapshot_id != first(sent, "snapshot_id"):
        # Prices have changed since the page was made: what it showed is kept, not what holds now.
        past = market_as_of(context.engine, asked, asked.as_of, now=now, known=context.known, calibration=context.calibration)
        market, pools = past.market, past.pools
    else:
        asked = asked.model_copy(update={"as_of": None})
    default = context.default_sensitivity
    plan = make_plan(asked, market, now=now, pools=pools, default_sensitivity=default)
    save_plan(context.engine, asked, plan, market, pools=pools, default_sensitivity=default, now=now)
    return plan.plan_id


def _request_to_save(sent: Sent) -> PlanRequest:
    try:
        save = SaveSpec(name=first(sent, "name"), owner=first(sent, "owner"), note=first(sent, "note"))
    except ValidationError:
        detail = "Name and owner take 1 to 200 characters on one line, the note up to 4,000. Go back and mend them."
        raise PageRefusal(422, "The plan was not saved", detail) from None
    try:
        return PlanRequest.model_validate_json(first(sent, "request")).model_copy(update={"save": save})
    except ValidationError:
        raise PageRefusal(422, "The plan was not saved", "Its request cannot be read. Plan it again and save it.") from None
