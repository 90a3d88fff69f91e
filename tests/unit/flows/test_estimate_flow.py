"""The estimate of a workload card by card: refusals with their pointers, and what the answer shows."""

import json

import pytest

from providers.errors import InvalidInput
from service.domain.estimation import EstimateAnswer, EstimateRequest
from service.flows.estimate import make_estimate


def answer(workload: dict, **fields) -> EstimateAnswer:
    return make_estimate(EstimateRequest.model_validate_json(json.dumps({"workload": workload} | fields)))


def test_a_forced_split_that_no_asked_count_allows_is_refused():
    # Llama-3.1-8B has 8 key-value heads: 3 GPUs cannot share them
    split = {"task": "infer", "model": "llama-3.1-8b", "strategy": "tensor_parallel"}
    with pytest.raises(InvalidInput) as refused:
        answer(split, gpus=["H100 SXM"], gpu_counts=[3, 6])
    assert refused.value.pointer == "/workload/strategy"
    assert refused.value.allowed == ("1", "2", "4", "8")
    assert answer(split, gpus=["H100 SXM"], gpu_counts=[3, 4]).gpus[0].smallest_gpu_count == 4


LORA_13B = {"model": "llama-2-13b", "technique": "lora", "tokens": 1e6, "sequence_length": 2048}


def card(answer: EstimateAnswer, name: str):
    return next(one for one in answer.gpus if one.gpu == name)


@pytest.mark.parametrize(
    ("changes", "gpu", "settings"),
    [
        ({"micro_batch_size": 2, "gradient_checkpointing": False}, "A100-PCIe-40GB", ("gradient checkpointing",)),
        # 24.2 GiB of weights: nothing but fewer bytes for them lets 13B into 24 GB
        ({}, "RTX 4090", ("QLoRA",)),
        ({"micro_batch_size": 16, "loss": "chunked"}, "A100-PCIe-40GB", ("micro batch 4",)),
    ],
)
def test_a_card_that_misses_is_told_the_smallest_change(changes, gpu, settings):
    found = card(answer(LORA_13B | changes, gpus=[gpu], gpu_counts=[1]), gpu)
    assert found.smallest_gpu_count is None
    change = found.would_fit_with
    assert change.settings == settings
    assert change.need_gib <= found.groups[0].usable_gib
    assert change.missing_gib == pytest.approx(-found.groups[0].headroom_gib)
    assert settings[0] in change.explained


def test_the_change_does_what_it_says():
    changed = answer(LORA_13B | {"technique": "qlora"}, gpus=["RTX 4090"], gpu_counts=[1]).gpus[0]
    promised = answer(LORA_13B, gpus=["RTX 4090"], gpu_counts=[1]).gpus[0].would_fit_with
    assert changed.smallest_gpu_count == 1
    assert changed.groups[0].need_gib == pytest.approx(promised.need_gib)


def test_two_settings_are_named_where_one_is_not_enough():
    work = LORA_13B | {"gradient_checkpointing": False, "micro_batch_size": 8, "loss": "chunked"}
    change = answer(work, gpus=["A100-PCIe-40GB"], gpu_counts=[1]).gpus[0].would_fit_with
    assert change.settings == ("gradient checkpointing", "micro batch 4")


def test_fewer_gpus_are_offered_where_more_are_needed_now():
    found = answer(LORA_13B, gpus=["RTX 4090"], gpu_counts=[1, 2]).gpus[0]
    assert (found.smallest_gpu_count, found.would_fit_with.gpu_count) == (2, 1)


@pytest.mark.parametrize(
    ("workload", "gpu"),
    [
        (LORA_13B, "H100-SXM"),  # runs on the least count
        (LORA_13B, "T4"),  # lacks bf16: no setting that frees memory helps
        ({"model": "llama-3.1-405b", "technique": "full", "tokens": 1e6}, "L4"),  # nothing is enough
    ],
)
def test_no_change_is_offered_where_none_is_needed_or_none_helps(workload, gpu):
    assert answer(workload, gpus=[gpu], gpu_counts=[1]).gpus[0].would_fit_with is None


def test_a_served_model_is_offered_fewer_bits():
    found = answer({"task": "infer", "model": "llama-2-7b"}, gpus=["RTX A4000"], gpu_counts=[1]).gpus[0]
    assert found.would_fit_with.settings == ("8-bit weights",)


def test_the_parts_of_a_card_are_those_of_the_group_it_is_shown_with():
    found = answer(LORA_13B, gpus=["RTX 4090"], gpu_counts=[1, 2, 4]).gpus[0]
    assert found.shown_gpu_count == 2
    half_of_weights = 13.016e9 * 2 / 2**30 / 2
    assert next(part.gib for part in found.parts if part.name == "weights") == pytest.approx(half_of_weights, rel=0.01)


@pytest.mark.parametrize(
    ("workload", "use", "gigabytes", "largest", "why"),
    [
        ({"technique": "full", "tokens": 1}, "full", 112, "training_states", "16 bits"),
        ({"technique": "lora", "tokens": 1}, "lora", 18, "working_memory", "logits"),
        ({"technique": "qlora", "tokens": 1}, "qlora", 6, "working_memory", "logits"),
        ({"task": "infer"}, "inference_16bit", 14, "working_memory", "cache"),
        ({"task": "infer", "precision": "int4"}, "inference_4bit", 4, "weights", "embedding"),
    ],
)
def test_the_rule_of_thumb_stands_beside_ours_with_the_reason(workload, use, gigabytes, largest, why):
    rule = answer({"model": {"params_b": 7}} | workload, gpus=["H100 SXM"]).rule_of_thumb
    assert rule.use == use
    assert rule.rule_gib == pytest.approx(gigabytes * 1e9 / 2**30, abs=0.001)
    # the groups add up to both totals
    assert sum(one.rule_gib for one in rule.differences) == pytest.approx(rule.rule_gib, abs=0.01)
    assert sum(one.ours_gib for one in rule.differences) == pytest.approx(rule.ours_gib, abs=0.01)
    most = max(rule.differences, key=lambda one: abs(one.ours_gib - one.rule_gib))
    assert most.part == largest
    assert why in most.why
    assert f"{rule.ours_gib:.1f} GiB" in rule.explained


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b", "bert-base-uncased", "whisper-large-v3"])
@pytest.mark.parametrize("technique", ["full", "lora", "qlora"])
def test_the_rule_adds_up_for_every_kind_of_model(model, technique):
    rule = answer({"model": model, "technique": technique, "tokens": 1}, gpus=["H100 SXM"]).rule_of_thumb
    assert sum(one.ours_gib for one in rule.differences) == pytest.approx(rule.ours_gib, abs=0.01)
