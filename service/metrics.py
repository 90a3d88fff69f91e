"""Metrics: what the service counts, in the text form that Prometheus reads; one registry per application."""

from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from service.solver.market import Market

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REFRESH_BUCKETS: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)


class Metrics:
    """Counts answers as they leave; the state of the prices is read when it is asked for."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("gpuplan_http_requests", "Answers sent", ["method", "route", "status"], registry=self.registry)
        self._seconds = Histogram(
            "gpuplan_http_request_seconds", "Time to answer", ["method", "route"], buckets=_BUCKETS, registry=self.registry
        )
        self._offers = Gauge("gpuplan_offers", "Offers in memory", ["feed"], registry=self.registry)
        self._age = Gauge("gpuplan_feed_age_seconds", "Since the feed was last read", ["feed"], registry=self.registry)
        self._stale = Gauge("gpuplan_feed_stale", "1: three refreshes were missed", ["feed"], registry=self.registry)

        self._refreshes = Counter("gpuplan_refreshes", "Refreshes ended", ["feed", "outcome"], registry=self.registry)
        self._refresh_seconds = Histogram(
            "gpuplan_refresh_seconds", "Time of a refresh", ["feed"], buckets=_REFRESH_BUCKETS, registry=self.registry
        )
        self._scheduler = Counter("gpuplan_scheduler_events", "Runs missed, skipped or broken", ["event"], registry=self.registry)
        self._leads = Gauge("gpuplan_refresher_leads", "1: this process refreshes", registry=self.registry)

    def refreshed(self, feed: str, outcome: str, seconds: float) -> None:
        """One refresh ended: complete, partial, refused, failed or lost (the lease)."""
        self._refreshes.labels(feed, outcome).inc()
        self._refresh_seconds.labels(feed).observe(seconds)

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

    def render(self, market: Market | None, now: datetime) -> bytes:
        """All series as text."""
        for gauge in (self._offers, self._age, self._stale):
            gauge.clear()
        for status in market.statuses if market is not None else ():
            if not status.enabled:
                continue
            self._offers.labels(status.name).set(status.offers)
            self._stale.labels(status.name).set(status.is_stale(now))
            age = status.age_hours(now)
            if age is not None:
                self._age.labels(status.name).set(age * 3600)
        return generate_latest(self.registry)
