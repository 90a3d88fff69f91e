"""Work of one training token, worked by hand for Llama-2-7B."""

from dataclasses import replace

import pytest

from service.estimate.flops import attended_tokens, attention_flops_per_token, linear_flops_per_token
from service.estimate.models import MODELS
from service.estimate.train_step import TrainStep, adapted_layers

LLAMA_2_7B = MODELS["Llama-2-7B"]
FULL = TrainStep(
    shape=LLAMA_2_7B,
    technique="full",
    precision="bf16",
    framework="torchtune",
    micro_batch=2,
    sequence=4096,
    recompute="none",
    compiled=True,
)
# 6.738e9 parameters less the embedding lookup of 32000 x 4096 = 0.131e9
MATMUL_PARAMS = 6.738e9 - 32000 * 4096


@pytest.mark.parametrize(
    ("technique", "recompute", "flops_per_weight"),
    [("full", "none", 6), ("full", "full", 8), ("lora", "none", 4), ("lora", "full", 6), ("qlora", "full", 6)],
)
def test_operations_per_weight_and_token(technique, recompute, flops_per_weight):
    step = replace(FULL, technique=technique, recompute=recompute)
    assert linear_flops_per_token(step) == pytest.approx(flops_per_weight * MATMUL_PARAMS)


def test_selective_recompute_lies_between_none_and_full():
    counts = [linear_flops_per_token(replace(FULL, recompute=kind)) for kind in ("none", "selective", "full")]
    assert counts == sorted(counts)
    assert counts[0] < counts[1] < counts[2]


def test_attention_counts_the_causal_half_forward_and_two_and_a_half_times_that_backward():
    # 4 x 32 layers x 4096 wide x 4096/2 tokens = 1.0737e9 forward, x 3.5
    assert attention_flops_per_token(FULL) == pytest.approx(4 * 32 * 4096 * 2048 * 3.5)


def test_an_encoder_attends_to_the_whole_sequence():
    causal = attended_tokens(FULL)
    encoder = attended_tokens(replace(FULL, shape=replace(LLAMA_2_7B, kind="encoder")))
    assert encoder == 2 * causal


def test_a_sliding_window_bounds_what_a_token_attends_to():
    # 16 of 32 layers see 1024 tokens: 16 x 2048 + 16 x 1024 x (1 - 1024 / 8192)
    sliding = replace(LLAMA_2_7B, sliding_window=1024, sliding_layers=16)
    assert attended_tokens(replace(FULL, shape=sliding)) == pytest.approx(16 * 2048 + 16 * 1024 * 0.875)


def test_a_mixture_counts_the_active_parameters_only():
    mixtral = MODELS["Mixtral-8x7B"]
    flops = linear_flops_per_token(replace(FULL, shape=mixtral))
    assert flops == pytest.approx(6 * (mixtral.params_active - mixtral.embedding_params))
    assert flops < 6 * mixtral.params_total / 3


@pytest.mark.parametrize(
    ("targets", "modules", "inputs", "outputs"),
    [
        ("q,v", 2, 4096 * 2, 4096 * 2),
        ("qkv", 1, 4096, 4096 * 3),
        ("q,k,v,o,mlp", 7, 4096 * 6 + 11008, 4096 * 5 + 11008 * 2),
        ("all", 7, 4096 * 6 + 11008, 4096 * 5 + 11008 * 2),
        (None, 7, 4096 * 6 + 11008, 4096 * 5 + 11008 * 2),
        ("none", 0, 0, 0),
    ],
)
def test_widths_of_adapted_projections(targets, modules, inputs, outputs):
    found = adapted_layers(LLAMA_2_7B, targets)
    assert (found.modules, found.input_width, found.output_width) == (modules, inputs, outputs)
