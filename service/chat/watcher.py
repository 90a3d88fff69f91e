"""Watcher: a thread that looks at all watches whenever prices have changed, and sends the alarms that are due."""

import threading
from typing import Final

import structlog

from service.chat.doors import ChatDoors
from service.flows.watches import check_watches, deliver_alarms

TICK_SECONDS: Final = 5.0
log = structlog.get_logger("gpuplan.watches")


class Watcher:
    """Runs beside the doors; any number of processes may, each crossing and each alarm is taken by one of them."""

    def __init__(self, doors: ChatDoors, *, tick_seconds: float = TICK_SECONDS) -> None:
        self._doors, self._tick_seconds = doors, tick_seconds
        self._seen: str | None = None  # the snapshot that was looked at last
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def tick(self) -> None:
        """One look, if prices changed since the last, and one round of sending."""
        world = self._doors.world
        market = world.market()
        if market is not None and market.offers and market.snapshot_id != self._seen:
            check_watches(world.engine, market, world.plan, now=world.clock())
            self._seen = market.snapshot_id
        deliver_alarms(world.engine, self._doors.alarms, world.clock)

    def start(self) -> None:
        """Begins the thread."""
        self._thread = threading.Thread(target=self._run, name="watches", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def _run(self) -> None:
        while not self._ended.wait(self._tick_seconds):
            try:
                self.tick()
            except Exception as error:  # noqa: BLE001 - the thread lives on: the next tick tries again
                log.warning("watches_failed", error=type(error).__name__)
