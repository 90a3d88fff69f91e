"""PUT, GET and DELETE /on-prem/{name}: own hardware, stored to be named in plans."""

from typing import Annotated

from fastapi import Header, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.context import Context, context_of
from service.api.problems import Refusal, fault
from service.api.routing import operation, router_of
from service.domain.request import OnPremPool
from service.flows.pools import drop_pool, put_pool, read_pool, version_of

router = router_of("on-prem")
PoolName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="the pool's name in plans", examples=["dc1"])
]
IfMatch = Annotated[str | None, Header(max_length=200, description="ETag of the version to be replaced, or *")]
DropMatch = Annotated[str | None, Header(max_length=200, description="ETag of the version to forget, or *", examples=["*"])]
_CHANGES = ("precondition-failed", "precondition-required", "unavailable")


@router.get(
    "/on-prem/{name}",
    response_model=OnPremPool,
    **operation("getPool", "Read a stored pool", problems=["not-found", "unavailable"]),
)
def get_pool(request: Request, name: PoolName) -> Response:
    """The pool as it is stored; its ETag is needed to change it."""
    return _pool_response(read_pool(context_of(request).engine, name))


@router.put(
    "/on-prem/{name}",
    response_model=OnPremPool,
    **operation(
        "putPool",
        "Store a pool",
        problems=["unknown-gpu", *_CHANGES],
        body=OnPremPool,
        also={201: {"description": "Stored under a new name", "model": OnPremPool}},
    ),
)
async def put_pool_named(
    request: Request,
    name: PoolName,
    if_match: IfMatch = None,
    if_none_match: Annotated[str | None, Header(max_length=200, description="*: only where there is none yet")] = None,
) -> Response:
    """Stores own hardware under a name (201 when new). Replacing one needs If-Match, so that no other change is lost.

    Plans made with `as_of` find the pool as it was.
    """
    asked = await read_json(request, OnPremPool)
    if "name" in asked.model_fields_set and asked.name != name:
        detail = "the name in the body is not that of the path: leave it out"
        raise Refusal("invalid-input", detail, [fault("/name", "refused", detail)])
    pool = asked.model_copy(update={"name": name})
    is_new = await run_in_threadpool(_put, context_of(request), pool, _seen(if_match), if_none_match == "*")
    return _pool_response(pool, status=201 if is_new else 200)


@router.delete("/on-prem/{name}", **operation("deletePool", "Forget a pool", problems=["not-found", *_CHANGES], status=204))
def delete_pool(request: Request, name: PoolName, if_match: DropMatch = None) -> Response:
    """Ends the pool from now on; needs If-Match. Plans made with `as_of` still find it."""
    context = context_of(request)
    drop_pool(context.engine, name, seen=_seen(if_match), now=context.clock())
    context.poll()
    return Response(status_code=204)


def _put(context: Context, pool: OnPremPool, seen: str | None, must_be_new: bool) -> bool:
    is_new = put_pool(context.engine, pool, seen=seen, must_be_new=must_be_new, now=context.clock())
    context.poll()  # the next plan of this process may name it
    return is_new


def _seen(if_match: str | None) -> str | None:
    """The version in an entity tag; a weak tag or a list matches nothing."""
    return None if if_match is None else if_match.strip().removeprefix('"').removesuffix('"')


def _pool_response(pool: OnPremPool, *, status: int = 200) -> Response:
    headers = {"ETag": f'"{version_of(pool)}"', "Cache-Control": "private, no-cache"}
    if status == 201:
        headers["Location"] = f"/on-prem/{pool.name}"
    return Response(pool.model_dump_json(), status_code=status, media_type="application/json", headers=headers)
