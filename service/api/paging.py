"""Paging and caching: cursors bound to one query and one snapshot, and entity tags."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

from service.api.problems import Refusal, fault

_MARK = 12  # bytes of the digest that a cursor carries


def digest_of(*parts: Any) -> str:
    """A name for exactly these values."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def cursor_for(start: int, binding: str) -> str:
    """An opaque cursor to row `start` of the query and snapshot that `binding` names."""
    place = start.to_bytes(5, "big")
    return urlsafe_b64encode(place + _seal(place, binding)).decode().rstrip("=")


def start_of(cursor: str | None, binding: str) -> int:
    """The row a cursor points to; 0 without one.

    Raises:
        Refusal: 400, the cursor is not one of ours or was made for another query or snapshot.
    """
    if cursor is None:
        return 0
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raw = b""
    place, seal = raw[:5], raw[5:]
    if len(place) != 5 or seal != _seal(place, binding):
        detail = "The cursor was made for another filter, order or price snapshot: begin again without it"
        raise Refusal("invalid-cursor", detail, [fault("/cursor", "invalid_cursor", detail, place="query")])
    return int.from_bytes(place, "big")


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
