"""POST /plan with `as_of` on both databases: prices and pools as they were give the answer that was given then."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx
import pytest
from starlette.testclient import TestClient

from providers.base import Adapter
from providers.offer import Batch
from service.api.app import create_app
from service.api.context import Context
from service.flows.refresh import RefreshRun, refresh_feed
from service.flows.snapshot import SnapshotHolder
from service.metrics import Metrics
from service.store.lease import LeaseKeeper

WORK = {"workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8}}
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Market(Adapter):
    """Sells what it is given."""

    offers: tuple
    name = "lambda"

    def fetch(self, http):
        return {}

    def parse(self, payload, observed_at):
        return Batch(offers=tuple(replace(offer, observed_at=observed_at) for offer in self.offers))


class Service:
    """The app over a database, with a clock that a test moves."""

    def __init__(self, engine):
        self.now = START
        self.engine = engine
        self.lease = LeaseKeeper(engine, "test", lambda: self.now, ttl=timedelta(days=30)).acquire()
        self.snapshots = SnapshotHolder(engine, lambda: self.now)
        context = Context(
            clock=lambda: self.now,
            market=self.snapshots.market,
            engine=engine,
            metrics=Metrics(),
            statuses=self.snapshots.statuses,
            pools=self.snapshots.pools,
            poll=self.snapshots.poll,
        )
        self.client = TestClient(create_app(context))

    def refresh(self, offers):
        run = RefreshRun(engine=self.engine, clock=lambda: self.now, lease=self.lease, interval_seconds=3600)
        with httpx.Client() as http:
            assert refresh_feed(Market(tuple(offers)), http, run).outcome == "complete"
        self.snapshots.poll()

    def plan(self, **changed):
        answer = self.client.post("/plan", json={**WORK, **changed})
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def service(engine):
    return Service(engine)


def test_the_plan_of_then_can_be_had_again(service, offers):
    listed = [offer for offer in offers if offer.feed == "lambda"]
    service.refresh(listed)
    pool = {"gpu": "H100 SXM", "capex_usd_per_node": 275000}
    assert service.client.put("/on-prem/dc1", json=pool).status_code == 201
    then = service.plan(on_prem=["dc1"])
    assert then["options"][0]["usd_per_hour"] == 1.79

    service.now += timedelta(days=2)
    service.refresh([replace(offer, usd_per_hour=offer.usd_per_hour * Decimal("0.9")) for offer in listed])
    etag = service.client.get("/on-prem/dc1").headers["etag"]
    service.client.put("/on-prem/dc1", json={**pool, "capex_usd_per_node": 100000}, headers={"If-Match": etag})
    later = service.plan(on_prem=["dc1"])
    assert later["options"][0]["usd_per_hour"] == pytest.approx(1.611)

    again = service.plan(on_prem=["dc1"], as_of=then["prices"]["as_of"], evaluated_at=then["evaluated_at"])
    assert again["options"] == then["options"]
    assert again["prices"]["snapshot_id"] == then["prices"]["snapshot_id"]
    assert again["decision"] == then["decision"]


def test_a_time_before_the_first_price_is_refused(service, offers):
    service.refresh(offers[:1])
    answer = service.client.post("/plan", json={**WORK, "as_of": "2026-02-01T00:00:00Z"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/as_of"
