"""Sent: the fields of a form that was posted, and whether it was posted from our own page."""

import secrets
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from service.web.refusals import PageRefusal
from service.web.render import PROOF_COOKIE, PROOF_FIELD

MAX_FORM_BYTES: Final = 256 * 1024
MAX_FIELDS: Final = 200
_NOT_OURS: Final = "The form did not come from this page, or it is too old. Open the page again and send it anew."

Sent = dict[str, list[str]]


async def read_form(request: Request, *, writes: bool) -> Sent:
    """The fields in order. A form that writes must also bring back the proof of its page.

    Raises:
        PageRefusal: 403 (another site sent it), 413, 415, 400.
    """
    _require_own_page(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise PageRefusal(415, "This is not a form", "A page of this service sends its fields form-encoded.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_FORM_BYTES:
            raise PageRefusal(413, "The form is too large", f"A form may have {MAX_FORM_BYTES // 1024} KiB.")
        parts.append(part)
    fields = _decoded(b"".join(parts))
    if writes and not _has_proof(request, fields):
        raise PageRefusal(403, "The form was not accepted", _NOT_OURS)
    return fields


def first(fields: Sent, name: str) -> str:
    """The first value of a field without blanks around it; empty when it was not sent."""
    return (fields.get(name) or [""])[0].strip()


def _decoded(body: bytes) -> Sent:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:  # not ASCII, not UTF-8 underneath, or too many fields
        raise PageRefusal(400, "The form cannot be read", "Its fields are not form-encoded UTF-8.") from None
    fields: Sent = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _require_own_page(request: Request) -> None:
    """Browsers say where a form comes from. Where they say nothing, the proof alone decides."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_own = site in ("same-origin", "none")
    else:  # "null" is what a page with our referrer policy sends of itself
        is_own = origin in (None, "null") or urlsplit(str(origin)).netloc == request.headers.get("host")
    if not is_own:
        raise PageRefusal(403, "The form was not accepted", _NOT_OURS)


def _has_proof(request: Request, fields: Sent) -> bool:
    kept, sent = request.cookies.get(PROOF_COOKIE, ""), first(fields, PROOF_FIELD)
    return bool(kept) and secrets.compare_digest(kept.encode(), sent.encode())
