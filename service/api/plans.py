"""Saved plans: list, read, solve again and compare, move through the states, and give out read-only links."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.context import context_of
from service.api.paging import cursor_for, digest_of, next_link, place_of
from service.api.routing import operation, router_of
from service.domain.saved import (
    PlanStateChange,
    RefreshedPlan,
    SavedPlan,
    SavedPlanList,
    Share,
    SharedPlan,
    ShareList,
    ShareRequest,
)
from service.domain.watch import PlanId
from service.flows.plan_refresh import Today, refresh_plan
from service.flows.plan_shares import make_share, revoke_share, shared_plan, shares
from service.flows.saved_plans import change_state, list_plans, read_plan

router = router_of("plans")
_PAGE, _ONE, _REFRESHED = TypeAdapter(SavedPlanList), TypeAdapter(SavedPlan), TypeAdapter(RefreshedPlan)
_SHARE, _SHARES, _SHARED = TypeAdapter(Share), TypeAdapter(ShareList), TypeAdapter(SharedPlan)
OnePlan = Annotated[PlanId, Path(description="`plan_id` of the answer", examples=["0e05709e57422fcc8e215f789954d87c"])]
ShareId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="the link's id", examples=["3f0c5a9d2b7e4861"])]
Token = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9_-]{43}$", description="the secret part of the link", examples=["t" * 43])
]  # fmt: skip
Word = Annotated[str | None, Query(min_length=1, max_length=200)]


@router.get(
    "/plans",
    response_model=SavedPlanList,
    **operation("listPlans", "List saved plans", problems=["invalid-cursor", "unavailable"]),
)
def get_plans(
    request: Request,
    owner: Word = None,
    name: Word = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=400, description="`next_cursor` of the page before")] = None,
) -> Response:
    """Saved plans without their answers, the newest first."""
    context = context_of(request)
    binding = digest_of("plans", owner, name, limit)
    after = None if cursor is None else place_of(cursor, binding, read_place)
    page, more = list_plans(context.engine, owner=owner, name=name, after=after, limit=limit, now=context.clock())
    found, headers = SavedPlanList(plans=page), {}
    if more is not None:
        found = replace(found, next_cursor=cursor_for(write_place(more), binding))
        headers["Link"] = next_link(request, found.next_cursor or "")
    return told(_PAGE.dump_json(found), headers=headers)


@router.get(
    "/plans/{plan_id}",
    response_model=SavedPlan,
    **operation("getPlan", "Read a saved plan", problems=["not-found", "unavailable"]),
)
def get_plan(request: Request, plan_id: OnePlan) -> Response:
    """The plan as it was answered, to the last digit, with its request, hashes, approval and what happened to it."""
    context = context_of(request)
    return told(_ONE.dump_json(read_plan(context.engine, plan_id, context.clock())))


@router.post(
    "/plans/{plan_id}/refresh",
    response_model=RefreshedPlan,
    **operation("refreshPlan", "Solve a saved plan again and compare", problems=["not-found", "no-prices", "unavailable"]),
)
def post_refresh(request: Request, plan_id: OnePlan) -> Response:
    """The saved answer, the same request at its own snapshot, and on the prices of now, with the difference.

    At its own snapshot the answer is equal to the last digit under the same `solver_version`; under another both are
    shown. A total that drifts further than an approval allows, up or down, or over its limit, reopens the plan: it is
    proposed again. What is saved stays as it is.
    """
    context = context_of(request)
    today = Today(market=context.require_market(), pools=context.pools())
    return told(_REFRESHED.dump_json(refresh_plan(context.engine, plan_id, today, context.clock())))


@router.put(
    "/plans/{plan_id}/state",
    response_model=SavedPlan,
    **operation(
        "putPlanState",
        "Propose, approve or reopen a plan",
        problems=["not-found", "conflict", "unavailable"],
        body=PlanStateChange,
    ),
)
async def put_state(request: Request, plan_id: OnePlan) -> Response:
    """Draft, proposed, approved, expired. An approval names who, the largest total, its end, and the drift it allows."""
    change = await read_json(request, PlanStateChange)
    context = context_of(request)
    await run_in_threadpool(change_state, context.engine, plan_id, change, context.clock())
    return told(_ONE.dump_json(await run_in_threadpool(read_plan, context.engine, plan_id, context.clock())))


@router.post(
    "/plans/{plan_id}/share",
    response_model=Share,
    **operation("makeShare", "Make a read-only link", problems=["not-found", "unavailable"], body=ShareRequest, status=201),
)
async def post_share(request: Request, plan_id: OnePlan) -> Response:
    """A link that shows the plan to whoever has it, until it ends or is revoked. Its address is told here only.

    Negotiated prices, and every figure that could tell one, are hidden.
    """
    asked = await read_json(request, ShareRequest)
    context = context_of(request)
    made = await run_in_threadpool(
        lambda: make_share(context.engine, plan_id, valid_hours=asked.valid_hours, now=context.clock())
    )
    place = f"/shared/{made.token}"
    return told(_SHARE.dump_json(replace(made.share, url=place)), status=201, headers={"Location": place})


@router.get(
    "/plans/{plan_id}/share",
    response_model=ShareList,
    **operation("listShares", "List the links of a plan", problems=["not-found", "unavailable"]),
)
def get_shares(request: Request, plan_id: OnePlan) -> Response:
    """Every link that was made, also those that are over; without the addresses."""
    return told(_SHARES.dump_json(ShareList(shares=shares(context_of(request).engine, plan_id))))


@router.delete(
    "/plans/{plan_id}/share/{share_id}",
    **operation("deleteShare", "Revoke a link", problems=["not-found", "unavailable"], status=204),
)
def delete_share(request: Request, plan_id: OnePlan, share_id: ShareId) -> Response:
    """Ends a link now."""
    context = context_of(request)
    revoke_share(context.engine, plan_id, share_id, context.clock())
    return Response(status_code=204)


@router.get(
    "/shared/{token}",
    response_model=SharedPlan,
    **operation("getSharedPlan", "Read a plan by its link", problems=["not-found", "unavailable"]),
)
def get_shared(request: Request, token: Token) -> Response:
    """What a read-only link shows. One that is unknown, over or revoked is 404."""
    context = context_of(request)
    return told(_SHARED.dump_json(shared_plan(context.engine, token, context.clock())))


def told(content: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON that is not kept by caches."""
    return Response(
        content, status_code=status, media_type="application/json", headers={"Cache-Control": "no-store", **(headers or {})}
    )


def write_place(place: tuple[datetime, str]) -> bytes:
    """A place in a listing by time and id, for a cursor."""
    return json.dumps([place[0].isoformat(), place[1]]).encode()


def read_place(packed: bytes) -> tuple[datetime, str]:
    """The place again."""
    at, name = json.loads(packed)
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None or not isinstance(name, str):
        raise ValueError("not a place of ours")
    return moment, name
