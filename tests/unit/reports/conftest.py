"""Inputs of a report over a market of three offers and pools whose every figure is given."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from providers.offer import Availability, CapacityType, Interconnect, Offer, Tenancy
from service.domain.report import ExchangeRate, ReportInputs, ReportPlan
from service.domain.request import DataSensitivity, PlanRequest, SaveSpec
from service.domain.saved import PlanHashes
from service.flows.plan import make_plan
from service.flows.plan_kept import kept_values, own_inputs
from service.flows.saved_plans import own_on
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
DOLLAR = ExchangeRate(currency="USD", per_usd=1.0, day=None, source="")
POOL = {
    "name": "dc1", "gpu": "H100 SXM", "gpus_per_node": 8, "nodes": 1, "capex_usd_per_node": 120_000.0, "residual_fraction": 0.1,
    "life_years": 2, "discount_rate_fraction": 0.1, "network_fraction": 0.0, "spares_fraction": 0.0,
    "maintenance_fraction_per_year": 0.05, "staff_usd_per_node_year": 12_000.0, "software_usd_per_gpu_year": 0.0,
    "electricity_usd_per_kwh": 0.1, "pue": 1.2, "load_watts": 8000.0, "idle_watts": 2000.0, "availability_fraction": 1.0,
    "lead_time_months": 2,
}  # fmt: skip
BUSY = {
    "workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8},
    "usage": {"utilization": 0.8, "horizon_months": 26},
    "on_prem": [POOL],
}
RARE = {
    "workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8},
    "usage": {"runs_per_month": 4},
    "on_prem": [POOL],
}
ONCE = {"workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8}, "usage": {"runs": 2}}
TOO_MUCH = {
    "workload": {"task": "raw", "vram_gib": 500, "gpu_hours": 10}, "usage": {"runs_per_month": 2, "reference_gpu": "H100 SXM"},
}  # fmt: skip


def offer(instance_type, gpu_count, usd, **changes):
    given = {
        "feed": "lambda", "provider": "lambda", "tier": "on-demand", "gpu": "H100-SXM", "gpu_memory_gb": 80,
        "form_factor": "SXM5", "capacity_type": CapacityType.ON_DEMAND, "tenancy": Tenancy.PROVIDER_DATACENTER,
        "region": "us-east-1", "country": "US", "availability": Availability.AVAILABLE, "interconnect": Interconnect.NVLINK,
        "vcpus": 26, "memory_gib": 225, "observed_at": NOW, "source": "GET /instance-types",
    }  # fmt: skip
    return Offer(**{**given, "instance_type": instance_type, "gpu_count": gpu_count, "usd_per_hour": Decimal(usd), **changes})


OFFERS = (
    offer("gpu_1x", 1, "3.50"),
    offer("gpu_8x", 8, "27.20"),
    offer("other_1x", 1, "3.90", feed="runpod", provider="runpod", tier="secure", region="EU-1", country="NL"),
)


def market_of(offers):
    feeds = sorted({one.feed for one in offers})
    return Market.build(
        {feed: columns_of([one for one in offers if one.feed == feed]) for feed in feeds},
        [FeedStatus(name=feed, last_success_at=NOW, last_attempt_at=NOW, offers=1) for feed in feeds],
        snapshot_id="7-1",
        as_of=NOW,
    )


def plan_of(body, name, *, offers=OFFERS, before=None, note=""):
    request, default, market = PlanRequest.model_validate_json(json.dumps(body)), DataSensitivity.INTERNAL, market_of(offers)
    plan = make_plan(request, market, now=NOW, pools={}, default_sensitivity=default)
    own = own_on(market, request, {}, default)
    kept = kept_values(request, SaveSpec(name=name, owner="ana", note=note), plan, market, own, default, NOW)
    return ReportPlan(
        plan_id=plan.plan_id, name=name, owner="ana", note=note, state="draft", approval=None, plan=plan,
        own=tuple(own_inputs(one) for one in own), hashes=PlanHashes(**kept["hashes"]), before=before,
    )  # fmt: skip


@pytest.fixture(scope="session")
def review():
    """Inputs of a report over these bodies: (body, name) each."""

    def made(*bodies, rate=DOLLAR, months=26, period=(date(2027, 1, 1), date(2027, 12, 31)), stamp=NOW, **plan):
        plans = tuple(plan_of(body, name, **plan) for body, name in bodies)
        return ReportInputs(title="Review", plans=plans, period=period, horizon_months=months, rate=rate, created_at=stamp)

    return made


@pytest.fixture(scope="session")
def busy():
    return BUSY


@pytest.fixture(scope="session")
def rare():
    return RARE


@pytest.fixture(scope="session")
def once():
    return ONCE


@pytest.fixture(scope="session")
def too_much():
    return TOO_MUCH


@pytest.fixture(scope="session")
def offers_at():
    """The same offers, every price times a factor."""
    from dataclasses import replace

    return lambda factor: tuple(replace(one, usd_per_hour=one.usd_per_hour * Decimal(factor)) for one in OFFERS)
