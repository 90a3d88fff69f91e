"""Bodies: whatever is sent, a client gets a 4xx problem that says where and what, and never its own bytes back."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.body import MAX_BODY_BYTES, MAX_DEPTH
from service.api.problems import MAX_FAULTS, Problem

GOOD = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 5e7}, "gpus": ["H100"], "gpu_counts": [1]}
JSON = {"Content-Type": "application/json"}


def post(client, body, headers=JSON):
    content = body if isinstance(body, bytes | str) else json.dumps(body)
    return client.post("/estimate", content=content, headers=headers)


def refused(answer, status, code):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    Problem.model_validate(answer.json())
    assert answer.json()["code"] == code
    return answer.json()["errors"]


def test_the_good_body_is_good(client):
    assert post(client, GOOD).status_code == 200


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ('{"workload": {"model": "llama-3.1-8b", "tokens": NaN}}', "/workload/tokens", "not_finite"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": Infinity}}', "/workload/tokens", "not_finite"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": -Infinity}}', "/workload/tokens", "not_finite"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": 1e999}}', "/workload/tokens", "not_finite"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": ' + "9" * 5000 + "}}", "/workload/tokens", "not_finite"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": ' + "9" * 25 + "}}", "/workload/tokens", "out_of_range"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": "nan"}}', "/workload/tokens", "wrong_type"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": "5"}}', "/workload/tokens", "wrong_type"),
        ('{"workload": {"model": "llama-3.1-8b", "tokens": true}}', "/workload/tokens", "wrong_type"),
        ('{"workload": {"model": {"hidden_size": NaN}}}', "/workload/model/hidden_size", "not_finite"),
        ('{"workload": {"model": {"a/b~": [1, 1e999]}}}', "/workload/model/a~1b~0/1", "not_finite"),
        ('{"workload": {"model": "a", "model": "b"}}', "/workload/model", "duplicate_name"),
        ('{"workload": {"model": "a"}, "gpus": ["H100"], "gpus": []}', "/gpus", "duplicate_name"),
        ('{"workload": {"model": "llama-3.1-8b", "sequence_lenght": 1}}', "/workload/sequence_lenght", "unknown_field"),
        ('{"workload": {"model": "llama-3.1-8b", "data": {"datset_gb": 1}}}', "/workload/data/datset_gb", "unknown_field"),
        ('{"workload": {"model": "llama-3.1-8b", "task": "trian"}}', "/workload/task", "not_allowed"),
        ('{"workload": {"model": "gpt2", "requests_per_second": "x"}}', "/workload/requests_per_second", "wrong_type"),
        ('{"workload": {"technique": "lora"}}', "/workload", "refused"),
        ('{"workload": {"model": 5}}', "/workload/model", "wrong_type"),
        ("{}", "/workload", "missing"),
        ("[]", "", "wrong_type"),
        ("null", "", "wrong_type"),
        ('{"workload": {"model": "no-such-model-zebra"}}', "/workload/model", "unknown_model"),
        ('{"workload": {"model": "llama-3.1-8b"}, "gpus": ["H100", "zebra"]}', "/gpus/1", "unknown_gpu"),
        ('{"workload": {"task": "raw", "vram_gib": 10}}', "/workload/task", "refused"),
    ],
)  # fmt: skip
def test_a_value_that_is_refused_is_placed_and_not_repeated(client, text, pointer, code):
    answer = post(client, text)
    (fault,) = refused(answer, 422, answer.json()["code"])
    assert (fault["pointer"], fault["code"], fault["in"]) == (pointer, code, "body")
    assert "zebra" not in answer.text
    assert "999" not in json.dumps([answer.json()["detail"], fault])


def test_an_unknown_field_names_the_nearest(client):
    (fault,) = post(client, {"workload": {"model": "llama-3.1-8b", "sequence_lenght": 1}}).json()["errors"]
    assert fault["allowed"][0] == "sequence_length"


def test_an_unknown_model_names_the_nearest(client):
    (fault,) = post(client, {"workload": {"model": "lama-3.1-8"}}).json()["errors"]
    assert any("Llama" in name for name in fault["allowed"])


def test_all_faults_are_told_at_once(client):
    errors = post(client, {"workload": {"model": "llama-3.1-8b", "tokens": -1, "epochs": "x"}, "gpu_counts": [0]}).json()[
        "errors"
    ]
    assert {one["pointer"] for one in errors} == {"/workload/tokens", "/workload/epochs", "/gpu_counts/0"}


def test_faults_are_bounded(client):
    many = {f"field{number}": 1 for number in range(5000)}
    assert len(refused(post(client, {**GOOD, **many}), 422, "invalid-input")) == MAX_FAULTS


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"{",
        b'{"workload": }',
        b"{'workload': 1}",
        b'{"a": 1} {"b": 2}',
        b'{"workload": "\xff\xfe"}',
        b"\xef\xbb\xbf{}",
        json.dumps(GOOD).encode("utf-16"),
        b'{"workload": {"model": "\\ud800"}}',
        b'{"workload": "a\nb"}',
        b'{"a": 01}',
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"[" * 500_000,
        b"\x00" * 100,
    ],
    ids=range(16),
)
def test_what_is_not_json_is_400(client, raw):
    refused(post(client, raw), 400, "invalid-json")


def test_brackets_in_a_text_are_not_nesting(client):
    body = {**GOOD, "workload": {**GOOD["workload"], "name": "[{" * 60 + '\\"' + "[[["}}
    assert post(client, body).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json-seq"},
        {"Content-Type": ""},
        {},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_a_body_not_declared_as_json_is_415(client, headers):
    refused(post(client, GOOD, headers), 415, "unsupported-media-type")


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=UTF-8", "application/vnd.acme+json"])
def test_declared_as_json(client, kind):
    assert post(client, GOOD, {"Content-Type": kind}).status_code == 200


def test_a_body_over_the_limit_is_413(client):
    refused(post(client, b" " * (MAX_BODY_BYTES + 1)), 413, "payload-too-large")


def test_a_chunked_body_over_the_limit_is_413(client):
    def parts():
        for _ in range(20):
            yield b" " * 65_536

    answer = client.post("/estimate", content=parts(), headers=JSON)
    refused(answer, 413, "payload-too-large")


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "9" * 40])
def test_a_broken_length_is_refused(client, length):
    answer = client.post("/estimate", content=json.dumps(GOOD), headers={**JSON, "Content-Length": length})
    assert answer.status_code in (400, 413)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "model",
    "task",
    "tokens",
    "technique",
    "precision",
    "sequence_length",
    "vram_gib",
    "gpu_count",
    "examples",
    "lora_targets",
)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_junk_is_a_problem(client_of_session, raw):
    answer = post(client_of_session, raw)
    assert 400 <= answer.status_code < 500
    Problem.model_validate(answer.json())


@given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5), st.booleans())
def test_junk_in_the_right_places_is_never_a_500(client_of_session, fields, is_known):
    workload = {**({"model": "llama-3.1-8b"} if is_known else {}), **fields}
    answer = post(client_of_session, json.dumps({"workload": workload, "gpus": ["L4"]}))
    assert answer.status_code in (200, 400, 422), answer.text


CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "head_dim": 64,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": 4096,
}
NUMBERS = st.integers(-(10**25), 10**25) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1, 300) | json_values


def test_a_config_json_is_a_model(client):
    answer = post(client, {"workload": {"model": CONFIG}, "gpus": ["L4"]})
    assert answer.status_code == 200


@settings(max_examples=100)
@given(
    st.dictionaries(st.sampled_from([*sorted(CONFIG), "text_config"]), NUMBERS, max_size=3),
    st.sets(st.sampled_from(sorted(CONFIG)), max_size=3),
    st.sampled_from(["train", "infer"]),
)
def test_any_config_json_is_an_answer_or_a_problem(client_of_session, changed, absent, task):
    config = {name: value for name, value in {**CONFIG, **changed}.items() if name not in absent}
    body = {"workload": {"model": config, "task": task}, "gpus": ["L4", "H100-SXM"], "gpu_counts": [1, 8]}
    answer = post(client_of_session, json.dumps(body))
    assert answer.status_code in (200, 400, 422), answer.text
