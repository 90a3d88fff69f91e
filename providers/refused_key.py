"""Whether an answer means that the provider refuses our key, where the status alone does not tell."""

from collections.abc import Callable

import httpx

KEY_STATUSES = frozenset({401, 403})
MAX_REFUSAL_BYTES = 16_384

KeyFault = Callable[[int, bytes], bool]  # of a status and the beginning of a body


def is_refused_key(response: httpx.Response, is_key_fault: KeyFault | None) -> bool:
    """By status; and for any other 4xx by what the provider's own rule makes of its unread body."""
    status = response.status_code
    if is_key_fault is None or status in KEY_STATUSES or not 400 <= status < 500:
        return status in KEY_STATUSES
    try:
        return is_key_fault(status, next(response.iter_bytes(MAX_REFUSAL_BYTES), b""))
    except httpx.HTTPError:  # a body that breaks says nothing
        return False
