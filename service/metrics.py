"""Metrics: what the service counts, in the text form that Prometheus reads; one registry per application."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from service.domain.plan import Plan
from service.solver.market import Market

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REFRESH_BUCKETS: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_PLAN_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Counts answers as they leave; the state of the prices is read when it is asked for."""

    def __init__(self) -> None:
        self.registry = made = CollectorRegistry()
        self._requests = Counter("gpuplan_http_requests", "Answers sent", ["method", "route", "status"], registry=made)
        self._seconds = Histogram(
            "gpuplan_http_request_seconds", "Time to answer", ["method", "route"], buckets=_BUCKETS, registry=made
        )
        self._plan_seconds = Histogram("gpuplan_plan_seconds", "Time to solve a plan", buckets=_PLAN_BUCKETS, registry=made)
        self._options = Counter("gpuplan_plan_options", "Options that plans found", registry=made)
        self._infeasible = Counter("gpuplan_plans_without_options", "Plans in which nothing fits", registry=made)
        self._exclusions = Counter("gpuplan_plan_exclusions", "Offers that plans left out", ["reason"], registry=made)

        self._offers = Gauge("gpuplan_offers", "Offers in memory", ["feed"], registry=made)
        self._age = Gauge("gpuplan_feed_age_seconds", "Since the feed was last read", ["feed"], registry=made)
        self._stale = Gauge("gpuplan_feed_stale", "1: three refreshes were missed", ["feed"], registry=made)
        self._rejected = Gauge("gpuplan_feed_rejected_rows", "Rows that the last reading refused", ["feed"], registry=made)
        self._failing = Gauge("gpuplan_feed_failing", "1: the last refresh failed or was refused", ["feed"], registry=made)
        self._market_at = Gauge("gpuplan_market_changed_timestamp_seconds", "When a price changed last", registry=made)

        self._refreshes = Counter("gpuplan_refreshes", "Refreshes ended", ["feed", "outcome"], registry=made)
        self._refresh_seconds = Histogram(
            "gpuplan_refresh_seconds", "Time of a refresh", ["feed"], buckets=_REFRESH_BUCKETS, registry=made
        )
        self._scheduler = Counter("gpuplan_scheduler_events", "Runs missed, skipped or broken", ["event"], registry=made)
        self._leads = Gauge("gpuplan_refresher_leads", "1: this process refreshes", registry=made)
        self._lease_held = Gauge("gpuplan_lease_held", "1: some process refreshes", registry=made)
        self._database_up = Gauge("gpuplan_database_up", "1: the database answers", registry=made)
        self._jobs = Gauge("gpuplan_jobs", "Jobs that wait or run", ["status"], registry=made)

    def refreshed(self, feed: str, outcome: str, seconds: float) -> None:
        """One refresh ended: complete, partial, refused, failed or lost (the lease)."""
        self._refreshes.labels(feed, outcome).inc()
        self._refresh_seconds.labels(feed).observe(seconds)

    def planned(self, plan: Plan, began: float) -> None:
        """One plan, begun at this reading of `time.perf_counter`."""
        self._plan_seconds.observe(time.perf_counter() - began)
        self._options.inc(plan.options_found)
        if plan.options_found == 0:
            self._infeasible.inc()
        for one in plan.exclusions:
            self._exclusions.labels(one.reason).inc(one.count)

    def scheduler_event(self, event: str) -> None:
        """The scheduler missed or skipped a run, or a run broke."""
        self._scheduler.labels(event).inc()

    def leads(self, is_leader: bool) -> None:
        """Whether this process holds the lease."""
        self._leads.set(is_leader)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answer. `route` is the path's template, so that the number of series stays bounded."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def database(self, waiting: Mapping[str, int] | None, *, is_led: bool = False) -> None:
        """Open jobs by their status and whether the lease is held; None: the database does not answer."""
        self._database_up.set(waiting is not None)
        self._lease_held.set(is_led)
        for status in ("queued", "running"):
            self._jobs.labels(status).set((waiting or {}).get(status, 0))

    def render(self, market: Market | None, now: datetime) -> bytes:
        """All series as text."""
        for gauge in (self._offers, self._age, self._stale, self._rejected, self._failing):
            gauge.clear()
        if market is not None and market.as_of is not None:
            self._market_at.set(market.as_of.timestamp())
        for status in market.statuses if market is not None else ():
            if not status.enabled:
                continue
            self._offers.labels(status.name).set(status.offers)
            self._stale.labels(status.name).set(status.is_stale(now))
            self._rejected.labels(status.name).set(status.rejected)
            self._failing.labels(status.name).set(status.state in ("failing", "degraded"))
            age = status.age_hours(now)
            if age is not None:
                self._age.labels(status.name).set(age * 3600)
        return generate_latest(self.registry)
