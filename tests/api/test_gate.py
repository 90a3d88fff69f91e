"""What every answer has in common: problems on every path, a request id, security headers, nothing echoed."""

import json

import pytest
from starlette.testclient import TestClient

from providers.errors import InvalidInput, ProviderUnavailable, UnknownGpu
from service.api.problems import KINDS, Problem
from service.store.errors import UnknownJob


def problem(answer, status, code):
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    Problem.model_validate(body)
    assert (body["status"], body["code"], body["type"]) == (status, code, f"/problems/{code}")
    assert body["instance"].endswith(answer.headers["x-request-id"])
    return body


def test_unknown_path_is_a_problem_that_does_not_repeat_it(client):
    answer = client.get("/nonesuch-zebra?x=zebra")
    problem(answer, 404, "not-found")
    assert "zebra" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_a_method_the_path_has_not_is_a_problem_with_allow(client, method):
    answer = client.request(method, "/gpus")
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "GET"


def test_head_is_get_without_the_body(client):
    head, get = client.head("/gpus"), client.get("/gpus")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert client.head("/plan").status_code == 405
    assert client.head("/nonesuch").content == b""


@pytest.mark.parametrize("path", ["/offers/", "//", "/healthz/", "/%2e%2e/etc/passwd", "/problems/", "/%7f", "/offers%00"])
def test_odd_paths_are_problems(client, path):
    problem(client.get(path), 404, "not-found")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UnknownGpu("no GPU has this name", pointer="/a", allowed=["H100-SXM"]), 422, "unknown-gpu"),
        (InvalidInput("too big", pointer="/b"), 422, "invalid-input"),
        (ProviderUnavailable("vast", "secret-detail"), 502, "provider-error"),
        (UnknownJob("zebra"), 404, "not-found"),
        (RuntimeError("zebra"), 500, "internal"),
        (RecursionError("zebra"), 500, "internal"),
    ],
)
def test_whatever_is_raised_leaves_as_a_problem(app, holder, monkeypatch, error, status, code):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("service.api.offers.list_offers", fails)
    answer = TestClient(app, raise_server_exceptions=True).get("/offers")
    problem(answer, status, code)
    assert "zebra" not in answer.text
    assert "secret-detail" not in answer.text


def test_a_domain_error_keeps_its_pointer_and_what_is_allowed(app, holder, monkeypatch):
    def fails(*_, **__):
        raise UnknownGpu("x", pointer="/gpu", allowed=["H100-SXM", "H100-NVL"])

    monkeypatch.setattr("service.api.offers.list_offers", fails)
    (fault,) = TestClient(app).get("/offers").json()["errors"]
    assert (fault["pointer"], fault["allowed"]) == ("/gpu", ["H100-SXM", "H100-NVL"])


@pytest.mark.parametrize("path", ["/gpus", "/nonesuch", "/offers?x=1", "/docs", "/metrics"])
def test_headers_of_every_answer(client, path):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert len(headers["x-request-id"]) == 32


@pytest.mark.parametrize(
    ("sent", "kept"), [("job-2026.03_a1", True), ("short", False), ("a b c d e f g h", False), ("x" * 65, False)]
)
def test_a_plain_request_id_is_kept(client, sent, kept):
    assert (client.get("/healthz", headers={"X-Request-Id": sent}).headers["x-request-id"] == sent) is kept


@pytest.mark.parametrize("code", list(KINDS))
def test_every_problem_has_its_page(client, code):
    page = client.get(f"/problems/{code}").json()
    assert page["status"] == KINDS[code].status
    assert page["explained"]


def test_an_operation_without_parameters_refuses_one(client):
    body = problem(client.get("/gpus?family=H100"), 422, "invalid-input")
    assert body["errors"][0]["pointer"] == "/family"


def test_readiness_tells_stale_prices(client, holder, market_seen):
    assert client.get("/readyz").json()["status"] == "ready"
    holder.market = market_seen(hours_ago=49)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["stale"] == ["lambda", "reference", "vast"]
    holder.market = None
    problem(client.get("/readyz"), 503, "no-prices")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/prices/history?gpu=H100"), ("GET", "/jobs/abc"), ("GET", "/on-prem/dc1"), ("DELETE", "/jobs/abc")],
)
def test_a_broken_database_is_told_as_such(broken_client, method, path):
    answer = broken_client.request(method, path)
    problem(answer, 503, "unavailable")
    assert answer.headers["retry-after"] == "5"


def test_readiness_without_a_database(broken_client):
    problem(broken_client.get("/readyz"), 503, "unavailable")
    assert broken_client.get("/healthz").json() == {"status": "ok"}


def test_metrics_count_answers_by_route_not_by_path(fresh_app):
    client = TestClient(fresh_app)
    client.get("/problems/unknown-gpu")
    client.get("/problems/not-found")
    client.get("/nonesuch")
    text = client.get("/metrics").text
    assert 'gpuplan_http_requests_total{method="GET",route="/problems/{code}",status="200"} 2.0' in text
    assert "nonesuch" not in text
    assert 'gpuplan_feed_age_seconds{feed="lambda"} 150.0' in text  # 11:58:00 to 12:00:30


def test_problems_are_json_that_any_parser_takes(client):
    json.loads(client.get("/offers?limit=x").text, parse_constant=pytest.fail)
