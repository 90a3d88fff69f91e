"""Routing: how an operation is declared (name, words, problems), and the route that knows its own parameters."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from typing import Any, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from service.api.faults import nearest, pointer_of, shown
from service.api.problems import KINDS, MEDIA_TYPE, Refusal, fault

BODY_PROBLEMS: Final = ("bad-request", "invalid-json", "request-timeout", "payload-too-large", "unsupported-media-type")
_ALWAYS: Final = (
    "unauthorized", "forbidden", "cross-site", "misdirected-request", "invalid-input", "too-many-requests", "internal",
    "timed-out",
)  # fmt: skip


class StrictRoute(APIRoute):
    """A parameter that the operation does not know, or one given twice, is refused: a misspelt filter is never ignored."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        route = self

        async def strict(request: Request) -> Response:
            if request.scope["query_string"]:
                _require_known(request, *_parameters(request.app, route.path, request.method))
            return await answer(request)

        return strict


def router_of(tag: str) -> APIRouter:
    """A router of one resource."""
    return APIRouter(route_class=StrictRoute, tags=[tag])


def operation(
    operation_id: str,
    summary: str,
    *,
    problems: Iterable[str] = (),
    body: type[BaseModel] | None = None,
    status: int = 200,
    also: Mapping[int | str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """What a route decorator is told besides its path: names, documented problems and body type.

    `also` tells of further answers than `status` that are no problem.
    """
    codes = [*problems, *(BODY_PROBLEMS if body else ()), *_ALWAYS]
    responses: dict[int | str, dict[str, Any]] = {**(also or {})}
    for http_status in sorted({KINDS[code].status for code in codes}):
        titles = [KINDS[code].title for code in dict.fromkeys(codes) if KINDS[code].status == http_status]
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses[http_status] = {"description": "; or: ".join(titles), "content": content}
    told: dict[str, Any] = {"operation_id": operation_id, "summary": summary, "responses": responses, "status_code": status}
    if body is not None:
        schema = {"$ref": f"#/components/schemas/{body.__name__}"}
        told["openapi_extra"] = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
    return told


@cache
def _parameters(app: Any, path: str, method: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the query parameters that the operation documents, and which of them may be repeated."""
    documented = app.openapi()["paths"].get(path, {}).get(method.lower(), {}).get("parameters", [])
    queries = [one for one in documented if one["in"] == "query"]
    return frozenset(one["name"] for one in queries), frozenset(one["name"] for one in queries if _is_list(one["schema"]))


def _is_list(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" or any(part.get("type") == "array" for part in schema.get("anyOf", ()))


def _require_known(request: Request, known: frozenset[str], repeatable: frozenset[str]) -> None:
    faults, seen = [], set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            near = nearest(name, sorted(known))
            message = f"unknown parameter {shown(name)}" + (f"; did you mean {near[0]}?" if near else "")
            faults.append(fault(pointer_of([name]), "unknown_field", message, allowed=near or sorted(known), place="query"))
        elif name in seen and name not in repeatable:
            faults.append(fault(pointer_of([name]), "duplicate_name", f"{name} is given twice", place="query"))
        seen.add(name)
    if faults:
        raise Refusal("invalid-input", str(faults[0]["message"]), faults)
