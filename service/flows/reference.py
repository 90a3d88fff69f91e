"""Reference prices: stored before the first request, so that a fresh installation answers without key or network."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import httpx
from sqlalchemy import Engine

from providers.base import Adapter
from service.flows.refresh import RefreshResult, RefreshRun, refresh_feed
from service.store import feeds
from service.store.engine import reading
from service.store.lease import LeaseKeeper

_LOADER: Final = "reference-loader"  # its own lease: the elected refresher may be another process, busy or dead
_TTL: Final = timedelta(seconds=30)
_WAIT_SECONDS: Final = 35.0


def ensure_reference_loaded(
    engine: Engine, adapter: Adapter, clock: Callable[[], datetime], *, holder: str, interval_seconds: int | None = None
) -> RefreshResult | None:
    """Stores the shipped prices, and anew after an update of the product; None when another process just did it."""
    keeper = LeaseKeeper(engine, holder, clock, name=_LOADER, ttl=_TTL)
    deadline = time.monotonic() + _WAIT_SECONDS
    while (lease := keeper.acquire()) is None:
        if is_loaded(engine, adapter.name) or time.monotonic() > deadline:
            return None
        time.sleep(0.1)
    run = RefreshRun(
        engine=engine, clock=clock, lease=lease, interval_seconds=interval_seconds or adapter.default_interval_seconds
    )
    with httpx.Client(transport=httpx.MockTransport(_nobody), trust_env=False) as http:
        result = refresh_feed(adapter, http, run)
    keeper.release(lease)
    return result


def is_loaded(engine: Engine, feed: str) -> bool:
    """True when the feed has stored prices."""
    with reading(engine) as connection:
        return feeds.packed_version(connection, feed) is not None


def _nobody(request: httpx.Request) -> httpx.Response:
    """The reference list is read from a file: whoever asks for a network here gets nothing."""
    return httpx.Response(503, request=request)
