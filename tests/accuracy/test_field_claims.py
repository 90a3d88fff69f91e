"""The field's usual tables, claim by claim: what our estimator says of each, and why it differs.

Each claim is checked by the safe need of the whole device against what the card leaves, at 2048 tokens and batch 1.
"""

import json

import pytest

from providers.gpus import GPUS
from service.domain.workload import Workload
from service.estimate.estimate import Estimate, estimate_on, job_shape
from service.estimate.rule_of_thumb import BYTES_PER_PARAM, rule_of_thumb_gib

GIB_PER_GB = 1e9 / 2**30


def need(card: str, count: int = 1, *, nodes: int = 1, **fields) -> Estimate:
    work = {} if fields.get("task") == "infer" else {"tokens": 1e6, "sequence_length": 2048}
    job, _ = job_shape(Workload.model_validate_json(json.dumps(work | fields)))
    return estimate_on(job, GPUS[card], gpu_count=count, nodes=nodes)


@pytest.mark.parametrize(
    ("kind", "gigabytes"), [("full", 112), ("lora", 18), ("qlora", 6), ("inference_16bit", 14), ("inference_4bit", 4)]
)
def test_the_rule_of_thumb_gives_the_usual_table_for_7_billion(kind, gigabytes):
    assert rule_of_thumb_gib(7, kind=kind) == pytest.approx(gigabytes * GIB_PER_GB)
    assert rule_of_thumb_gib(14, kind=kind) == pytest.approx(2 * gigabytes * GIB_PER_GB)
    assert set(BYTES_PER_PARAM) >= {kind}


@pytest.mark.parametrize(
    ("kind", "fields", "low", "high"),
    [
        # states in bf16 take 10 bytes a parameter with the step's copy, not 16
        ("full", {"technique": "full", "framework": "hf"}, 0.55, 0.75),
        # with fp32 states the rule is met (its 16 bytes leave activations out)
        ("full", {"technique": "full", "framework": "llama_factory"}, 0.95, 1.35),
        ("lora", {"technique": "lora"}, 0.85, 1.10),
        # 4-bit weights are not all: embedding and head stay, in fp32, and logits and context come on top
        ("qlora", {"technique": "qlora"}, 1.2, 1.9),
        # an engine's workspace and the context
        ("inference_16bit", {"task": "infer"}, 1.05, 1.25),
        ("inference_4bit", {"task": "infer", "precision": "int4"}, 1.3, 1.9),
    ],
)
def test_ours_beside_the_rule(kind, fields, low, high):
    ours = need("H200-SXM", model="llama-2-7b", **fields).vram.point_gib
    assert low < ours / rule_of_thumb_gib(6.738, kind=kind) < high


TRUE = [
    ("RTX 4090 takes LoRA of 7B", "RTX 4090", 1, {"model": "llama-2-7b", "technique": "lora"}),
    ("RTX 4090 takes QLoRA of 7B", "RTX 4090", 1, {"model": "llama-2-7b", "technique": "qlora"}),
    ("RTX 4090 takes QLoRA of 13B", "RTX 4090", 1, {"model": "llama-2-13b", "technique": "qlora"}),
    ("RTX 5090 takes LoRA of 13B with a fused loss and offloaded checkpoints", "RTX 5090", 1,
     {"model": "llama-2-13b", "technique": "lora", "framework": "unsloth"}),
    ("RTX A6000 takes a full 7B with the optimizer in the backward pass", "RTX A6000", 1,
     {"model": "llama-2-7b", "technique": "full", "framework": "torchtune", "optimizer_in_backward": True}),
    ("RTX A6000 takes 30B as QLoRA", "RTX A6000", 1, {"model": "llama-1-33b", "technique": "qlora"}),
    ("several RTX A6000 take LoRA of 70B", "RTX A6000", 8, {"model": "llama-2-70b", "technique": "lora"}),
    ("four A100 take a full 13B", "A100-SXM4-80GB", 4, {"model": "llama-2-13b", "technique": "full"}),
    ("eight A100 take a full 30B", "A100-SXM4-80GB", 8, {"model": "llama-1-33b", "technique": "full"}),
    ("eight H100 take a full 30B", "H100-SXM", 8, {"model": "llama-1-33b", "technique": "full"}),
    ("eight H200 take a full 70B", "H200-SXM", 8, {"model": "llama-2-70b", "technique": "full"}),
]  # fmt: skip


@pytest.mark.parametrize(("card", "count", "fields"), [claim[1:] for claim in TRUE], ids=[claim[0] for claim in TRUE])
def test_claims_that_hold(card, count, fields):
    assert need(card, count, **fields).fits


FALSE = [
    # claim, card, count, fields, and the GiB that are missing at the least: what the weights alone are over
    ("RTX 4090 takes LoRA of 13B", "RTX 4090", 1, {"model": "llama-2-13b", "technique": "lora"}, 0.6),
    ("RTX 5090 takes LoRA of 30B", "RTX 5090", 1, {"model": "llama-1-33b", "technique": "lora"}, 29),
    ("RTX 5090 takes QLoRA of 70B", "RTX 5090", 1, {"model": "llama-3.1-70b", "technique": "qlora"}, 8),
    ("RTX A6000 takes a full 7B as recipes stand", "RTX A6000", 1, {"model": "llama-2-7b", "technique": "full"}, 2.7),
    ("one RTX A6000 takes LoRA of 30B", "RTX A6000", 1, {"model": "llama-1-33b", "technique": "lora"}, 13),
    ("one RTX A6000 takes LoRA of 70B", "RTX A6000", 1, {"model": "llama-2-70b", "technique": "lora"}, 80),
    ("eight H100 take a full 70B", "H100-SXM", 8, {"model": "llama-2-70b", "technique": "full"}, 1),
    ("one H200 takes a full 70B", "H200-SXM", 1, {"model": "llama-2-70b", "technique": "full"}, 245),
]


@pytest.mark.parametrize(
    ("card", "count", "fields", "missing_gib"), [claim[1:] for claim in FALSE], ids=[claim[0] for claim in FALSE]
)
def test_claims_that_do_not_hold(card, count, fields, missing_gib):
    found = need(card, count, **fields)
    assert (found.fits, found.reason) == (False, "vram")
    assert found.shortfall_gib > missing_gib


def test_two_machines_of_h100_take_a_full_70b():
    assert need("H100-SXM", 8, nodes=2, model="llama-2-70b", technique="full").fits


@pytest.mark.parametrize("technique", ["full", "lora"])
def test_a_14_gb_model_crashes_a_16_gb_card_in_training(technique):
    # 6.738e9 x 2 bytes = 12.55 GiB of 15.7: what training adds, the context and the cached blocks do not fit
    assert not need("RTX A4000", model="llama-2-7b", technique=technique).fits
