"""`gpuplan record` against loopback stand-ins: the file is a fixture of the same offers, and holds nothing private."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import SecretStr

from providers.errors import InvalidInput, ProviderError, ProviderNeedsKey
from providers.exact_json import parse_json
from providers.http import make_client
from providers.kaggle import Kaggle
from providers.lambda_cloud import LambdaCloud
from providers.vast import Vast
from service.cli.app import run
from service.flows.record import ScrubFault, record
from tests.e2e.fake_providers import VAST_PATH, Answer, fixture, serve_fake_providers
from tests.e2e.loopback_cases import KEY, KINDS, SECRET, adapter_of

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def fakes():
    with serve_fake_providers() as running:
        yield running


@pytest.fixture
def http():
    with make_client() as client:
        yield client


def sold(batch):
    return sorted((o.tier, o.gpu, o.gpu_count, o.capacity_type, str(o.region), o.usd_per_hour) for o in batch.offers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_gives_the_same_offers_and_holds_no_credential(fakes, http, kind):
    adapter = adapter_of(kind, fakes)
    made = record(adapter, http, lambda: NOW)
    again = adapter.parse(parse_json(adapter.name, made.text.encode()), NOW)
    assert sold(again) == sold(adapter.parse(adapter.fetch(http), NOW))
    assert made.offers == len(again.offers) > 0
    assert SECRET not in made.text
    json.loads(made.text)


def private_host():
    """A host with all that is nobody's business, its key sent back in a note."""
    first = fixture("vast/bundles.json")["offers"][0]
    private = {
        "public_ipaddr": "203.0.113.77", "hostname": "box.corp.example", "webpage": "https://corp.example",
        "note": f"for {SECRET}", "owner": "jane@corp.example",
        "machine_id": 7654321, "host_id": 1234567, "dph_base": 0.24666666666666665,
    }  # fmt: skip
    return {**first, **private}


def test_a_host_s_address_owner_and_ids_are_replaced_and_its_price_is_exact(fakes, http):
    fakes.answers[VAST_PATH] = Answer(body={"success": True, "offers": [private_host()]})
    adapter = Vast(api_key=KEY, base_url=fakes.vast_url)
    made = record(adapter, http, lambda: NOW)
    for private in ("203.0.113.77", "corp.example", "7654321", "1234567", "jane", SECRET):
        assert private not in made.text
    assert '"dph_base": 0.24666666666666665' in made.text
    batch = adapter.parse(parse_json("vast", made.text.encode()), NOW)
    assert Decimal("0.24666666666666665") in {offer.usd_per_hour for offer in batch.offers}


def test_a_recording_that_would_give_other_offers_is_refused(fakes, http):
    adapter = Vast(api_key=SecretStr("RTX 4090"), base_url=fakes.vast_url)  # a key that is the name of a card
    with pytest.raises(ScrubFault, match="other offers"):
        record(adapter, http, lambda: NOW)


def test_a_table_is_no_service_and_a_key_is_asked_for(fakes, http):
    with pytest.raises(InvalidInput, match="no live service"):
        record(Kaggle(), http, lambda: NOW)
    with pytest.raises(ProviderNeedsKey):
        record(LambdaCloud(base_url=fakes.lambda_url), http, lambda: NOW)
    assert fakes.seen == []


def test_a_failed_answer_makes_no_file(fakes, http):
    fakes.answers[VAST_PATH] = Answer(200, "<html>")
    with pytest.raises(ProviderError):
        record(Vast(base_url=fakes.vast_url), http, lambda: NOW)


@pytest.fixture
def settings(fakes, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUPLAN_PROVIDERS__LAMBDA__BASE_URL", fakes.lambda_url)
    monkeypatch.setenv("GPUPLAN_PROVIDERS__LAMBDA__API_KEY", SECRET)
    return tmp_path


def test_the_command_writes_a_fixture_and_never_over_another(settings, capsys):
    assert run(["record", "lambda"]) == 0
    file = settings / "lambda_recorded.json"
    assert SECRET not in file.read_text()
    assert "offers; rows that became none: " in capsys.readouterr().out
    first = file.read_text()
    assert run(["record", "lambda"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["record", "lambda", "--force"]) == 0
    assert file.read_text() == first
    assert run(["record", "lambda", "--output", "other.json"]) == 0
    assert (settings / "other.json").read_text() == first


def test_the_command_refuses_in_one_line(settings, fakes, capsys):
    assert run(["record", "lamda"]) == 2
    assert "no provider has this name" in capsys.readouterr().err
    assert run(["record", "kaggle"]) == 2
    assert "no live service" in capsys.readouterr().err
    assert run(["record", "lambda", "--output", "nowhere/x.json"]) == 1
    assert "cannot be written" in capsys.readouterr().err
    fakes.answers["/api/v1/instance-types"] = Answer(401, {"error": {"code": "global/invalid-api-key", "message": SECRET}})
    assert run(["record", "lambda"]) == 1
    assert SECRET not in capsys.readouterr().err
    assert list(settings.iterdir()) == []
