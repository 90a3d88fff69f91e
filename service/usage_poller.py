"""Usage poller: a thread that measures every stored pool once an interval, in the one process that refreshes prices."""

import threading
from collections.abc import Callable, Iterable
from datetime import datetime

import httpx
import structlog
from sqlalchemy import Engine

from providers.errors import OptimizerError
from service.flows.usage import keep_use, measure
from service.usage_settings import PrometheusSettings

log = structlog.get_logger("gpuplan.usage")


class UsagePoller:
    """Measures; what cannot be measured keeps its last value, whose age every answer tells."""

    def __init__(
        self,
        *,
        engine: Engine,
        http: httpx.Client,
        settings: PrometheusSettings,
        pools: Callable[[], Iterable[str]],
        clock: Callable[[], datetime],
        leads: Callable[[], bool],
    ) -> None:
        self._engine, self._http, self._settings, self._clock = engine, http, settings, clock
        self._pools, self._leads = pools, leads
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def tick(self) -> int:
        """Measures every pool; how many gave a value. Another process does it where this one does not lead."""
        if not self._leads():
            return 0
        done = 0
        for pool in sorted(self._pools()):
            try:
                now = self._clock()
                done += keep_use(self._engine, measure(self._http, self._settings, pool, now=now), now=now)
            except OptimizerError as error:
                log.warning("not_measured", pool=pool, error=error.code)
        return done

    def start(self) -> None:
        """Begins the thread, where a server is set."""
        if self._settings.url is not None:
            self._thread = threading.Thread(target=self._run, name="usage", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def _run(self) -> None:
        while True:
            try:
                self.tick()
            except Exception as error:  # noqa: BLE001 - the thread lives on: the next tick tries again
                log.warning("usage_failed", error=type(error).__name__)
            if self._ended.wait(self._settings.interval_seconds):
                return
