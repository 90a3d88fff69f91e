"""POST /estimate: what it shows beside the memory, with the user's calibration and with models by repository id."""

import json
from dataclasses import replace

import httpx
import pytest
from starlette.testclient import TestClient

from service.api.app import create_app
from service.estimate.calibration import Calibration
from service.flows.model_lookup import ModelLookup

LORA_13B = {"workload": {"model": "llama-2-13b", "technique": "lora", "tokens": 1e6}, "gpus": ["RTX 4090"], "gpu_counts": [1]}
ZEBRA = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "vocab_size": 32000}
BY_ID = {"workload": {"model": "zebra-lab/zebra-1b", "technique": "lora", "tokens": 1e6}, "gpus": ["H100 SXM"]}


@pytest.fixture
def door(over, holder, api_database):
    """The application with parts of its context set by a test."""
    return lambda **parts: TestClient(create_app(replace(over(holder, api_database), **parts)))


def lookup(answer: httpx.Response) -> ModelLookup:
    return ModelLookup(httpx.Client(transport=httpx.MockTransport(lambda _: answer)))


def test_the_smallest_change_and_the_rule_of_thumb_stand_in_the_answer(client):
    answer = client.post("/estimate", json=LORA_13B).json()
    card = answer["gpus"][0]
    assert card["would_fit_with"]["settings"] == ["QLoRA"]
    assert sum(part["gib"] for part in card["parts"]) > card["groups"][0]["usable_gib"]
    assert (answer["rule_of_thumb"]["use"], answer["rule_of_thumb"]["rule_gib"]) == ("lora", pytest.approx(31.17, abs=0.01))


def test_counts_that_a_forced_split_does_not_divide_are_refused(client):
    work = {"task": "infer", "model": "llama-3.1-8b", "strategy": "tensor_parallel"}
    refused = client.post("/estimate", json={"workload": work, "gpu_counts": [3]})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/workload/strategy"


def test_a_calibration_changes_the_figures_and_is_listed(door):
    asked = LORA_13B | {"gpus": ["H100 SXM"]}
    slow = Calibration(seconds={"hf/train": 2.0}, rows=9, as_of="2026-08-01")
    ours, theirs = (door(**parts).post("/estimate", json=asked).json() for parts in ({}, {"calibration": slow}))
    rates = [one["gpus"][0]["groups"][0]["tokens_per_second"]["mid"] for one in (ours, theirs)]
    assert rates[1] == pytest.approx(rates[0] / 2, rel=1e-4)
    assert "calibration: time of hf/train" in [one["name"] for one in theirs["assumptions"]]


def test_a_repository_is_read_where_the_setting_allows_it(door):
    known = lookup(httpx.Response(200, content=json.dumps(ZEBRA)))
    assert door(models=known).post("/estimate", json=BY_ID).json()["requirement"]["model"] == "zebra-lab/zebra-1b"
    refused = door().post("/estimate", json=BY_ID)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown-model")


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (httpx.Response(401, headers={"X-Error-Code": "GatedRepo"}), 422, "invalid-input"),
        (httpx.Response(404, headers={"X-Error-Code": "RepoNotFound"}), 422, "unknown-model"),
        (httpx.Response(503), 502, "provider-error"),
        (httpx.Response(200, content=b"<html>"), 502, "provider-error"),
    ],
)
def test_a_repository_that_cannot_be_read_is_told(door, answer, status, code):
    refused = door(models=lookup(answer)).post("/estimate", json=BY_ID)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    if status == 422:
        assert refused.json()["errors"][0]["pointer"] == "/workload/model"
