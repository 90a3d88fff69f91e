"""From the wire to the answer: recorded answers through the real client, the refresh and the database into POST /plan."""

from datetime import UTC, datetime, timedelta

import pytest
from starlette.testclient import TestClient

from providers.http import make_client
from service.api.app import create_app
from service.api.context import Context
from service.flows.refresh import RefreshRun, refresh_feed
from service.flows.snapshot import SnapshotHolder
from service.metrics import Metrics
from service.store.lease import LeaseKeeper
from tests.e2e.fake_providers import Answer, serve_fake_providers
from tests.e2e.loopback_cases import adapter_of, recorded, serve
from tests.e2e.test_providers_over_loopback import runpod_graphql

NOW = datetime(2026, 8, 20, 12, tzinfo=UTC)
KINDS = ("lambda", "runpod-graphql", "vast")


@pytest.fixture
def answers(shared_data):
    """The recorded answers in their envelopes: every shape of Lambda is given one region with capacity."""
    shapes = recorded(shared_data, "lambda/instance_types_recorded_2026-08-20.json")
    region = [{"name": "us-east-1", "description": "Virginia, USA"}]
    return {
        "lambda": Answer(
            body={"data": {name: {**shape, "regions_with_capacity_available": region} for name, shape in shapes.items()}}
        ),
        "runpod-graphql": runpod_graphql(recorded(shared_data, "runpod/graphql_gpu_types_datacenters_2026-08-15.json")),
        "vast": Answer(body=recorded(shared_data, "vast/search_offers_rtx4090_2024-07.json")),
    }


@pytest.fixture
def client(answers, engine):
    """The REST doors over a database that a refresh of each provider has filled."""
    lease = LeaseKeeper(engine, "test", lambda: NOW, ttl=timedelta(hours=1)).acquire()
    run = RefreshRun(engine=engine, clock=lambda: NOW, lease=lease, interval_seconds=300)
    with serve_fake_providers() as fakes, make_client() as http:
        for kind in KINDS:
            serve(fakes, kind, answers[kind])
            assert refresh_feed(adapter_of(kind, fakes), http, run).outcome in ("complete", "partial")
    snapshots = SnapshotHolder(engine, lambda: NOW)
    snapshots.poll()
    context = Context(clock=lambda: NOW, market=snapshots.market, statuses=snapshots.statuses, engine=engine, metrics=Metrics())
    return TestClient(create_app(context), base_url="http://127.0.0.1")


def plan(client, **constraints):
    body = {
        "workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50_000_000},
        "constraints": {"data_sensitivity": "public", **constraints},
        "limit": 200,
    }
    answer = client.post("/plan", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_recorded_price_is_the_price_of_an_option(client):
    options = plan(client, capacity_types=["on_demand"])["options"]
    found = {(option["provider"], option["gpu"], option["gpu_count"]): option["usd_per_hour"] for option in options}
    # Lambda, cents of the whole machine: 3192 for 8 H100, 129 for an A10; RunPod, dollars of one GPU
    assert found["lambda", "H100-SXM", 8] == 31.92
    assert found["lambda", "A10", 1] == 1.29
    assert found["runpod", "A100-SXM4-80GB", 1] == 1.39
    assert found["runpod", "L4", 1] == 0.43
    assert {provider for provider, *_ in found} >= {"lambda", "runpod"}


def test_every_offer_is_an_option_or_is_counted(client):
    answered = plan(client, capacity_types=["on_demand", "spot", "reserved"])
    offers = client.get("/offers?limit=1").json()["total"]
    assert answered["options_found"] + sum(left_out["count"] for left_out in answered["exclusions"]) == offers


def test_kinds_never_mix(client):
    spot = plan(client, capacity_types=["spot"])["options"]
    assert {option["capacity_type"] for option in spot} <= {"spot"}
    listed = plan(client, capacity_types=["on_demand"])["options"]
    assert {option["capacity_type"] for option in listed} == {"on_demand"}


def test_the_answer_says_who_told_and_how_old_it_is(client):
    answered = plan(client)
    states = {state["name"]: state for state in answered["prices"]["providers"]}
    for feed in ("lambda", "runpod", "vast"):
        assert states[feed]["offers"] > 0
        assert states[feed]["stale"] is False
    assert all(option["price"]["feed"] in states for option in answered["options"])
    assert all(option["price"]["observed_at"] for option in answered["options"])


def test_turing_cards_that_lack_bf16_are_named_with_fp16(client):
    left_out = {one["reason"]: one for one in plan(client)["exclusions"]}
    assert "fp16" in str(left_out["precision"])  # Lambda's Quadro RTX 6000 and V100
