"""GET /providers, POST /providers/{name}/refresh and /jobs on both databases."""

import pytest
from starlette.testclient import TestClient

from service.api.app import create_app
from service.api.context import Context
from service.metrics import Metrics
from service.solver.market import FeedStatus
from service.store.engine import writing
from service.store.jobs import claim_next, finish


def client_over(engine, now, market):
    statuses = (
        FeedStatus(name="aws", enabled=False, state="disabled"),
        FeedStatus(name="lambda", needs_key=True, state="needs_key"),
        FeedStatus(name="vast", state="stale", last_success_at=now, offers=5, rejected=2, error="provider-unavailable"),
    )
    context = Context(clock=lambda: now, market=lambda: market, engine=engine, metrics=Metrics(), statuses=lambda: statuses)
    return TestClient(create_app(context))


@pytest.fixture
def stored(engine, now, market):
    return client_over(engine, now, market)


@pytest.fixture
def sqlite_providers(api_engine, now, market):
    return client_over(api_engine, now, market)


def test_every_adapter_is_listed_with_its_state(sqlite_providers):
    assert sqlite_providers.get("/providers").json()["providers"] == [
        {
            "name": "aws", "enabled": False, "needs_key": False, "state": "disabled", "last_success_at": None, "offers": 0,
            "rejected": 0, "error": None,
        },
        {
            "name": "lambda", "enabled": True, "needs_key": True, "state": "needs_key", "last_success_at": None, "offers": 0,
            "rejected": 0, "error": None,
        },
        {
            "name": "vast", "enabled": True, "needs_key": False, "state": "stale", "last_success_at": "2026-03-02T12:00:30Z",
            "offers": 5, "rejected": 2, "error": "provider-unavailable",
        },
    ]  # fmt: skip


def test_a_refresh_is_a_job_to_follow(stored, engine, now):
    asked = stored.post("/providers/vast/refresh")
    assert asked.status_code == 202
    job_id = asked.json()["job_id"]
    assert asked.headers["location"] == f"/jobs/{job_id}"
    assert stored.post("/providers/vast/refresh").json()["job_id"] == job_id  # one that waits is shared
    waiting = stored.get(f"/jobs/{job_id}")
    assert (waiting.json()["status"], waiting.headers["retry-after"]) == ("queued", "1")
    with writing(engine) as connection:
        claim_next(connection, kind="refresh", holder="a#1", now=now)
        finish(connection, job_id, status="succeeded", now=now, result={"offers": 5})
    done = stored.get(f"/jobs/{job_id}")
    assert (done.json()["status"], done.json()["result"]) == ("succeeded", {"offers": 5})
    assert "retry-after" not in done.headers
    assert stored.delete(f"/jobs/{job_id}").json()["status"] == "succeeded"


def test_a_waiting_job_is_cancelled(stored):
    job_id = stored.post("/providers/vast/refresh").json()["job_id"]
    assert stored.delete(f"/jobs/{job_id}").json()["status"] == "cancelled"
    assert stored.get(f"/jobs/{job_id}").json()["status"] == "cancelled"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/providers/vat/refresh", 404, "not-found"),
        ("POST", "/providers/aws/refresh", 409, "provider-disabled"),
        ("POST", "/providers/lambda/refresh", 409, "provider-needs-key"),
        ("GET", "/jobs/nonesuch", 404, "not-found"),
        ("DELETE", "/jobs/nonesuch", 404, "not-found"),
        ("GET", "/jobs/%00", 422, "invalid-input"),
        ("POST", "/providers/vast/refresh?accept=true", 422, "invalid-input"),
    ],
)
def test_refusals(sqlite_providers, method, path, status, code):
    answer = sqlite_providers.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
