"""What is asked of RunPod's two APIs, and the answers that are no catalogue."""

import json
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import SecretStr

from providers.errors import ProviderCredentials, ProviderPayloadInvalid
from providers.http import make_client
from providers.runpod import RunPod
from providers.runpod.graphql import PROBES_PER_QUERY
from tests.e2e.fake_providers import runpod_answer

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
KEY = SecretStr("sesame")


def client(handle):
    return make_client(transport=httpx.MockTransport(handle))


def fake(request):
    """The small market of the fixture, over either API."""
    body = json.loads(request.content) if request.content else None
    status, answer = runpod_answer(request.method, request.url.path, dict(request.url.params), dict(request.headers), body)
    return httpx.Response(status, json=answer)


def test_graphql_asks_every_listed_place_at_every_width_and_no_other():
    asked = []

    def handle(request):
        body = json.loads(request.content)
        asked.extend(body["variables"].values())
        assert len(body["variables"]) <= PROBES_PER_QUERY
        return fake(request)

    RunPod().fetch(client(handle))
    # 3 listed data centres and 2 countries (one code is null) at 4 widths
    assert len(asked) == (3 + 2) * 4
    assert {v["dataCenterId"] for v in asked if v["secureCloud"]} == {"US-DE-1", "EU-RO-1", "CA-MTL-1"}
    assert {v["countryCode"] for v in asked if not v["secureCloud"]} == {"US", "NL"}
    assert {v["gpuCount"] for v in asked} == {1, 2, 4, 8}


def test_rest_asks_nine_times_with_the_key():
    asked = []

    def handle(request):
        assert request.headers["Authorization"] == "Bearer sesame"
        asked.append((request.url.path, dict(request.url.params)))
        return fake(request)

    RunPod(api_key=KEY).fetch(client(handle))
    gpus = [params for path, params in asked if path == "/v2/catalog/gpus"]
    assert len(asked) == 9
    assert {(p["cloud"], p["count"]) for p in gpus} == {(c, w) for c in ("SECURE", "COMMUNITY") for w in "1248"}
    assert {(p["include"], p["product"]) for p in gpus} == {("AVAILABILITY", "POD")}


PARTLY_THERE = {"gpuTypes": [{"id": "NVIDIA L4", "memoryInGb": 24, "securePrice": 0.43}], "dataCenters": []}


@pytest.mark.parametrize("body", [{"errors": [{"message": "x"}], "data": PARTLY_THERE}, {"data": None}, [], {"data": {}}])
def test_a_200_with_errors_or_without_data_is_a_failure(body):
    with pytest.raises(ProviderPayloadInvalid):
        RunPod().fetch(client(lambda request: httpx.Response(200, json=body)))


def test_a_stock_query_that_lacks_an_alias_fails_the_fetch():
    def handle(request):
        answer = fake(request).json()
        answer["data"].pop("p3", None)
        return httpx.Response(200, json=answer)

    with pytest.raises(ProviderPayloadInvalid, match="lacks"):
        RunPod().fetch(client(handle))


def test_a_refused_key_is_told_and_not_hidden_by_the_keyless_api():
    with pytest.raises(ProviderCredentials) as caught:
        RunPod(api_key=KEY).fetch(client(lambda request: httpx.Response(401, json={"detail": "sesame"})))
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        {"api": "soap"},
        {"api": "rest"},
        {"api": "rest", "dataCenters": [], "answers": []},
        {"api": "rest", "dataCenters": [], "answers": [{"cloud": "secure", "count": 1, "gpus": []}]},
        {"api": "rest", "dataCenters": {}, "answers": [{"cloud": "secure", "count": 1, "gpus": [{}]}]},
        {"api": "graphql", "gpuTypes": [], "dataCenters": [], "probes": []},
        {"api": "graphql", "gpuTypes": {}, "dataCenters": [], "probes": []},
    ],
)
def test_an_answer_without_a_catalogue_is_refused(payload):
    with pytest.raises(ProviderPayloadInvalid):
        RunPod().parse(payload, NOW)
