"""An application on a small market in memory, with a clock that stands still."""

import logging
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from starlette.testclient import TestClient

from providers.offer import Arch, Availability, CapacityType, Interconnect, Offer, PriceBasis, Tenancy
from service.api.app import create_app
from service.api.context import Context
from service.chat.doors import build_doors
from service.chat_settings import ChatSettings
from service.flows.chat import ChatWorld, LastPlans
from service.logs import configure_logs
from service.metrics import Metrics
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.store.engine import make_engine
from service.store.schema import prepare_database

NOW = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
SEEN = datetime(2026, 3, 2, 11, 58, tzinfo=UTC)

_LAMBDA = Offer(
    feed="lambda",
    provider="lambda",
    tier="on-demand",
    instance_type="gpu_1x_h100_sxm5",
    gpu="H100-SXM",
    gpu_count=1,
    gpu_memory_gb=80,
    form_factor="SXM5",
    capacity_type=CapacityType.ON_DEMAND,
    tenancy=Tenancy.PROVIDER_DATACENTER,
    region="us-east-1",
    country="US",
    usd_per_hour=Decimal("3.29"),
    arch=Arch.X86_64,
    availability=Availability.AVAILABLE,
    vcpus=26,
    memory_gib=225,
    observed_at=SEEN,
    source="GET /instance-types",
)
_VAST = replace(
    _LAMBDA,
    feed="vast",
    provider="vast",
    tier="verified",
    instance_type=None,
    gpu="RTX 4090",
    gpu_memory_gb=24,
    form_factor="PCIe",
    tenancy=Tenancy.COMMUNITY_HOST,
    region="Sweden",
    country="SE",
    machine_id="m1",
    usd_per_hour=Decimal("0.40"),
    source="POST /bundles",
)
OFFERS = (
    _LAMBDA,
    replace(
        _LAMBDA, instance_type="gpu_8x_h100_sxm5", gpu_count=8, usd_per_hour=Decimal("23.92"), interconnect=Interconnect.NVLINK,
        vcpus=208, memory_gib=1800,
    ),
    replace(
        _LAMBDA, instance_type="gpu_1x_a100_sxm4", gpu="A100-SXM4-80GB", form_factor="SXM4", usd_per_hour=Decimal("1.79"),
        region="europe-central-1", country="DE", availability=Availability.UNAVAILABLE,
    ),
    _VAST,
    replace(
        _VAST, machine_id="m2", gpu_count=4, usd_per_hour=Decimal("0.80"), capacity_type=CapacityType.SPOT,
        price_basis=PriceBasis.BID_FLOOR,
    ),
    replace(_VAST, machine_id="m3", gpu="L4", gpu_count=0.125, gpu_memory_gb=3, usd_per_hour=Decimal("0.2024")),
    replace(
        _LAMBDA, feed="reference", provider="aws", tier="on-demand", instance_type="p5.48xlarge", gpu_count=8,
        usd_per_hour=Decimal("55.04"), tenancy=Tenancy.HYPERSCALER, availability=Availability.UNKNOWN, region="eu-central-1",
        country="DE", is_dated=True, as_of=date(2026, 2, 1), source="public list price", interconnect=Interconnect.NVLINK,
    ),
)  # fmt: skip


def market_of(offers, *, snapshot_id="s1", seen=SEEN):
    feeds = sorted({offer.feed for offer in offers})
    return Market.build(
        {feed: columns_of([offer for offer in offers if offer.feed == feed]) for feed in feeds},
        [
            FeedStatus(
                name=feed,
                offers=sum(one.feed == feed for one in offers),
                last_success_at=seen,
                last_attempt_at=seen,
                interval_seconds=300,
            )
            for feed in feeds
        ],
        snapshot_id=snapshot_id,
        as_of=SEEN,
    )


class Holder:
    """The newest market, as the doors read it; a test may swap it."""

    def __init__(self, market):
        self.market = market


def doors_over(holder, engine, settings=ChatSettings(), http=None, resolve=lambda host, port: ["93.184.216.34"], **world):  # noqa: B008 - frozen
    """Chat over the holder's market and this database; a test names the platforms that are on."""
    made = ChatWorld(
        clock=lambda: NOW,
        market=lambda: holder.market,
        statuses=lambda: holder.market.statuses if holder.market else (),
        engine=engine,
        last_plans=LastPlans(lambda: NOW),
        **world,
    )
    return build_doors(made, settings, http=http, resolve=resolve)


def context_over(holder, engine, **chat):
    """What the application reads: the holder's market and this database."""
    return Context(
        chat=doors_over(holder, engine, **chat),
        clock=lambda: NOW,
        market=lambda: holder.market,
        statuses=lambda: holder.market.statuses if holder.market else (),
        engine=engine,
        metrics=Metrics(),
    )


@pytest.fixture(scope="session")
def market():
    return market_of(OFFERS)


@pytest.fixture(scope="session")
def shared_holder(market):
    return Holder(market)


@pytest.fixture
def holder(shared_holder, market):
    """What the application reads; as at first in every test."""
    shared_holder.market = market
    return shared_holder


@pytest.fixture(scope="session")
def api_engine(tmp_path_factory):
    made = make_engine(f"sqlite:///{tmp_path_factory.mktemp('api')}/prices.db")
    prepare_database(made)
    yield made
    made.dispose()


@pytest.fixture(scope="session")
def app(shared_holder, api_engine):
    return create_app(context_over(shared_holder, api_engine))


@pytest.fixture
def client(app, holder):
    return TestClient(app)


@pytest.fixture
def market_with():
    """A market with one more Lambda H100 that differs in what is given."""
    return lambda change: market_of([*OFFERS, replace(OFFERS[0], **change)])


@pytest.fixture
def stored_client(holder, engine):
    """The application over each kind of database in turn."""
    return TestClient(create_app(context_over(holder, engine)))


@pytest.fixture
def offers():
    """What the small market sells."""
    return OFFERS


@pytest.fixture
def market_seen():
    """The small market, last read some hours ago."""
    return lambda hours_ago: market_of(OFFERS, seen=NOW - timedelta(hours=hours_ago))


@pytest.fixture
def broken_client(holder, tmp_path):
    """The application over a database file that is none."""
    path = tmp_path / "broken.db"
    path.write_bytes(b"not a database" * 100)
    engine = make_engine(f"sqlite:///{path}")
    yield TestClient(create_app(context_over(holder, engine)))
    engine.dispose()


@pytest.fixture
def fresh_app(holder, api_engine):
    """An application that has answered nothing yet."""
    return create_app(context_over(holder, api_engine))


@pytest.fixture(scope="session")
def client_of_session(app):
    """For property tests, which take no fixture that is made anew for each test."""
    return TestClient(app)


@pytest.fixture(autouse=True, scope="session")
def _quiet_logs():
    configure_logs(logging.CRITICAL)


@pytest.fixture
def now():
    """Where the clock of every application here stands."""
    return NOW


@pytest.fixture
def api_database(tmp_path):
    """An empty database."""
    made = make_engine(f"sqlite:///{tmp_path}/prices.db")
    prepare_database(made)
    yield made
    made.dispose()


@pytest.fixture(scope="session")
def small_context():
    """The same as `over`, for what is made once."""
    return context_over


@pytest.fixture
def over():
    """What an application reads, with chat as a test sets it."""
    return context_over


@pytest.fixture
def markets():
    """A market of any offers."""
    return market_of
