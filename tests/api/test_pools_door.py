"""PUT, GET and DELETE /on-prem/{name} on both databases: only who has seen a version replaces it."""

import pytest
from starlette.testclient import TestClient

from service.api.app import create_app
from service.api.context import Context
from service.flows.snapshot import SnapshotHolder
from service.metrics import Metrics

POOL = {"gpu": "H100 SXM", "gpus_per_node": 8, "nodes": 2, "mode": "owned", "capex_usd_per_node": 275000}


@pytest.fixture
def stored(engine, now, market):
    """An application whose snapshot is read from its database (the prices stay those of the small market)."""
    snapshots = SnapshotHolder(engine, lambda: now)
    snapshots.poll()
    context = Context(
        clock=lambda: now,
        market=lambda: market,
        engine=engine,
        metrics=Metrics(),
        statuses=snapshots.statuses,
        pools=snapshots.pools,
        poll=snapshots.poll,
    )
    return TestClient(create_app(context))


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def test_a_pool_is_stored_read_named_in_a_plan_changed_and_forgotten(stored):
    made = stored.put("/on-prem/dc1", json=POOL)
    assert (made.status_code, made.headers["location"]) == (201, "/on-prem/dc1")
    read = stored.get("/on-prem/dc1")
    assert read.json() == made.json()
    assert (read.json()["name"], read.json()["mode"], read.json()["nodes"]) == ("dc1", "owned", 2)
    work = {"workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8}, "usage": {"runs_per_month": 50}}
    plan = stored.post("/plan", json={**work, "on_prem": ["dc1"], "constraints": {"data_sensitivity": "local_only"}}).json()
    assert [(one["kind"], one["gpu"]) for one in plan["options"]] == [("on_prem", "H100-SXM")]

    assert code(stored.put("/on-prem/dc1", json=POOL)) == (428, "precondition-required")
    assert code(stored.put("/on-prem/dc1", json=POOL, headers={"If-Match": '"old"'})) == (412, "precondition-failed")
    assert code(stored.put("/on-prem/dc1", json=POOL, headers={"If-None-Match": "*"})) == (412, "precondition-failed")
    changed = stored.put("/on-prem/dc1", json={**POOL, "nodes": 3}, headers={"If-Match": read.headers["etag"]})
    assert (changed.status_code, changed.json()["nodes"]) == (200, 3)
    assert changed.headers["etag"] != read.headers["etag"]

    assert code(stored.delete("/on-prem/dc1")) == (428, "precondition-required")
    assert code(stored.delete("/on-prem/dc1", headers={"If-Match": read.headers["etag"]})) == (412, "precondition-failed")
    gone = stored.delete("/on-prem/dc1", headers={"If-Match": changed.headers["etag"]})
    assert (gone.status_code, gone.content) == (204, b"")
    assert code(stored.get("/on-prem/dc1")) == (404, "not-found")
    assert code(stored.delete("/on-prem/dc1", headers={"If-Match": "*"})) == (404, "not-found")


def test_refusals(stored):
    assert code(stored.put("/on-prem/dc1", json=POOL, headers={"If-Match": "*"})) == (412, "precondition-failed")
    for name, body, pointer in (
        ("default", POOL, "/name"),
        ("dc1", {**POOL, "name": "dc2"}, "/name"),
        ("dc1", {"gpus_per_node": 8}, "/gpu"),
        ("dc1", {**POOL, "usd_per_gpu_hour": 0.95}, ""),
        ("dc1", {**POOL, "price": 0.95}, "/price"),
        ("dc1", {**POOL, "gpu": "nonesuch"}, "/gpu"),
        ("-dc1", POOL, "/name"),
        ("%00", POOL, "/name"),
    ):
        answer = stored.put(f"/on-prem/{name}", json=body)
        assert code(answer)[0] == 422, (name, body)
        assert answer.json()["errors"][0]["pointer"] == pointer
