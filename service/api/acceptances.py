"""PUT, GET and DELETE /acceptances/{name}: what is on file for a provider's tier, registered by an administrator."""

from typing import Annotated

from fastapi import Header, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.context import Context, context_of
from service.api.problems import Refusal, fault
from service.api.routing import operation, router_of
from service.domain.acceptance import Acceptance
from service.flows.acceptances import drop_acceptance, put_acceptance, read_acceptance, version_of

router = router_of("acceptances")
AcceptanceName = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="the acceptance's name in constraints.accept",
        examples=["lambda-soc2-2026"],
    ),
]
IfMatch = Annotated[str | None, Header(max_length=200, description="ETag of the version to be replaced, or *")]
DropMatch = Annotated[str | None, Header(max_length=200, description="ETag of the version to end, or *", examples=["*"])]
_CHANGES = ("precondition-failed", "precondition-required", "unavailable")


@router.get(
    "/acceptances/{name}",
    response_model=Acceptance,
    **operation("getAcceptance", "Read a registered acceptance", problems=["not-found", "unavailable"]),
)
def get_acceptance(request: Request, name: AcceptanceName) -> Response:
    """The acceptance as it is registered; its ETag is needed to change it."""
    return _answer(read_acceptance(context_of(request).engine, name))


@router.put(
    "/acceptances/{name}",
    response_model=Acceptance,
    **operation(
        "putAcceptance",
        "Register an acceptance",
        problems=_CHANGES,
        body=Acceptance,
        also={201: {"description": "Registered under a new name", "model": Acceptance}},
    ),
)
async def put_acceptance_named(
    request: Request,
    name: AcceptanceName,
    if_match: IfMatch = None,
    if_none_match: Annotated[str | None, Header(max_length=200, description="*: only where there is none yet")] = None,
) -> Response:
    """Registers a document on file (201 when new). A plan that names it in `constraints.accept` may then use the tier,
    as far as the document goes, between its two days. Replacing one needs If-Match; every change is in the audit log.
    """
    asked = await read_json(request, Acceptance)
    if "name" in asked.model_fields_set and asked.name != name:
        detail = "the name in the body is not that of the path: leave it out"
        raise Refusal("invalid-input", detail, [fault("/name", "refused", detail)])
    acceptance = asked.model_copy(update={"name": name})
    is_new = await run_in_threadpool(_put, context_of(request), acceptance, _seen(if_match), if_none_match == "*")
    return _answer(acceptance, status=201 if is_new else 200)


@router.delete(
    "/acceptances/{name}",
    **operation("deleteAcceptance", "End an acceptance", problems=["not-found", *_CHANGES], status=204),
)
def delete_acceptance(request: Request, name: AcceptanceName, if_match: DropMatch = None) -> Response:
    """Ends the acceptance from now on; needs If-Match. Plans made with `as_of` still find it."""
    context = context_of(request)
    drop_acceptance(context.engine, name, seen=_seen(if_match), now=context.clock())
    context.poll()
    return Response(status_code=204)


def _put(context: Context, acceptance: Acceptance, seen: str | None, must_be_new: bool) -> bool:
    is_new = put_acceptance(context.engine, acceptance, seen=seen, must_be_new=must_be_new, now=context.clock())
    context.poll()  # the next plan of this process may name it
    return is_new


def _seen(if_match: str | None) -> str | None:
    """The version in an entity tag; a weak tag or a list matches nothing."""
    return None if if_match is None else if_match.strip().removeprefix('"').removesuffix('"')


def _answer(acceptance: Acceptance, *, status: int = 200) -> Response:
    headers = {"ETag": f'"{version_of(acceptance)}"', "Cache-Control": "private, no-cache"}
    if status == 201:
        headers["Location"] = f"/acceptances/{acceptance.name}"
    return Response(acceptance.model_dump_json(), status_code=status, media_type="application/json", headers=headers)
