"""Seconds of a decode step and of a prefill: what is read, what waits, and how kernels differ."""

from dataclasses import replace

import pytest

from providers.gpus import GPUS
from service.estimate.card_rates import rates_of
from service.estimate.decode import cache_seconds, decode_seconds_per_token, decode_step_seconds, weight_seconds
from service.estimate.infer_step import InferStep, kv_bytes_read, weight_bytes_read, weight_bytes_resident
from service.estimate.models import MODELS
from service.estimate.prefill import prefill_seconds
from service.estimate.time_constants import TIME

A100, H20, RTX_4090 = (rates_of(GPUS[name]) for name in ("A100-SXM4-80GB", "H20-96GB", "RTX 4090"))
LLAMA_3_8B = MODELS["Llama-3.1-8B"]
STEP = InferStep(shape=LLAMA_3_8B, precision="bf16", framework="vllm", prompt=512, answer=256)
INT4 = replace(STEP, precision="int4", quantization="awq")


def test_one_token_of_llama_3_8b_reads_128_kib_of_cache_per_token_of_context():
    # 2 x 32 layers x 8 heads x 128 values x 2 bytes = 131072
    assert kv_bytes_read(STEP, 1000) == 131072 * 1000


def test_a_sliding_layer_reads_its_window_only():
    sliding = replace(STEP, shape=replace(LLAMA_3_8B, sliding_window=1024, sliding_layers=16))
    assert kv_bytes_read(sliding, 4096) == pytest.approx(131072 * (4096 / 2 + 1024 / 2))


def test_a_step_reads_the_linear_layers_and_the_head_but_no_lookup():
    # 8.03e9 - embedding 128256 x 4096 = 7.505e9 weights at 2 bytes
    assert weight_bytes_read(STEP) == pytest.approx(2 * (8.03e9 - 128256 * 4096))
    assert weight_bytes_resident(STEP) == pytest.approx(2 * 8.03e9)


def test_a_batch_hits_more_experts_up_to_all():
    mixtral = replace(STEP, shape=MODELS["Mixtral-8x7B"])
    read = [weight_bytes_read(mixtral, rows=rows) for rows in (1, 4, 64, 4096)]
    assert read == sorted(read)
    # 2 of 8 experts for one row; 1 - (3/4)^4 = 0.684 of them for four: 2.73 times as many
    assert read[1] < 2.8 * read[0]
    assert read[3] == pytest.approx(2 * (MODELS["Mixtral-8x7B"].params_total - 32000 * 4096), rel=0.01)


def test_weights_are_read_at_the_streamed_rate():
    by_hand = 2 * (8.03e9 - 128256 * 4096) / (2039e9 * TIME.decode.bandwidth_share)
    assert weight_seconds(STEP, A100, TIME) == pytest.approx(by_hand)


def test_a_card_with_little_arithmetic_is_held_by_padded_tiles():
    # H20: 4000 GB/s but 148 TFLOPS: tiles of many rows take longer than reading 15 GB
    read = weight_bytes_read(STEP) / H20.streamed
    assert weight_seconds(STEP, H20, TIME) > 1.5 * read
    assert weight_seconds(INT4, H20, TIME) < weight_seconds(STEP, H20, TIME)


def test_hugging_face_moves_a_grouped_cache_many_times():
    hf = replace(STEP, framework="hf")
    once = kv_bytes_read(hf, 8192) / A100.streamed
    # 3 copies and 4 more of expanded heads, then 4 read head by head
    assert cache_seconds(hf, A100, TIME, context=8192) > 10 * once
    assert cache_seconds(replace(STEP, framework="sglang"), A100, TIME, context=8192) < 2 * once


def test_eager_python_hides_the_card_for_small_models():
    small = InferStep(shape=MODELS["Qwen2-0.5B"], precision="bf16", framework="hf")
    python = TIME.decode.seconds_per_layer["hf"] * 24
    assert decode_step_seconds(small, A100, context=64) == pytest.approx(python, rel=0.1)


def test_captured_graphs_show_their_gaps_beside_the_cards_work():
    card = weight_seconds(STEP, A100, TIME) + cache_seconds(STEP, A100, TIME, context=512)
    gaps = 32 * TIME.decode.seconds_per_layer["vllm"]
    assert decode_step_seconds(STEP, A100, context=512) == pytest.approx(card + gaps)


def test_tensor_parallel_divides_a_prompts_time():
    long = replace(STEP, prompt=8192)
    assert prefill_seconds(replace(long, tensor=4), A100) == pytest.approx(prefill_seconds(long, A100) / 4)


def test_a_batch_raises_the_rate_and_not_the_step_much():
    one, many = (decode_seconds_per_token(replace(STEP, batch=batch), A100) for batch in (1, 16))
    assert many < one / 8


def test_vectors_kernels_lose_their_lead_in_batches():
    gemm = replace(INT4, framework="autoawq")
    gemv = replace(gemm, vector_kernels=True)
    batched = [weight_seconds(replace(step, batch=8), RTX_4090, TIME) for step in (gemm, gemv)]
    assert weight_seconds(gemv, RTX_4090, TIME) == weight_seconds(gemm, RTX_4090, TIME)
    assert batched[1] > 2 * batched[0]
    assert prefill_seconds(gemv, RTX_4090) > 2 * prefill_seconds(gemm, RTX_4090)


def test_contexts_beyond_the_captured_graphs_run_eagerly_in_vllm():
    small = InferStep(shape=MODELS["Qwen2-0.5B"], precision="bf16", framework="vllm")
    before, after = (decode_step_seconds(small, A100, context=tokens) for tokens in (8192, 8193))
    assert after > 1.8 * before


@pytest.mark.parametrize("framework", ["vllm", "hf", "llama_cpp", "exllama", "gpt_fast", "sglang", "tensorrt_llm", "unknown"])
def test_tensor_parallel_halves_a_large_model_less_its_exchange(framework):
    large = InferStep(shape=MODELS["Llama-3.1-70B"], precision="bf16", framework=framework)
    one, two = (decode_step_seconds(replace(large, tensor=n), A100, context=512) for n in (1, 2))
    assert one / 2 < two < one


def test_prefill_takes_two_operations_per_weight_and_token():
    long = replace(STEP, prompt=4096)
    linear = 2 * (8.03e9 - 128256 * 4096) * 4096 * (1 + TIME.matmul.narrow_hidden / 4096)
    least = linear / (A100.matmul_16bit * TIME.prefill.share_16bit)
    assert least < prefill_seconds(long, A100) < 1.4 * least


def test_expanding_weights_slows_prefill_though_decode_gains():
    long_int4, long = replace(INT4, framework="autoawq", prompt=4096), replace(STEP, prompt=4096)
    assert prefill_seconds(long_int4, A100) > prefill_seconds(long, A100)
    assert decode_step_seconds(long_int4, A100, context=512) < decode_step_seconds(long, A100, context=512)


@pytest.mark.parametrize("framework", ["llama_cpp", "exllama"])
def test_engines_that_sum_in_16_bits_use_a_geforces_whole_chip(framework):
    # the 4090's 16-bit sums run above its published rate, an A6000's do not
    four, six = (rates_of(GPUS[name]) for name in ("RTX 4090", "RTX A6000"))
    step = replace(INT4, framework=framework, prompt=2048)
    assert prefill_seconds(step, six) / prefill_seconds(step, four) > 1.3 * four.matmul_16bit / six.matmul_16bit
