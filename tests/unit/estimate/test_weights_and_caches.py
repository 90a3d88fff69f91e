"""Caches and weights of the memory model against cases worked by hand."""

import pytest

from providers.errors import InvalidInput
from providers.units import GIB
from service.domain.workload import Framework, Strategy
from service.estimate.inference_memory import inference_peak
from service.estimate.kv_cache import cache_bytes, kv_bytes_per_token, kv_cache_gib
from service.estimate.memory_constants import MEMORY
from service.estimate.memory_setup import MemorySetup
from service.estimate.models import MODELS
from service.estimate.parallel import Parallelism
from service.estimate.weights import dequantised_bytes, quantised_weight_bytes, weight_bytes

LLAMA_3_8B = MODELS["Llama-3-8B"]
LLAMA_2_7B = MODELS["Llama-2-7B"]
EIGHT_BILLION = {"layers": 32, "kv_heads": 8, "head_dim": 128, "bytes_per_value": 2}


def test_llama_3_8b_caches_128_kib_a_token():
    # keys and values: 2 x 32 layers x 8 heads x 128 values x 2 bytes = 131072 bytes; 32 KV heads would be four times that
    assert kv_bytes_per_token(LLAMA_3_8B, bytes_per_value=2) == 128 * 1024
    assert kv_bytes_per_token(LLAMA_2_7B, bytes_per_value=2) == 512 * 1024


def test_one_full_8k_sequence_of_llama_3_8b_takes_one_gib():
    assert kv_cache_gib(**EIGHT_BILLION, context_tokens=8192, sequences=1) == 1.0


def test_the_cache_is_linear_in_batch_and_tokens_and_halves_at_8_bits():
    one = kv_cache_gib(**EIGHT_BILLION, context_tokens=1024, sequences=1)
    assert kv_cache_gib(**EIGHT_BILLION, context_tokens=4096, sequences=3) == 12 * one
    assert kv_cache_gib(**EIGHT_BILLION | {"bytes_per_value": 1}, context_tokens=1024, sequences=1) == one / 2


@pytest.mark.parametrize("argument", ["layers", "kv_heads", "head_dim", "bytes_per_value", "context_tokens", "sequences"])
def test_a_cache_of_nothing_is_refused(argument):
    with pytest.raises(InvalidInput, match="above 0"):
        kv_cache_gib(**EIGHT_BILLION | {"context_tokens": 1, "sequences": 1} | {argument: 0})


def test_a_latent_cache_holds_the_latent_and_its_rotary_part():
    # DeepSeek-V3: 61 layers x (512 + 64) x 2 bytes = 70272 bytes a token, not 61 x 2 x 128 heads x 192 x 2
    assert kv_bytes_per_token(MODELS["DeepSeek-V3"], bytes_per_value=2) == 70_272


def test_a_sliding_layer_keeps_its_window_only():
    gemma = MODELS["Gemma-2-2B"]  # 26 layers, 13 of them see 4096 tokens; 2 x 4 heads x 256 = 2048 values a token and layer
    whole = cache_bytes(gemma, tokens=8192, sequences=1, bytes_per_value=2, caps_windows=False)
    capped = cache_bytes(gemma, tokens=8192, sequences=1, bytes_per_value=2, caps_windows=True)
    assert whole == 26 * 8192 * 2048 * 2
    assert capped == (13 * 8192 + 13 * 4096) * 2048 * 2


def test_a_short_prompt_fills_no_window():
    gemma = MODELS["Gemma-3-4B"]
    sizes = {cache_bytes(gemma, tokens=512, sequences=2, bytes_per_value=2, caps_windows=caps) for caps in (True, False)}
    assert len(sizes) == 1


def test_paged_caches_round_up_to_whole_blocks():
    one_block = cache_bytes(LLAMA_3_8B, tokens=1, sequences=1, bytes_per_value=2, caps_windows=True, block_tokens=16)
    assert one_block == 16 * 128 * 1024


def test_an_encoder_keeps_no_cache():
    assert cache_bytes(MODELS["BERT-base"], tokens=512, sequences=8, bytes_per_value=2, caps_windows=False) == 0


@pytest.mark.parametrize(
    ("scheme", "each"),
    [
        ("nf4", 0.5 + 4 / 64),
        ("nf4_double", 0.5 + 1 / 64 + 4 / (64 * 256)),  # 0.5159
        ("gptq", 0.5 + 2.5 / 128),
        ("awq", 0.5 + 2.5 / 128),
        ("nvfp4", 0.5 + 1 / 16),
        ("int4_group32", 0.5 + 4 / 32),
        ("gptq_8", 1 + 3 / 128),
    ],
)
def test_bytes_of_a_quantised_weight_follow_from_its_format(scheme, each):
    assert MEMORY.bytes_per_weight[scheme] == pytest.approx(each, abs=1e-5)


def test_embedding_and_head_stay_in_16_bits():
    # Llama-3-8B: 2 x 128256 x 4096 = 1.0507e9 outside; (8.03e9 - 1.0507e9) x 0.51587 + 1.0507e9 x 2 = 5.702e9
    assert quantised_weight_bytes(LLAMA_3_8B, scheme="nf4_double") == pytest.approx(5.702e9, rel=0.001)


def test_bitsandbytes_holds_copies_of_its_largest_matrix():
    # 2 copies x 2 bytes x 4096 x 14336
    assert dequantised_bytes(LLAMA_3_8B, scheme="nf4", copies=2) == 2 * 2 * 4096 * 14336
    assert dequantised_bytes(LLAMA_3_8B, scheme="awq", copies=2) == 0


def test_seventy_billion_weights_take_131_gib_at_16_bits():
    setup = MemorySetup(shape=MODELS["Llama-3.1-70B"], is_training=False, framework=Framework.VLLM)
    # 70.554e9 x 2 / 2^30 = 131.4 GiB, 141.1 GB
    assert weight_bytes(setup).resident / GIB == pytest.approx(131.4, abs=0.05)
    assert weight_bytes(setup).resident / 1e9 == pytest.approx(141.1, abs=0.05)


def test_tensor_parallelism_splits_heads_but_not_a_latent_cache():
    def cache(name: str, tensor: int) -> float:
        setup = MemorySetup(
            shape=MODELS[name],
            framework=Framework.VLLM,
            is_training=False,
            sequence=4096,
            parallel=Parallelism(strategy=Strategy.TENSOR_PARALLEL, tensor=tensor),
        )
        return inference_peak(setup)["kv_cache"]

    assert cache("Llama-3-8B", 4) == cache("Llama-3-8B", 1) / 4
    assert cache("DeepSeek-V3", 8) == cache("DeepSeek-V3", 1)
