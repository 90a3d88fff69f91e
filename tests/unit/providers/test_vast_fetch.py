"""What is asked of Vast, what comes back cut or refused, and what that is told as."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
from pydantic import SecretStr

from providers.errors import ProviderCredentials, ProviderPayloadInvalid
from providers.http import make_client
from providers.offer import CapacityType
from providers.vast import Vast
from service.settings import build_adapter, load_settings
from tests.e2e.fake_providers import fixture

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
ROW = fixture("vast/bundles.json")["offers"][0]


def row(**changes):
    return {**ROW, **changes}


def parsed(*rows, adapter=None):
    return (adapter or Vast()).parse({"answers": [{"offers": list(rows)}]}, NOW)


def on_demand(batch):
    return [o for o in batch.offers if o.capacity_type is CapacityType.ON_DEMAND]


def test_the_cheapest_h100_at_row_150_of_200_is_found():  # behaviour 10
    rows = [row(id=n, machine_id=n, gpu_name="RTX 4090", gpu_ram=24564) for n in range(1, 201)]
    rows[149] = row(id=150, machine_id=150, gpu_name="H100 SXM", gpu_ram=81559, dph_base=1.9)
    sent = []

    def handle(request):
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"offers": rows[: sent[-1].get("limit", 64)]})

    batch = Vast().parse(Vast().fetch(make_client(transport=httpx.MockTransport(handle))), NOW)
    assert [o.usd_per_hour for o in on_demand(batch) if o.gpu == "H100-SXM"] == [Decimal("1.9")]
    assert not batch.truncated
    assert sent[0]["limit"] == 10_000
    assert sent[0]["verified"] == {"eq": True}
    assert sent[0]["rentable"] == {"eq": True}


@pytest.mark.parametrize(
    ("count", "limit", "truncated"), [(64, 10_000, True), (63, 10_000, False), (65, 10_000, False), (5, 5, True), (6, 5, True)]
)
def test_an_answer_of_exactly_a_page_is_told_to_be_cut(count, limit, truncated):
    rows = [row(id=n, machine_id=n) for n in range(count)]
    assert parsed(*rows, adapter=Vast(limit=limit)).truncated is truncated


def test_unverified_machines_are_asked_for_in_a_call_of_their_own():
    asked = []

    def handle(request):
        asked.append(json.loads(request.content)["verified"])
        assert request.url == "https://console.vast.ai/api/v0/bundles/"
        assert request.headers["Authorization"] == "Bearer sesame"
        return httpx.Response(200, json={"offers": [row(id=len(asked))]})

    adapter = Vast(api_key=SecretStr("sesame"), include_unverified=True)
    payload = adapter.fetch(make_client(transport=httpx.MockTransport(handle)))
    assert asked == [{"eq": True}, {"eq": False}]
    assert len(payload["answers"]) == 2


def test_the_settings_reach_the_adapter(monkeypatch):
    monkeypatch.setenv("GPUPLAN_PROVIDERS__VAST__INCLUDE_UNVERIFIED", "true")
    monkeypatch.setenv("GPUPLAN_PROVIDERS__VAST__BASE_URL", "http://127.0.0.1:9")
    assert build_adapter(load_settings(), Vast) == Vast(include_unverified=True, base_url="http://127.0.0.1:9")


def test_without_a_key_no_authorization_is_sent():
    def handle(request):
        assert "Authorization" not in request.headers
        return httpx.Response(200, json={"offers": [row()]})

    Vast().fetch(make_client(transport=httpx.MockTransport(handle)))


@pytest.mark.parametrize(
    ("body", "error"),
    [("Invalid user key", ProviderCredentials), ({"success": False, "msg": "Invalid user key"}, ProviderCredentials)],
)
def test_a_404_with_invalid_user_key_is_a_fault_of_the_credentials(body, error):
    answer = httpx.Response(404, text=body) if isinstance(body, str) else httpx.Response(404, json=body)
    client = make_client(transport=httpx.MockTransport(lambda request: answer))
    with pytest.raises(error) as caught:
        Vast(api_key=SecretStr("sesame")).fetch(client)
    assert "sesame" not in str(caught.value)


def test_any_other_404_is_not():
    client = make_client(transport=httpx.MockTransport(lambda request: httpx.Response(404, text="<html>moved</html>")))
    with pytest.raises(ProviderPayloadInvalid):
        Vast(api_key=SecretStr("sesame")).fetch(client)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {},
        {"answers": []},
        {"answers": [[]]},
        {"answers": [{"offers": []}]},
        {"answers": [{"offers": {"id": 1}}]},
        {"answers": "x"},
    ],
)
def test_an_answer_without_a_list_of_offers_is_refused(payload):
    with pytest.raises(ProviderPayloadInvalid):
        Vast().parse(payload, NOW)
