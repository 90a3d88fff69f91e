"""POST /plan: a ranking from the snapshot in memory, its fields, its time, and what it refuses."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

GOOD = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 5e7}}
POOL = {"gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275000}


def plan(client, **changed):
    answer = client.post("/plan", json={**GOOD, **changed})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client, **changed):
    answer = client.post("/plan", json={**GOOD, **changed})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return [(fault["pointer"], fault["code"]) for fault in answer.json()["errors"]]


def test_options_are_ranked_and_every_total_is_the_sum_of_its_lines(client):
    found = plan(client)
    assert found["options"]
    assert [one["rank"] for one in found["options"]] == list(range(1, len(found["options"]) + 1))
    for option in found["options"]:
        lines = option["cost"]["lines"]
        assert round(sum(line["usd_per_run"] or 0 for line in lines), 6) == pytest.approx(option["cost"]["usd_per_run"], abs=1e-9)


def test_no_database_is_needed(broken_client):
    assert plan(broken_client)["options"]


def test_without_a_time_it_is_now_cut_to_the_minute(client):
    assert plan(client)["evaluated_at"] == "2026-03-02T12:00:00Z"  # the clock stands at 12:00:30
    assert plan(client, evaluated_at="2026-03-02T13:30:15+01:00")["evaluated_at"] == "2026-03-02T12:30:15Z"


def test_the_same_request_gives_the_same_bytes(client):
    first = client.post("/plan", json={**GOOD, "evaluated_at": "2026-03-02T12:00:00Z"})
    again = client.post("/plan", json={**GOOD, "evaluated_at": "2026-03-02T12:00:00Z"})
    assert first.content == again.content


def test_fields_trim_the_answer(client):
    assert plan(client, fields=["plan_id", "options"]).keys() == {"plan_id", "options"}


def test_nothing_fits_is_an_answer_with_reasons(client):
    found = plan(client, constraints={"max_usd_per_hour": 0.01})
    assert found["options"] == []
    assert found["exclusions"]
    assert found["decision"]["verdict"] == "infeasible"


def test_stale_prices_are_visible(client, holder, market_seen):
    holder.market = market_seen(hours_ago=49)
    states = {one["name"]: one for one in plan(client)["prices"]["providers"]}
    assert states["vast"]["stale"] is True
    assert states["vast"]["age_hours"] == pytest.approx(49, abs=0.02)


def test_own_hardware_stands_beside_the_cloud(client):
    assert {one["kind"] for one in plan(client, on_prem=[POOL], usage={"runs_per_month": 100})["options"]} == {"cloud", "on_prem"}


def test_no_price_at_all_is_503(client, holder):
    holder.market = None
    answer = client.post("/plan", json=GOOD)
    assert (answer.status_code, answer.json()["code"]) == (503, "no-prices")


@pytest.mark.parametrize(
    ("changed", "pointer", "code"),
    [
        ({"fields": ["options", "optons"]}, "/fields/1", "refused"),
        ({"as_of": "2026-03-02T12:01:00Z"}, "/as_of", "refused"),
        ({"evaluated_at": "0001-01-01T00:00:00+14:00"}, "/evaluated_at", "refused"),
        ({"evaluated_at": 1700000000}, "/evaluated_at", "wrong_type"),
        ({"evaluated_at": "2026-03-02T12:00:00"}, "/evaluated_at", "wrong_format"),
        ({"save": {"name": "a"}}, "/save/owner", "missing"),
        ({"constrains": {}}, "/constrains", "unknown_field"),
        ({"constraints": {"gpus": ["H100", "nonesuch"]}}, "/constraints/gpus/1", "unknown_gpu"),
        ({"on_prem": ["nonesuch"]}, "/on_prem/0", "refused"),
        ({"on_prem": [{"gpus_per_node": 8}]}, "/on_prem/0/gpu", "missing"),
        ({"on_prem": [{"gpu": "nonesuch", "capex_usd_per_node": 1}]}, "/on_prem/0/gpu", "unknown_gpu"),
        ({"usage": {"runs": 1, "utilization": 0.5}}, "/usage", "refused"),
        ({"usage": {"utilization": 0.5}}, "/usage/reference_gpu", "refused"),
        ({"usage": {"hours_per_month": 100, "reference_gpu": "nonesuch"}}, "/usage/reference_gpu", "unknown_gpu"),
        ({"limit": 0}, "/limit", "out_of_range"),
        ({"workload": {"model": "llama-3.1-8b"}}, "/workload/tokens", "refused"),
        ({"workload": {"model": "nonesuch", "tokens": 1}}, "/workload/model", "unknown_model"),
    ],
)
def test_refusals_say_where(client, changed, pointer, code):
    assert refused(client, **changed) == [(pointer, code)]


def test_an_unknown_parameter_is_refused(client):
    assert client.post("/plan?limit=5", json=GOOD).status_code == 422


_numbers = st.sampled_from([0, 1, 2, 8, 0.5, 1e-9, 1e6, 1e12, 1e18, 100_000])
_workloads = st.fixed_dictionaries(
    {"model": st.sampled_from(["llama-3.1-8b", "gpt2", {"params_b": 70}, {"params_b": 1e-6}, {"params_b": 99_999}])},
    optional={
        "task": st.sampled_from(["train", "infer"]),
        "technique": st.sampled_from(["full", "lora", "qlora", "dpo", "grpo"]),
        "precision": st.sampled_from(["bf16", "fp16", "fp8", "int8", "int4"]),
        "strategy": st.sampled_from(["ddp", "fsdp", "zero2", "tensor_parallel", "single"]),
        "framework": st.sampled_from(["hf", "vllm", "unsloth", "llama_cpp"]),
        "tokens": _numbers,
        "sequence_length": st.sampled_from([1, 2048, 10_000_000]),
        "micro_batch_size": st.sampled_from([1, 4, 65_536]),
        "requests_per_second": _numbers | st.lists(st.sampled_from([0, 0.1, 1e9]), min_size=24, max_size=24),
        "prompt_tokens": st.sampled_from([1, 512, 10_000_000]),
        "output_tokens": st.sampled_from([1, 512, 10_000_000]),
        "data": st.fixed_dictionaries({}, optional={"dataset_gb": _numbers, "disk_gb": _numbers}),
        "checkpoint": st.fixed_dictionaries(
            {"supported": st.sampled_from(["yes", "no"])}, optional={"interval_minutes": _numbers}
        ),
    },
)
_POOLS = [POOL, {**POOL, "mode": "owned"}, "default", {"gpu": "A100", "usd_per_gpu_hour": 1}]
_raw = st.fixed_dictionaries(
    {"task": st.just("raw"), "vram_gib": _numbers}, optional={"gpu_hours": _numbers, "gpu_count": _numbers}
)
_bodies = st.fixed_dictionaries(
    {"workload": _workloads | _raw},
    optional={
        "usage": st.fixed_dictionaries({}, optional={"runs": _numbers, "utilization": _numbers, "reference_gpu": st.just("A10")}),
        "constraints": st.fixed_dictionaries(
            {},
            optional={
                "data_sensitivity": st.sampled_from(["public", "internal", "confidential", "restricted", "local_only"]),
                "residency": st.lists(st.sampled_from(["EU", "US", "Atlantis"]), max_size=2),
                "regimes": st.lists(st.sampled_from(["gdpr", "hipaa"]), max_size=2),
                "deadline_hours": _numbers,
                "max_usd_per_hour": _numbers,
                "min_gpu_count": st.sampled_from([1, 8, 100_000]),
            },
        ),
        "on_prem": st.lists(st.sampled_from(_POOLS), max_size=2),
        "limit": st.sampled_from([1, 200]),
        "evaluated_at": st.sampled_from(["2000-01-01T00:00:00Z", "2199-12-31T23:59:59Z"]),
    },
)  # fmt: skip


@settings(max_examples=100)
@given(_bodies)
def test_any_well_formed_request_is_an_answer_or_a_refusal(client_of_session, body):
    answer = client_of_session.post("/plan", json=body)
    assert answer.status_code in (200, 422), f"{answer.text}\n{json.dumps(body)}"
    if answer.status_code == 200:
        json.loads(answer.content, parse_constant=pytest.fail)
