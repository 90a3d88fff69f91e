"""Refresher: runs each adapter once per interval in the one process that holds the lease."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
import structlog
from apscheduler import events
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import Engine

from providers.base import Adapter
from providers.errors import OptimizerError
from service.flows.jobs import run_next_job, take_over_jobs
from service.flows.medians import refresh_medians
from service.flows.rates import refresh_rates
from service.flows.refresh import RefreshResult, RefreshRun, feed_is_done, record_failure, refresh_feed
from service.metrics import Metrics
from service.store.errors import LeaseLost
from service.store.lease import DEFAULT_TTL, HeldLease, LeaseKeeper

LEAST_GRACE_SECONDS: Final = 60
FIRST_RETRY_SECONDS: Final = 30
OFFSET_FRACTION: Final = 0.1  # feeds of one interval start up to a tenth of it apart
JOB_POLL_SECONDS: Final = 1
HALTING: Final = {"provider-credentials", "provider-needs-key"}  # nothing helps until the settings change
_EVENTS: Final = {
    events.EVENT_JOB_MISSED: "missed",
    events.EVENT_JOB_MAX_INSTANCES: "skipped",
    events.EVENT_JOB_ERROR: "broken",
}
_log = structlog.get_logger("refresher")


@dataclass
class _Feed:
    """One adapter and what this process remembers of it."""

    adapter: Adapter
    interval_seconds: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    failures: int = 0
    not_before: datetime | None = None
    is_halted: bool = False


class UnknownFeed(OptimizerError):
    """No enabled adapter has this name."""

    code = "unknown-feed"


class Refresher:
    """Schedules the refreshes of all adapters that can run. Many processes may have one; the lease lets one work."""

    def __init__(
        self,
        *,
        engine: Engine,
        adapters: Sequence[Adapter],
        intervals: Mapping[str, int],
        http: httpx.Client,
        clock: Callable[[], datetime],
        holder: str,
        metrics: Metrics | None = None,
        on_change: Callable[[], object] = lambda: None,
        lease_ttl: timedelta = DEFAULT_TTL,
    ) -> None:
        self._engine, self._http, self._clock, self._metrics = engine, http, clock, metrics or Metrics()
        self._on_change = on_change
        self._feeds = {a.name: _Feed(a, intervals.get(a.name) or a.default_interval_seconds) for a in adapters}
        self._keeper = LeaseKeeper(engine, holder, clock, ttl=lease_ttl)
        self._held: HeldLease | None = None
        self._leading = threading.Lock()
        self._stopping = threading.Event()
        self.scheduler = self._scheduler()

    def start(self) -> None:
        """Runs every adapter now and then once per interval, in threads of its own."""
        self.scheduler.start()

    def stop(self) -> None:
        """Waits for what runs, then lets another process lead."""
        self._stopping.set()
        if self.scheduler.running:
            self.scheduler.shutdown(wait=True)
        if self._held is not None:
            self._keeper.release(self._held)
            self._held = None

    def lead(self) -> HeldLease | None:
        """Takes or renews the lease; None while another process leads. A new leader ends what the last one left."""
        with self._leading:
            held = None
            try:
                held = self._keeper.acquire()
                if held is not None and held != self._held:
                    take_over_jobs(self._engine, held, self._clock)
            finally:  # a database that does not answer: nobody knows that we lead, so we do not
                self._held = held
                self._metrics.leads(held is not None)
            return held

    def refresh_window(self, name: str) -> RefreshResult | None:
        """The scheduled refresh of the present interval; None when it is done, not due, halted or another process's."""
        feed, now = self._feeds[name], self._clock()
        window = int(now.timestamp() // feed.interval_seconds)
        if feed.is_halted or self._stopping.is_set() or (feed.not_before is not None and now < feed.not_before):
            return None
        if not feed.lock.acquire(blocking=False):  # a refresh asked for by hand is under way
            return None
        try:
            lease = self.lead()
            if lease is None or feed_is_done(self._engine, name, window):
                return None
            result = self._refresh(feed, lease, window=window)
            if result is not None:
                self._plan_retry(name, feed, result)
            return result
        finally:
            feed.lock.release()

    def refresh_by_hand(self, name: str, accept: bool = False) -> RefreshResult:
        """A refresh that somebody asked for, whatever the interval.

        Raises:
            UnknownFeed: no enabled adapter has this name.
            LeaseLost: another process leads.
        """
        feed = self._feeds.get(name)
        if feed is None:
            raise UnknownFeed("no enabled provider has this name")
        with feed.lock:
            lease = self.lead()
            result = None if lease is None else self._refresh(feed, lease, window=None, accept=accept)
        if result is None:
            raise LeaseLost("another process refreshes now")
        if result.outcome != "failed":
            feed.is_halted, feed.failures, feed.not_before = False, 0, None
        return result

    def work(self) -> int:
        """Runs the waiting jobs one after the other; how many."""
        done = 0
        while not self._stopping.is_set() and (lease := self._held) is not None:
            try:
                if run_next_job(self._engine, lease, self._clock, self.refresh_by_hand) is None:
                    break
            except LeaseLost:
                break
            done += 1
        return done

    def _refresh(self, feed: _Feed, lease: HeldLease, *, window: int | None, accept: bool = False) -> RefreshResult | None:
        """One refresh, measured and logged; None when the lease was lost on the way."""
        name, began = feed.adapter.name, time.monotonic()
        run = RefreshRun(
            engine=self._engine,
            clock=self._clock,
            lease=lease,
            interval_seconds=feed.interval_seconds,
            window=window,
            accept=accept,
        )
        try:
            result = self._guarded(feed.adapter, run)
        except LeaseLost:
            self._metrics.refreshed(name, "lost", time.monotonic() - began)
            _log.warning("lease_lost", feed=name)
            return None
        seconds = time.monotonic() - began
        self._metrics.refreshed(name, result.outcome, seconds)
        _log.info("refreshed", feed=name, outcome=result.outcome, error=result.error, offers=result.offers, seconds=seconds)
        self._on_change()
        return result

    def _guarded(self, adapter: Adapter, run: RefreshRun) -> RefreshResult:
        try:
            return refresh_feed(adapter, self._http, run)
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 - one broken adapter must not stop the others; it is logged and counted
            _log.exception("refresh_broke", feed=adapter.name)
            return record_failure(adapter.name, run, OptimizerError(f"{adapter.name}: {type(error).__name__}"))

    def _plan_retry(self, name: str, feed: _Feed, result: RefreshResult) -> None:
        """A failed refresh is tried again before the interval ends, ever later, never before the provider allows."""
        if result.outcome != "failed":
            feed.failures, feed.not_before = 0, None
            return
        feed.failures += 1
        feed.is_halted = result.error in HALTING
        wait = max(FIRST_RETRY_SECONDS * 2.0 ** min(feed.failures - 1, 20), result.retry_after_seconds or 0.0)
        feed.not_before = self._clock() + timedelta(seconds=result.retry_after_seconds or 0.0)
        if not feed.is_halted and wait < feed.interval_seconds and self.scheduler.running:
            at = datetime.now(UTC) + timedelta(seconds=wait)
            self.scheduler.add_job(
                self.refresh_window, "date", run_date=at, args=[name], id=f"{name}-retry", replace_existing=True
            )

    def _scheduler(self) -> BackgroundScheduler:
        feeds = {name: feed for name, feed in self._feeds.items() if feed.adapter.missing_credentials() is None}
        scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(len(feeds) + 4)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": LEAST_GRACE_SECONDS},
        )
        scheduler.add_listener(self._note, events.EVENT_JOB_MISSED | events.EVENT_JOB_MAX_INSTANCES | events.EVENT_JOB_ERROR)
        now = datetime.now(UTC)
        for name, feed in feeds.items():
            grace = max(LEAST_GRACE_SECONDS, feed.interval_seconds)
            every: dict[str, Any] = {"args": [name], "misfire_grace_time": grace, "replace_existing": True}
            scheduler.add_job(self.refresh_window, "date", run_date=now, id=f"{name}-first", **every)
            start = _window_start(now, feed.interval_seconds, name)
            scheduler.add_job(self.refresh_window, "interval", seconds=feed.interval_seconds, start_date=start, id=name, **every)
        beat = self._keeper.ttl.total_seconds() / 3
        scheduler.add_job(self.lead, "interval", seconds=beat, next_run_time=now, id="lease")
        scheduler.add_job(self.work, "interval", seconds=JOB_POLL_SECONDS, id="jobs")
        scheduler.add_job(self._medians, "interval", hours=1, next_run_time=now + timedelta(minutes=1), id="medians")
        scheduler.add_job(self._rates, "interval", hours=24, next_run_time=now + timedelta(minutes=2), id="rates")
        return scheduler

    def _rates(self) -> None:
        """The day's exchange rates; without a network the last known ones stay."""
        if self._held is not None and refresh_rates(self._engine, self._http) is None:
            _log.warning("rates_not_read")

    def _medians(self) -> None:
        if (lease := self._held) is not None and refresh_medians(self._engine, lease, self._clock()):
            self._on_change()

    def _note(self, event: events.JobExecutionEvent) -> None:
        kind = _EVENTS[event.code]
        self._metrics.scheduler_event(kind)
        if kind != "skipped":  # the job poll skips its turn while a job runs
            _log.warning("scheduler_event", job=event.job_id, scheduler_event=kind)


def _window_start(now: datetime, interval_seconds: int, name: str) -> datetime:
    """The next start of an interval plus a fixed part of it: one run in each interval, not all feeds in one second."""
    offset = interval_seconds * OFFSET_FRACTION * (sum(name.encode()) % 17) / 17
    windows = int(now.timestamp() // interval_seconds)
    return datetime.fromtimestamp((windows + 1) * interval_seconds + offset, UTC)
