"""The form as a request: the same checks as POST /plan, and every fault beside its field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.web.curl import curl_of
from service.web.plan_form import DEFAULTS, read_plan_form


def form_of(**fields):
    return read_plan_form({name: [value] for name, value in {"model": "llama-3.1-8b", **fields}.items()})


def asked(**fields):
    form = form_of(**fields)
    assert form.faults == {}
    return form.request.model_dump(mode="json", exclude_unset=True)


def test_what_a_newcomer_sends_unchanged():
    assert asked() == {
        "workload": {"task": "train", "model": "llama-3.1-8b", "technique": "qlora", "tokens": 50_000_000.0},
        "usage": {"horizon_months": 36, "runs": 1.0},
        "constraints": {"data_sensitivity": "internal", "residency": [], "capacity_types": ["on_demand", "spot"]},
        "on_prem": [],
        "limit": 10,
    }


def test_tokens_hours_and_utilization_are_three_ways_to_tell_the_work():
    assert asked(tokens_million="0.25", runs_per_month="8")["workload"]["tokens"] == 250_000
    assert asked(runs_per_month="8")["usage"] == {"horizon_months": 36, "runs_per_month": 8}
    by_hours = asked(amount="hours", hours_per_month="120", reference_gpu="H100 SXM")
    assert by_hours["usage"] == {"horizon_months": 36, "hours_per_month": 120, "reference_gpu": "H100 SXM"}
    assert "tokens" not in by_hours["workload"]
    assert asked(amount="utilization", utilization_percent="35")["usage"]["utilization"] == 0.35


def test_serving_is_up_around_the_clock_and_takes_no_technique():
    request = asked(technique="infer", requests_per_second="2.5", prompt_tokens="800")
    assert request["workload"] == {
        "task": "infer",
        "model": "llama-3.1-8b",
        "requests_per_second": 2.5,
        "prompt_tokens": 800,
    }
    assert request["usage"]["hours_per_month"] == 730
    assert set(form_of(technique="infer").faults) == {"requests_per_second"}


@pytest.mark.parametrize(("text", "billions"), [("13B", 13), ("13", 13), ("0.5b", 0.5), ("70 B", 70)])
def test_a_size_stands_for_a_model(text, billions):
    assert asked(model=text)["workload"]["model"] == {"params_b": billions}


def test_places_are_parted_by_commas_or_blanks():
    assert asked(residency="EU, CH;NO GB")["constraints"]["residency"] == ["EU", "CH", "NO", "GB"]


def test_own_hardware_as_described_by_name_and_by_default():
    own = {"own": "described", "own_gpu": "L40S", "own_gpus_per_node": "4", "own_nodes": "2", "own_country": "de"}
    assert asked(**own)["on_prem"] == [
        {"name": "own", "gpu": "L40S", "gpus_per_node": 4, "nodes": 2, "mode": "buy", "country": "DE"}
    ]
    assert asked(own="default")["on_prem"] == ["default"]
    assert asked(own="stored:dc1")["on_prem"] == ["dc1"]


@pytest.mark.parametrize(
    ("fields", "faulty"),
    [
        ({"model": ""}, "model"),
        ({"model": "lama 9"}, "model"),
        ({"tokens_million": "many"}, "tokens_million"),
        ({"tokens_million": ""}, "tokens_million"),
        ({"tokens_million": "1e9"}, "tokens_million"),
        ({"tokens_million": "٥"}, "tokens_million"),
        ({"tokens_million": "0"}, "tokens_million"),
        ({"runs_per_month": "-1"}, "runs_per_month"),
        ({"amount": "hours", "hours_per_month": "731"}, "hours_per_month"),
        ({"amount": "utilization", "utilization_percent": "101"}, "utilization_percent"),
        ({"amount": "weight"}, "amount"),
        ({"technique": "alchemy"}, "technique"),
        ({"data_sensitivity": "secret"}, "data_sensitivity"),
        ({"deadline_hours": "0"}, "deadline_hours"),
        ({"horizon_months": "2.5"}, "horizon_months"),
        ({"limit": "201"}, "limit"),
        ({"own": "a castle"}, "own"),
        ({"own": "described", "own_gpu": ""}, "own_gpu"),
        ({"own": "described", "own_gpus_per_node": "0"}, "own_gpus_per_node"),
        ({"own": "described", "own_country": "Germany"}, "own_country"),
        ({"own": "described", "own_mode": "stolen"}, "own_mode"),
        ({"own": "stored:../etc"}, "own"),
    ],
)
def test_a_fault_stands_beside_its_field(fields, faulty):
    form = form_of(**fields)
    assert set(form.faults) == {faulty}
    assert form.request is None
    assert form.faults[faulty].endswith((".", "?"))


def test_all_faults_are_told_at_once():
    form = form_of(model="lama 9", tokens_million="x", deadline_hours="x", own="described", own_country="Germany")
    assert set(form.faults) == {"model", "tokens_million", "deadline_hours", "own_country"}


def test_what_was_typed_stays_in_the_fields():
    assert form_of(tokens_million="many").values["tokens_million"] == "many"


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)), st.text(max_size=60)))
def test_no_text_breaks_the_form(fields):
    form = read_plan_form({name: [value] for name, value in fields.items()})
    assert (form.request is None) == bool(form.faults)


def test_the_command_survives_a_quote():
    request = form_of(residency="it's").request
    command = curl_of(request, "http://127.0.0.1:8000")
    assert command.startswith("curl -s 'http://127.0.0.1:8000/plan' -H 'Content-Type: application/json' -d '{")
    assert "it'\\''s" in command
