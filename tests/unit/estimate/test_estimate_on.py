"""The composition: the fastest strategy that fits, or why none does."""

import json

import pytest

from providers.gpus import GPUS
from service.domain.workload import Workload
from service.estimate.advice import settings_that_free_most
from service.estimate.estimate import estimate_on, estimates_by_strategy, job_shape
from service.estimate.models import MODELS
from service.estimate.parallel import Parallelism, inference_ways, tensor_degrees, training_ways

A100, H100, RTX_4090, V100 = (GPUS[name] for name in ("A100-SXM4-80GB", "H100-SXM", "RTX 4090", "V100-SXM2-16GB"))


def job_of(**fields):
    work = {} if fields.get("task") == "infer" else {"tokens": 1e6}
    return job_shape(Workload.model_validate_json(json.dumps(work | fields)))[0]


def test_qlora_of_8_billion_fits_one_consumer_card():
    found = estimate_on(job_of(model="llama-3.1-8b", technique="qlora"), RTX_4090, gpu_count=1)
    assert found.fits
    assert found.strategy == "single"
    assert found.seconds_per_unit is not None
    assert found.tokens_per_second.mid == pytest.approx(1 / found.seconds_per_unit.mid)


def test_a_full_fine_tune_of_8_billion_needs_several_cards():
    job = job_of(model="llama-3.1-8b", technique="full")
    one, eight = (estimate_on(job, A100, gpu_count=count) for count in (1, 8))
    assert (one.fits, one.reason) == (False, "vram")
    assert one.shortfall_gib == pytest.approx(one.vram.safe_gib - 79.14)
    assert "GiB" in one.detail
    assert eight.fits


def test_70_billion_in_16_bits_never_fit_one_80_gb_card():
    # 131.4 GiB of weights against 79.14 usable; two cards hold them
    job = job_of(task="infer", model="llama-3.1-70b")
    assert not estimate_on(job, A100, gpu_count=1).fits
    two = estimate_on(job, A100, gpu_count=2)
    assert (two.fits, two.strategy) == (True, "tensor_parallel=2")


def test_parts_add_up_to_the_point():
    for job in (job_of(model="llama-3.1-8b"), job_of(task="infer", model="mixtral-8x7b")):
        vram = estimate_on(job, H100, gpu_count=8).vram
        assert sum(part.gib for part in vram.parts) == pytest.approx(vram.point_gib)
        assert vram.headroom_gib == pytest.approx(vram.usable_gib - vram.safe_gib)
        assert "GiB" in vram.dominated_by


def test_bf16_on_a_card_without_it_names_fp16():
    refused = estimate_on(job_of(model="gpt2"), V100, gpu_count=1)
    assert (refused.fits, refused.reason) == (False, "precision")
    assert "fp16" in refused.detail
    assert estimate_on(job_of(model="gpt2", precision="fp16"), V100, gpu_count=1).fits


def test_fp8_training_needs_a_card_with_fp8():
    assert estimate_on(job_of(model="gpt2", precision="fp8"), A100, gpu_count=1).reason == "precision"


def test_a_fraction_of_a_card_is_a_smaller_memory():
    job = job_of(task="infer", model="llama-3.2-1b")
    whole, eighth = (estimate_on(job, A100, gpu_count=1, usable_gib=gib) for gib in (None, 79.14 / 40))
    assert whole.fits
    assert not eighth.fits
    assert eighth.vram.usable_gib == pytest.approx(1.9785)


def test_replicas_multiply_the_rate_and_not_the_need():
    job = job_of(task="infer", model="llama-3.1-8b")
    ways = {one.strategy: one for one in estimates_by_strategy(job, H100, gpu_count=4)}
    one = estimates_by_strategy(job, H100, gpu_count=1)[0]
    assert ways["replicas=4"].requests_per_second.mid == pytest.approx(4 * one.requests_per_second.mid)
    assert ways["replicas=4"].vram.point_gib == pytest.approx(one.vram.point_gib)


def test_all_strategies_are_told():
    job = job_of(model="llama-3.1-8b", technique="full")
    assert [one.strategy for one in estimates_by_strategy(job, A100, gpu_count=8)] == ["ddp", "zero2", "fsdp"]
    adapters = job_of(model="llama-3.1-8b", technique="lora")
    assert [one.strategy for one in estimates_by_strategy(adapters, A100, gpu_count=8)] == ["ddp", "fsdp"]


def test_the_best_is_one_of_them_and_no_fitting_one_is_faster():
    job = job_of(model="llama-3.1-8b", technique="full")
    best = estimate_on(job, A100, gpu_count=8)
    fitting = [one for one in estimates_by_strategy(job, A100, gpu_count=8) if one.fits]
    assert best in fitting
    assert all(best.tokens_per_second.mid >= one.tokens_per_second.mid for one in fitting)


def test_a_forced_strategy_that_cannot_be_laid_is_told():
    job = job_of(task="infer", model="qwen2.5-7b", strategy="tensor_parallel")
    refused = estimate_on(job, A100, gpu_count=8)  # 4 KV heads
    assert (refused.fits, refused.reason) == (False, "parallelism")
    assert estimate_on(job, A100, gpu_count=4).fits


def test_little_headroom_comes_with_the_two_settings_that_free_most():
    job = job_of(model="llama-3.1-8b", technique="lora", micro_batch_size=4)
    need = estimate_on(job, A100, gpu_count=1).vram.safe_gib
    tight = estimate_on(job, A100, gpu_count=1, usable_gib=need * 1.02)
    assert (tight.fits, tight.low_headroom, len(tight.advice)) == (True, True, 2)
    assert not estimate_on(job, A100, gpu_count=1, usable_gib=need * 1.2).low_headroom


def test_advice_frees_what_it_says():
    job = job_of(model="llama-3.1-8b", technique="lora", micro_batch_size=4)
    before = estimate_on(job, A100, gpu_count=1).vram.safe_gib
    savings = settings_that_free_most(job, Parallelism())
    assert [one.freed_gib for one in savings] == sorted((one.freed_gib for one in savings), reverse=True)
    for saving in savings:
        after = estimate_on(saving.job, A100, gpu_count=1).vram.safe_gib
        assert before - after == pytest.approx(saving.freed_gib)


def test_two_machines_hold_what_one_cannot():
    job = job_of(task="infer", model="llama-3.1-405b")
    assert not estimate_on(job, H100, gpu_count=8).fits
    two = estimate_on(job, H100, gpu_count=8, nodes=2)
    assert (two.fits, two.strategy) == (True, "tensor_parallel=8,pipeline_parallel=2")


@pytest.mark.parametrize(
    ("model", "count", "degrees"),
    [("Llama-3.1-8B", 8, (1, 2, 4, 8)), ("Qwen2.5-7B", 8, (1, 2, 4)), ("Gemma-2B", 8, (1,)), ("DeepSeek-V3", 8, (1, 2, 4, 8)),
     ("Llama-3.1-8B", 6, (1, 2)), ("SDXL-1.0", 4, (1,))],
)  # fmt: skip
def test_tensor_degrees_divide_the_group_and_the_kv_heads(model, count, degrees):
    assert tensor_degrees(MODELS[model], count) == degrees


def test_ways_use_every_gpu_of_the_group():
    for count, nodes in ((1, 1), (4, 1), (8, 2), (3, 1)):
        for way in training_ways(gpu_count=count, nodes=nodes, forced=None, is_full=True):
            assert way.gpus == count * nodes
        for way in inference_ways(MODELS["Llama-3.1-70B"], gpu_count=count, nodes=nodes, forced=None):
            assert way.gpus == count * nodes


@pytest.mark.parametrize(("technique", "dearer_than"), [("dpo", "full"), ("ppo", "dpo"), ("ppo", "grpo"), ("grpo", "full")])
def test_preference_techniques_hold_more_models(technique, dearer_than):
    def need(name: str) -> float:
        return estimate_on(job_of(model="llama-3.2-1b", technique=name), H100, gpu_count=1).vram.point_gib

    assert need(technique) > need(dearer_than)


def test_preference_techniques_have_a_wider_margin():
    def margin(name: str) -> float:
        vram = estimate_on(job_of(model="llama-3.2-1b", technique=name), H100, gpu_count=1).vram
        return vram.safe_gib / vram.point_gib

    assert margin("ppo") > margin("full") + 0.15


def test_adapters_switched_off_are_their_own_reference():
    full = estimate_on(job_of(model="llama-3.1-8b", technique="dpo"), H100, gpu_count=8)
    adapters = estimate_on(job_of(model="llama-3.1-8b", technique="dpo", lora_rank=16), H100, gpu_count=1)
    sizes = {part.name: part.gib for part in adapters.vram.parts}
    assert sizes["weights"] == pytest.approx(14.96, abs=0.01)  # 8.03e9 x 2 bytes, once
    assert full.fits


@pytest.mark.parametrize("model", ["bert-large", "t5-xl-v1.1", "whisper-large-v3", "vit-large-16", "sdxl", "flux.1-dev"])
def test_other_networks_are_estimated_too(model):
    for job in (job_of(model=model), job_of(model=model, technique="lora"), job_of(task="infer", model=model)):
        for found in estimates_by_strategy(job, H100, gpu_count=1):
            weights = next(part.gib for part in found.vram.parts if part.name == "weights")
            assert 0 < weights < found.vram.point_gib < found.vram.safe_gib


def test_image_models_state_a_wide_range():
    vram = estimate_on(job_of(task="infer", model="sdxl"), H100, gpu_count=1).vram
    assert vram.safe_gib > 1.6 * vram.point_gib


LLAMA_70B_CONFIG = {
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", None])
def test_the_configurations_dtype_does_not_change_the_weights(dtype):
    job = job_of(task="infer", model=LLAMA_70B_CONFIG | ({"torch_dtype": dtype} if dtype else {}), precision="bf16")
    found = estimate_on(job, A100, gpu_count=1)
    weights = next(part.gib for part in found.vram.parts if part.name == "weights")
    assert weights == pytest.approx(131.4, abs=0.05)  # 70.55e9 x 2 / 2^30
    assert not found.fits


@pytest.mark.parametrize(("head_dim", "cache_precision", "gib"), [(128, None, 1.0), (64, None, 0.5), (128, "fp8", 0.5)])
def test_the_cache_counts_kv_heads_of_the_stated_size(head_dim, cache_precision, gib):
    # 2 x 32 layers x 8 KV heads x 128 x 2 bytes x 8192 tokens = 1 GiB; half for half the head or half the bytes
    config = LLAMA_70B_CONFIG | {
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336,
        "head_dim": head_dim,
    }  # fmt: skip
    cache = {"kv_cache_precision": cache_precision} if cache_precision else {}
    job = job_of(task="infer", model=config, prompt_tokens=8000, output_tokens=192, framework="vllm", **cache)
    vram = estimate_on(job, H100, gpu_count=1).vram
    assert next(part.gib for part in vram.parts if part.name == "kv_cache") == gib
