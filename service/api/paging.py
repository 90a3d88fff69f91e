"""Paging and caching: cursors bound to one query and one snapshot, and entity tags."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request

from service.api.problems import Refusal, fault

Place = TypeVar("Place")
_MARK = 12  # bytes of the digest that a cursor carries


def digest_of(*parts: Any) -> str:
    """A name for exactly these values."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def cursor_for(place: bytes, binding: str) -> str:
    """An opaque cursor to a place in the listing that `binding` names."""
    return urlsafe_b64encode(_seal(place, binding) + place).decode().rstrip("=")


def place_of(cursor: str, binding: str, read: Callable[[bytes], Place]) -> Place:
    """The place a cursor points to, as `read` makes it of the bytes that were given to `cursor_for`.

    Raises:
        Refusal: 400, the cursor is not one of ours or was made for another query or snapshot.
    """
    detail = "The cursor was made for another filter, order or price snapshot: begin again without it"
    refusal = Refusal("invalid-cursor", detail, [fault("/cursor", "invalid_cursor", detail, place="query")])
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        seal, place = raw[:_MARK], raw[_MARK:]
        if seal != _seal(place, binding):
            raise refusal
        return read(place)
    except (ValueError, TypeError):
        raise refusal from None


def next_link(request: Request, cursor: str) -> str:
    """The Link header (RFC 8288) to the page that the cursor points to."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
    return f'<{request.url.path}?{urlencode([*kept, ("cursor", cursor)])}>; rel="next"'


def _seal(place: bytes, binding: str) -> bytes:
    """Ties a place to its query: no secret is needed, since a made-up cursor shows nothing that the query does not."""
    return sha256(place + binding.encode()).digest()[:_MARK]


def is_known_to_client(etag: str, if_none_match: str | None) -> bool:
    """True when the client's copy is this very version (weak comparison, as RFC 9110 wants it for GET)."""
    if if_none_match is None:
        return False
    if if_none_match.strip() == "*":
        return True
    return etag in {part.strip().removeprefix("W/") for part in if_none_match.split(",")}
