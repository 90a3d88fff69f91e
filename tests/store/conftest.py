"""What the storage tests share: a clock that stands until it is moved, offers, and an adapter that gives them."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import httpx
import pytest

from providers.base import Adapter
from providers.errors import ProviderError
from providers.offer import Batch, CapacityType, Offer, Tenancy
from service.flows.refresh import RefreshRun, refresh_feed
from service.store.lease import LeaseKeeper

NOBODY = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(404)), trust_env=False)


class Clock:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **duration: float) -> datetime:
        self.now += timedelta(**duration)
        return self.now


def make_offer(**changes: Any) -> Offer:
    """An on-demand 8-GPU machine in one region, with `changes`."""
    offer = Offer(
        feed="fake",
        provider="fake",
        tier="standard",
        instance_type="h100x8",
        gpu="H100-SXM5-80GB",
        gpu_count=8,
        capacity_type=CapacityType.ON_DEMAND,
        tenancy=Tenancy.PROVIDER_DATACENTER,
        region="us-1",
        country="US",
        usd_per_hour=Decimal("23.92"),
        gpu_memory_gb=80,
        attestations=frozenset({"soc2", "iso27001"}),
        interruption_fraction_per_month=(0.05, 0.1),
        valid_until=date(2027, 1, 1),
        notes=("first", "second"),
        observed_at=datetime(2026, 9, 1, 12, 0, tzinfo=UTC),
    )
    return replace(offer, **{name: Decimal(value) if name == "usd_per_hour" else value for name, value in changes.items()})


def catalogue(count: int = 10, *, usd_per_hour: str = "10", **changes: Any) -> tuple[Offer, ...]:
    """`count` shapes that differ by instance type."""
    return tuple(make_offer(instance_type=f"type-{at}", usd_per_hour=usd_per_hour, **changes) for at in range(count))


@dataclass
class FakeAdapter(Adapter):
    """Gives the batch (or raises the error) that it was told."""

    name: ClassVar[str] = "fake"
    batch: Batch = field(default_factory=lambda: Batch(offers=()))
    error: Exception | None = None
    missing: str | None = None
    calls: int = 0
    feed: str = "fake"

    def __post_init__(self) -> None:
        self.__dict__["name"] = self.feed

    def fetch(self, http: httpx.Client) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error

    def parse(self, payload: None, observed_at: datetime) -> Batch:
        offers = tuple(replace(offer, observed_at=observed_at, feed=self.feed) for offer in self.batch.offers)
        return replace(self.batch, offers=offers)

    def missing_credentials(self) -> str | None:
        return self.missing


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def offers_of():
    """`catalogue`, for tests that may not import it."""
    return catalogue


@pytest.fixture
def offer_of():
    return make_offer


@pytest.fixture
def fake():
    return FakeAdapter


@dataclass
class Refreshes:
    """Refreshes a feed under a lease that lasts, five minutes after the last time."""

    engine: Any
    clock: Clock
    adapter: FakeAdapter

    def __post_init__(self) -> None:
        keeper = LeaseKeeper(self.engine, "test", self.clock, ttl=timedelta(days=365))
        self.lease = keeper.acquire()

    def __call__(self, *offers: Offer, error: ProviderError | None = None, accept: bool = False, **batch: Any) -> Any:
        self.clock.pass_(minutes=5)
        self.adapter.error = error
        self.adapter.batch = Batch(offers=offers, **batch)
        run = RefreshRun(engine=self.engine, clock=self.clock, lease=self.lease, interval_seconds=300, accept=accept)
        return refresh_feed(self.adapter, NOBODY, run)


@pytest.fixture
def refresh(engine, clock) -> Refreshes:
    return Refreshes(engine, clock, FakeAdapter())
