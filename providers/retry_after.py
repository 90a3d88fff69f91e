"""Reading the Retry-After header: seconds or an HTTP date."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_LONGEST_SECONDS = 86_400


def retry_after(header: str | None, now: datetime) -> timedelta | None:
    """How long the provider asks to wait, at most a day; None when it is absent, unreadable or in the past."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), _LONGEST_SECONDS))
    try:
        wait = parsedate_to_datetime(text).astimezone(UTC) - now
    except (ValueError, OverflowError):
        return None
    return min(wait, timedelta(seconds=_LONGEST_SECONDS)) if wait > timedelta(0) else None
