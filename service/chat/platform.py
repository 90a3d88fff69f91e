"""Platform: what the adapters share: a verified request in, an answer at once, the work in a bounded pool behind it."""

import hmac
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from providers.errors import OptimizerError

WINDOW_SECONDS: Final = 300
KEPT: Final = timedelta(minutes=35)  # a platform's address for answers is good for 30
_MOST_SEEN: Final = 10_000
log = structlog.get_logger("gpuplan.chat")


class NotSigned(OptimizerError):
    """The request does not prove who sent it: a signature, token or timestamp is missing, wrong or too old."""

    code = "not-signed"


class ChatOff(OptimizerError):
    """This platform's secret is not set."""

    code = "chat-off"


class Unreadable(OptimizerError):
    """Signed, and still not what the platform sends; the message says what."""

    code = "chat-unreadable"


@dataclass(frozen=True, slots=True)
class Reply:
    """The immediate answer of a hook: always 200."""

    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowList:
    """Who may ask: workspaces (teams, tenants, guilds) and channels; an empty list allows all."""

    workspaces: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()

    def allows(self, workspace: str, channel: str) -> bool:
        """Whether a question from there is answered."""
        in_workspace = not self.workspaces or workspace in self.workspaces
        return in_workspace and (not self.channels or channel in self.channels)


class Once:
    """Remembers what was begun, so that a delivery that comes twice begins nothing twice."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._seen: OrderedDict[str, datetime] = OrderedDict()
        self._lock = threading.Lock()

    def is_first(self, key: str) -> bool:
        """True the first time; forgotten after the time in which a platform repeats itself."""
        now = self._clock()
        with self._lock:
            while self._seen and (now - next(iter(self._seen.values())) > KEPT or len(self._seen) >= _MOST_SEEN):
                self._seen.popitem(last=False)
            if key in self._seen:
                return False
            self._seen[key] = now
            return True


class Background:
    """A pool of a few threads with a bounded queue: a flood is refused in words, not queued for ever."""

    def __init__(self, *, threads: int = 4, queued: int = 32) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="chat")
        self._room = threading.BoundedSemaphore(threads + queued)

    def run(self, work: Callable[[], Any]) -> Future[Any] | None:
        """Begins the work; None when there is no room. An error is logged by its class and ends only this work."""
        if not self._room.acquire(blocking=False):
            return None
        future = self._pool.submit(_logged, work)
        future.add_done_callback(lambda _: self._room.release())
        return future

    def stop(self) -> None:
        """Drops what waits; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _logged(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        log.warning("chat_work_failed", error=type(error).__name__)
        raise


def header(headers: Mapping[str, str], name: str) -> str:
    """A header's value by its name in any case; "" when it is absent."""
    return next((value for key, value in headers.items() if key.lower() == name.lower()), "")


def require_recent(timestamp: str, now: datetime) -> None:
    """Raises NotSigned: the timestamp is no whole number of seconds, or over five minutes away."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise NotSigned("the timestamp is missing or no number")
    if abs(now.timestamp() - int(timestamp)) > WINDOW_SECONDS:
        raise NotSigned("the timestamp is more than five minutes away")


def require_same(given: str, expected: str) -> None:
    """Raises NotSigned unless both are the same; takes as long whatever differs."""
    if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
        raise NotSigned("the signature is wrong")
