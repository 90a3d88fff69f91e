"""Gate: the outermost layer. Every answer gets a request id and security headers; every error leaves as a problem."""

import re
import time
import uuid
from collections.abc import Callable
from typing import Final

import structlog
from sqlalchemy.exc import DatabaseError, InterfaceError, OperationalError, TimeoutError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from providers.errors import OptimizerError
from service.api.problems import Refusal, problem_response, refusal_of

_OWN_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_NOTHING_LOADS: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

# A constraint or a statement that it refuses is our fault; these say that there is no database to ask.
_DATABASE_GONE: Final = (DatabaseError, OperationalError, InterfaceError, TimeoutError)

log = structlog.get_logger("gpuplan.api")


class Gate:
    """ASGI middleware. `observe` is told method, route, status and seconds of every answer."""

    def __init__(self, app: ASGIApp, observe: Callable[[str, str, int, float], None]) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        is_head = scope["method"] == "HEAD"  # GET without its body, on every path
        scope = {**scope, "request_id": request_id, "method": "GET" if is_head else scope["method"]}
        began, status = time.perf_counter(), 0

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _mark(MutableHeaders(raw=message["headers"]), request_id)
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        try:
            await self.app(scope, receive, send_marked)
        except Exception as error:  # the last handler: whatever it is, the client gets a problem and the log the trace
            refusal = refused_by(error, "query" if scope["method"] in ("GET", "DELETE") else "body")
            told = {"request_id": request_id, "method": scope["method"], "route": _route(scope)}
            if refusal.code == "internal":
                log.exception("request failed", **told)
            elif refusal.code == "unavailable":  # an outage would fill the disk with one and the same trace
                log.warning("request failed", error=type(error).__name__, **told)
            if status:
                raise  # the answer has begun: only a broken connection can tell
            await problem_response(refusal, request_id)(scope, receive, send_marked)
        finally:
            seconds = time.perf_counter() - began
            self.observe(scope["method"], _route(scope), status, seconds)
            log.info(
                "request",
                request_id=request_id,
                method=scope["method"],
                route=_route(scope),
                status=status,
                milliseconds=round(seconds * 1e3, 2),
            )


def refused_by(error: Exception, place: str) -> Refusal:
    """The refusal that an exception stands for; an unknown one is `internal`."""
    if isinstance(error, Refusal):
        return error
    if type(error) in _DATABASE_GONE:
        return Refusal("unavailable", "The database does not answer", headers={"Retry-After": "5"})
    return refusal_of(error, place) if isinstance(error, OptimizerError) else Refusal("internal")


def _request_id(scope: Scope) -> str:
    """The sender's own X-Request-Id where it is a plain word, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _OWN_ID.fullmatch(value):
            return str(value.decode())
    return uuid.uuid4().hex


def _route(scope: Scope) -> str:
    """The path's template, never the path: it holds names that the sender chose."""
    route = scope.get("route")
    return getattr(route, "path", "unknown")


def _mark(headers: MutableHeaders, request_id: str) -> None:
    headers["X-Request-Id"] = request_id
    for name, value in _HEADERS.items():
        headers[name] = value
    headers.setdefault("Content-Security-Policy", _NOTHING_LOADS)
