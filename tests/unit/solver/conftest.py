"""Small markets for the solver's tests: offers with sensible fields, and a market of them seen a minute ago."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from providers.gpus import GPUS
from providers.offer import Arch, Availability, CapacityType, Interconnect, Offer, Tenancy
from service.domain.request import PlanRequest
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.solver.solve import solve

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
PLAIN = {
    "feed": "lambda", "provider": "lambda", "tier": "on-demand", "instance_type": "box", "gpu_count": 1.0,
    "capacity_type": CapacityType.ON_DEMAND, "tenancy": Tenancy.PROVIDER_DATACENTER, "region": "us-east-1", "country": "US",
    "billing_increment_seconds": 1, "interconnect": Interconnect.NVLINK, "arch": Arch.X86_64,
    "availability": Availability.AVAILABLE, "observed_at": NOW - timedelta(minutes=1), "source": "a price page",
}  # fmt: skip


def offer_of(gpu: str = "H100-SXM", usd_per_hour: str = "4", **changes) -> Offer:
    card = GPUS[gpu]
    known = {"gpu_memory_gb": card.memory_gb, "form_factor": card.form_factor}
    return Offer(**{**PLAIN, "gpu": gpu, "usd_per_hour": Decimal(usd_per_hour), **known, **changes})


def market_of(*offers: Offer, seen_at: datetime = NOW - timedelta(minutes=1), **kwargs) -> Market:
    feeds: dict[str, list[Offer]] = {}
    for offer in offers:
        feeds.setdefault(offer.feed, []).append(offer)
    statuses = kwargs.pop("statuses", None) or [
        FeedStatus(name=feed, last_success_at=seen_at, last_attempt_at=seen_at, offers=len(rows)) for feed, rows in feeds.items()
    ]
    packed = {feed: columns_of(rows) for feed, rows in feeds.items()}
    return Market.build(packed, statuses, snapshot_id="snapshot-1", as_of=seen_at, **kwargs)


def request_of(**body) -> PlanRequest:
    """A raw job of 100 GPU-hours on an H100, once, with public data, unless said otherwise."""
    raw = {"task": "raw", "vram_gib": 20.0, "gpu_hours": 100.0}
    body = {"workload": raw, "usage": {"runs": 1.0, "reference_gpu": "H100 SXM"}, "constraints": {}, **body}
    body["constraints"] = {"data_sensitivity": "public", **body["constraints"]}
    return PlanRequest.model_validate(body, strict=False)


def plan_of(market: Market, /, *, now: datetime = NOW, pools=None, **body):
    return solve(request_of(**body), market, evaluated_at=now, pools=pools or {})


@pytest.fixture
def offer():
    return offer_of


@pytest.fixture
def market():
    return market_of


@pytest.fixture
def plan():
    return plan_of


@pytest.fixture
def now():
    return NOW


@pytest.fixture
def again():
    return replace
