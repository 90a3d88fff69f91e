"""Problems: the one shape of every error answer (RFC 9457), and the status of each error class.

No other module maps an error to a status. A problem never repeats raw input: it says where and what is allowed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, Field
from starlette.responses import Response

from providers.errors import (
    InvalidInput,
    OptimizerError,
    ProviderError,
    UnknownGpu,
    UnknownModel,
)
from service.chat.platform import ChatOff, NotSigned, Unreadable
from service.flows.idempotency import KeyReused, KeyRunning
from service.flows.pools import PoolChanged, VersionNotTold
from service.flows.reports import ReportConflict, ReportFailed
from service.flows.saved_plans import PlanConflict
from service.flows.watches import UnknownWatch
from service.store.errors import UnknownAcceptance, UnknownJob, UnknownPlan, UnknownPool, UnknownReport, UnknownShare

MEDIA_TYPE = "application/problem+json"
MAX_FAULTS = 20  # a body of a megabyte can hold 100,000 unknown fields: the first are enough to mend it


@dataclass(frozen=True, slots=True)
class Kind:
    """One documented problem type: what `GET /problems/{code}` answers."""

    status: int
    title: str
    explained: str


KINDS: dict[str, Kind] = {
    "bad-request": Kind(400, "The request is not understood", "The request as a whole is malformed."),
    "invalid-json": Kind(
        400, "The body is not JSON", "Send one JSON document in UTF-8, without byte order mark, nested at most 64 levels deep."
    ),
    "invalid-cursor": Kind(
        400,
        "The cursor does not belong to this query",
        "A cursor holds for the filter, the sort and the price snapshot it was made for. Begin again without it.",
    ),
    "unauthorized": Kind(
        401,
        "A valid key is needed",
        "Send an API key as Authorization: Bearer KEY or as X-API-Key. This one is missing, unknown, ended or of another form.",
    ),
    "forbidden": Kind(403, "The key may not do this", "The operation needs a wider scope: the OpenAPI document says which."),
    "cross-site": Kind(
        403, "Sent by a page of another site", "A browser may change something here only from a page of this service."
    ),
    "request-timeout": Kind(408, "The body came too slowly", "Send the whole body at once."),
    "misdirected-request": Kind(
        421,
        "The service is not known by this name",
        "On loopback only its address and localhost are answered; GPUPLAN_ACCESS__ALLOWED_HOSTS adds names.",
    ),
    "not-signed": Kind(
        401,
        "The request is not signed",
        "A chat platform signs what it sends. The signature, token or timestamp is missing, wrong or over five minutes old.",
    ),
    "not-found": Kind(404, "Nothing is here", "No resource has this path or this name. GET /docs lists all operations."),
    "method-not-allowed": Kind(405, "The path has no such method", "The header Allow lists the methods of this path."),
    "conflict": Kind(409, "The resource is not in a state for this", "The detail says which state it is in."),
    "report-failed": Kind(
        409, "The report could not be made", "The detail says why. POST /reports/{report_id}/retry makes it again."
    ),
    "idempotency-key-running": Kind(
        409, "The first request with this Idempotency-Key still runs", "Send it again in a second: the answer is then the same."
    ),
    "precondition-failed": Kind(
        412, "The resource has changed", "If-Match does not name its present version. Read it again and repeat the change."
    ),
    "payload-too-large": Kind(413, "The body is too large", "A body may have 1 MiB."),
    "unsupported-media-type": Kind(
        415, "The body is not declared as JSON", "Send Content-Type: application/json, in UTF-8, not compressed."
    ),
    "invalid-input": Kind(
        422,
        "A value is refused",
        "Each of `errors` says where (a JSON pointer), what is wrong and, where it is a list, what is allowed.",
    ),
    "idempotency-key-reused": Kind(
        422, "The Idempotency-Key came with another body", "A key stands for one request. Take a new one for another request."
    ),
    "unknown-gpu": Kind(
        422, "No GPU of the table has this name", "`allowed` holds the nearest known names; GET /gpus lists all."
    ),
    "unknown-model": Kind(
        422,
        "No model of the table has this name",
        '`allowed` holds the nearest known names; GET /models lists all. {"params_b": 7} or a config.json also do.',
    ),
    "precondition-required": Kind(
        428, "The change needs If-Match", "Read the resource and send its ETag as If-Match, so that no other change is lost."
    ),
    "too-many-requests": Kind(429, "Too many requests", "Retry-After says how many seconds to wait."),
    "internal": Kind(
        500, "An error of the service", "It is logged under the id in `instance`. Nothing was changed by this request."
    ),
    "no-prices": Kind(
        503, "There is no price yet", "No provider has been read and no reference prices are loaded. GET /providers says why."
    ),
    "timed-out": Kind(503, "The operation took too long", "It was given up. Ask for less, or try again in a few seconds."),
    "unavailable": Kind(503, "A part of the service is not available", "The detail says which. Try again in a few seconds."),
    "provider-error": Kind(
        502, "A provider could not be read", "The last good prices stay in use. GET /providers says since when."
    ),
    "provider-needs-key": Kind(
        409, "The provider needs credentials", "Set its key (GPUPLAN_PROVIDERS__<NAME>__API_KEY) and start the service again."
    ),
    "provider-disabled": Kind(
        409, "The provider is off", "Set GPUPLAN_PROVIDERS__<NAME>__ENABLED=true and start the service again."
    ),
}

_BY_STATUS = {
    400: "bad-request",
    404: "not-found",
    405: "method-not-allowed",
    408: "request-timeout",
    409: "conflict",
    412: "precondition-failed",
    413: "payload-too-large",
    415: "unsupported-media-type",
    422: "invalid-input",
    428: "precondition-required",
    429: "too-many-requests",
    503: "unavailable",
}

# The first class that fits; the rest of OptimizerError is ours: 500.
_CODE_OF: tuple[tuple[type[OptimizerError], str], ...] = (
    (UnknownGpu, "unknown-gpu"),
    (UnknownModel, "unknown-model"),
    (InvalidInput, "invalid-input"),
    (ProviderError, "provider-error"),
    (UnknownJob, "not-found"),
    (UnknownPool, "not-found"),
    (UnknownAcceptance, "not-found"),
    (UnknownWatch, "not-found"),
    (UnknownPlan, "not-found"),
    (UnknownShare, "not-found"),
    (UnknownReport, "not-found"),
    (PlanConflict, "conflict"),
    (ReportConflict, "conflict"),
    (ReportFailed, "report-failed"),
    (KeyReused, "idempotency-key-reused"),
    (KeyRunning, "idempotency-key-running"),
    (ChatOff, "not-found"),
    (NotSigned, "not-signed"),
    (Unreadable, "bad-request"),
    (PoolChanged, "precondition-failed"),
    (VersionNotTold, "precondition-required"),
)


class Fault(BaseModel):
    """One thing that is wrong with the request."""

    pointer: str = Field(
        description="JSON pointer (RFC 6901) of the value; of a parameter, its name after a slash; empty: the whole"
    )
    code: str = Field(description="stable name of the fault: unknown_field, missing, wrong_type, out_of_range, not_finite, ...")
    message: str
    allowed: list[str] | None = Field(default=None, description="what would be accepted, or the nearest known names")
    place: Annotated[str, Field(alias="in", description="body, query, path or header")] = "body"


class Problem(BaseModel):
    """The answer to every request that fails (RFC 9457)."""

    type: str = Field(description="a documented page of this service", examples=["/problems/invalid-input"])
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    instance: str = Field(description="names this very request; the log has it under the same id")
    code: str = Field(description="the stable name of the problem")
    errors: list[Fault] = []


@dataclass(slots=True)
class Refusal(Exception):
    """Raised by this door when it refuses a request by itself."""

    code: str
    detail: str = ""
    faults: Sequence[Mapping[str, object]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


def fault(
    pointer: str, code: str, message: str, *, allowed: Sequence[str] | None = None, place: str = "body"
) -> dict[str, object]:
    """One entry of `errors`."""
    entry: dict[str, object] = {"pointer": pointer, "code": code, "message": message, "in": place}
    if allowed:
        entry["allowed"] = list(allowed)
    return entry


def problem_response(refusal: Refusal, request_id: str) -> Response:
    """The refusal as application/problem+json."""
    kind = KINDS[refusal.code]
    body = {
        "type": f"/problems/{refusal.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": refusal.detail or kind.explained,
        "instance": f"urn:gpuplan:request:{request_id}",
        "code": refusal.code,
        "errors": list(refusal.faults[:MAX_FAULTS]),
    }
    headers = {"Cache-Control": "no-store", **refusal.headers}
    return Response(json.dumps(body), status_code=kind.status, media_type=MEDIA_TYPE, headers=headers)


def refusal_of_status(status: int, headers: Mapping[str, str] | None = None) -> Refusal:
    """What the router or a library refused, in our words."""
    code = _BY_STATUS.get(status, "bad-request" if 400 <= status < 500 else "internal")
    return Refusal(code, headers=headers or {})


def refusal_of(error: OptimizerError, place: str = "body") -> Refusal:
    """The problem of one of our errors, found in this part of the request.

    Our messages never repeat a name that was sent: its pointer and the nearest names are given.
    """
    code = next((code for kind, code in _CODE_OF if isinstance(error, kind)), "internal")
    if isinstance(error, UnknownGpu | UnknownModel):
        near = f"; nearest: {', '.join(error.allowed[:5])}" if error.allowed else ""
        detail = f"{error}{near}"
        return Refusal(code, detail, [fault(error.pointer, code.replace("-", "_"), detail, allowed=error.allowed, place=place)])
    if isinstance(error, InvalidInput):
        return Refusal(code, str(error), [fault(error.pointer, "refused", str(error), allowed=error.allowed, place=place)])
    if isinstance(error, PlanConflict | ReportConflict | ReportFailed):
        return Refusal(code, str(error))
    if isinstance(error, KeyRunning):
        return Refusal(code, headers={"Retry-After": "1"})
    return Refusal(code)
