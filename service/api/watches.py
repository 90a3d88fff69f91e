"""POST, GET and DELETE /watches: be told when a price comes down to a cap, or when a verdict flips."""

import secrets
from typing import Annotated

from fastapi import Path
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from providers.errors import InvalidInput
from service.api.body import read_json
from service.api.chat import caller_key
from service.api.context import Context, context_of
from service.api.routing import operation, router_of
from service.chat.outgoing import checked_address
from service.domain.request import PlanRequest
from service.domain.watch import PriceCondition, Watch, WatchList, WatchRequest
from service.flows.plan import check_request
from service.flows.watches import Target, forget_watch, keep_watch, watches

router = router_of("watches")
_WATCH = TypeAdapter(Watch)
_LIST = TypeAdapter(WatchList)
WatchId = Annotated[str, Path(pattern=r"^[0-9a-f]{8,32}$", description="the watch's id", examples=["3f0c5a9d2b7e4861"])]


@router.post(
    "/watches",
    response_model=Watch,
    **operation(
        "makeWatch",
        "Watch a price or a verdict",
        problems=["unknown-gpu", "unknown-model", "no-prices", "unavailable"],
        body=WatchRequest,
        status=201,
    ),
)
async def post_watch(request: Request) -> Response:
    """Checked after each refresh; each crossing is told once to the webhook, tried again for a day where it does not answer.

    What is met already when the watch is made is no crossing. `secret` is told here only: every call carries
    X-Gpuplan-Signature, `v1=` and the HMAC-SHA256 with it over `v1:`, X-Gpuplan-Timestamp, `:` and the body.
    """
    asked = await read_json(request, WatchRequest)
    made = await run_in_threadpool(_keep, context_of(request), asked, caller_key(request))
    return Response(_WATCH.dump_json(made), status_code=201, media_type="application/json", headers={"Cache-Control": "no-store"})


def _keep(context: Context, asked: WatchRequest, owner: str) -> Watch:
    doors, market = context.require_chat(), context.require_market()
    checked_address(asked.webhook_url, allow_private=doors.allow_private_webhooks, resolve=doors.alarms.resolve)
    try:
        return keep_watch(
            context.engine,
            _condition(context, asked),
            owner=owner,
            target=Target(kind="webhook", place=asked.webhook_url, secret=secrets.token_urlsafe(32)),
            market=market,
            plan=doors.world.plan,
            now=context.clock(),
        )
    except InvalidInput as error:
        part = "/price" if asked.price is not None else "/plan" if asked.plan is not None else ""
        pointer = error.pointer if error.pointer in ("", "/plan_id") else f"{part}{error.pointer}"
        raise type(error)(str(error), pointer=pointer, allowed=error.allowed) from error


def _condition(context: Context, asked: WatchRequest) -> PriceCondition | PlanRequest:
    if asked.price is not None:
        return asked.price
    if asked.plan is not None:
        check_request(asked.plan, context.clock())
        return _timeless(asked.plan)
    plan = context.require_chat().world.find(asked.plan_id or "")
    if plan is None:
        raise InvalidInput("no stored plan and no plan of the last 24 hours has this id", pointer="/plan_id")
    return _timeless(PlanRequest.model_validate(plan.request_echo, strict=False))


def _timeless(request: PlanRequest) -> PlanRequest:
    """The request on the prices of whatever day it is looked at."""
    return request.model_copy(update={"as_of": None, "evaluated_at": None, "save": None, "fields": None, "limit": 1})


@router.get("/watches", response_model=WatchList, **operation("listWatches", "List watches", problems=["unavailable"]))
def get_watches(request: Request) -> Response:
    """Every watch of the caller with its state and its last alarms: which were delivered, which wait, which were given up."""
    found = WatchList(watches=watches(context_of(request).engine, caller_key(request)))
    return Response(_LIST.dump_json(found), media_type="application/json", headers={"Cache-Control": "no-store"})


@router.delete(
    "/watches/{watch_id}", **operation("deleteWatch", "Forget a watch", problems=["not-found", "unavailable"], status=204)
)
def delete_watch(request: Request, watch_id: WatchId) -> Response:
    """Ends a watch and what it still had to tell."""
    forget_watch(context_of(request).engine, watch_id, caller_key(request))
    return Response(status_code=204)
