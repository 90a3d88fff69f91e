"""Runner: one thread beside the doors that makes the reports that were asked for, one after the other."""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy import Engine

from service.flows.reports import Render, run_next_report
from service.reports.render import rendered

POLL_SECONDS: Final = 0.5
STOP_SECONDS: Final = 20.0
_log = structlog.get_logger("reports")


class ReportRunner:
    """Every process that serves has one; a report is claimed by one of them. One thread bounds memory and time."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime], *, holder: str, render: Render = rendered) -> None:
        self._engine, self._clock, self._holder, self._render = engine, clock, holder, render
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins with what waits, also from before a restart."""
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Lets the report under way end; what is not done then is taken up by the next process."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def work(self) -> int:
        """Makes all that waits; how many."""
        done = 0
        while not self._stopping.is_set() and self._next():
            done += 1
        return done

    def _next(self) -> bool:
        try:
            return run_next_report(self._engine, holder=self._holder, clock=self._clock, render=self._render) is not None
        except Exception:  # noqa: BLE001 - the thread lives on: job and report tell the failure, the log has its trace
            _log.exception("report_failed")
            return False

    def _run(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            self.work()
