"""Saturated serving: the batch under memory and latency targets, and rates of whole machines."""

from dataclasses import replace

import pytest

from providers.errors import InvalidInput
from providers.gpus import GPUS
from providers.offer import Interconnect
from service.domain.workload import Workload
from service.estimate.card_rates import rates_of
from service.estimate.infer_step import InferStep
from service.estimate.job_defaults import job_shape
from service.estimate.models import MODELS
from service.estimate.serving import serve
from service.estimate.serving_load import batch_time, exchange_seconds_per_token, largest_batch_within, sequences_that_fit
from service.estimate.time_constants import TIME

GIB = 2**30
A100, H100, RTX_4090 = GPUS["A100-SXM4-80GB"], GPUS["H100-SXM"], GPUS["RTX 4090"]
STEP = InferStep(shape=MODELS["Llama-3.1-8B"], precision="bf16", framework="vllm", prompt=1000, answer=500)


def job(**changes):
    base = {"task": "infer", "model": "Llama-3.1-8B", "framework": "vllm", "prompt_tokens": 1000, "output_tokens": 500}
    return job_shape(Workload.model_validate({**base, **changes}, strict=False))[0]


def served(what, gpu=A100, count=1, **options):
    return serve(what, gpu, gpu_count=count, usable_gib=options.pop("usable_gib", gpu.usable_gib), **options)


def test_sequences_fill_what_the_weights_leave():
    # 0.92 x 40 GiB - 16.06 GB of weights = 23.45e9 bytes; a sequence holds (1000 + share x 500) x 131072 bytes
    free = TIME.serving.memory_fraction * 40 * GIB - 2 * 8.03e9
    each = (1000 + TIME.serving.kv_output_fraction * 500) * 131072
    assert sequences_that_fit(STEP, 40 * GIB) == int(free // each)


def test_the_cards_of_a_replica_pool_their_memory():
    each = (1000 + TIME.serving.kv_output_fraction * 500) * 131072
    free = TIME.serving.memory_fraction * 2 * 24 * GIB - 2 * 8.03e9
    assert sequences_that_fit(replace(STEP, tensor=2), 24 * GIB) == int(free // each)


def test_no_sequence_fits_beside_weights_that_do_not():
    assert sequences_that_fit(STEP, 16 * GIB) == 0
    with pytest.raises(InvalidInput, match="cannot hold"):
        served(job(), usable_gib=16)


def test_a_token_waits_for_its_step_and_the_prompts_that_join():
    load = batch_time(STEP, rates_of(A100), batch=10)
    assert load.token_seconds == pytest.approx(load.step_seconds + 10 * load.prompt_seconds / 500)
    assert load.tokens_per_second == pytest.approx(10 / load.token_seconds)


def test_the_largest_batch_within_a_target_is_found_exactly():
    rates = rates_of(A100)
    for target in (0.015, 0.02, 0.035, 0.06):
        found = largest_batch_within(
            STEP, rates, most=400, time_to_first_token_seconds=None, time_per_output_token_seconds=target
        )
        assert found is not None
        by_trying = max(n for n in range(1, 401) if batch_time(STEP, rates, batch=n).token_seconds <= target)
        assert found.batch == by_trying


def test_a_tighter_latency_target_costs_throughput():
    free, tight = served(job()), served(job(time_per_output_token_seconds=0.015))
    assert tight.batch < free.batch
    assert tight.time_per_output_token_seconds <= 0.015
    assert tight.requests_per_second.mid < free.requests_per_second.mid
    assert tight.meets_targets


def test_a_target_that_no_batch_meets_is_said():
    hopeless = served(job(time_per_output_token_seconds=0.0001))
    assert not hopeless.meets_targets
    assert hopeless.batch == 1


def test_a_first_token_target_is_honoured():
    estimate = served(job(time_to_first_token_seconds=0.2))
    assert estimate.time_to_first_token_seconds <= 0.2
    assert not served(job(prompt_tokens=7000, time_to_first_token_seconds=0.01)).meets_targets


def test_concurrency_caps_the_batch():
    assert served(job(concurrency=4)).batch == 4


def test_a_machine_runs_as_many_replicas_as_its_cards_hold():
    one, eight, odd = (served(job(), count=count, tensor_parallel=parallel) for count, parallel in ((1, 1), (8, 1), (7, 2)))
    assert eight.replicas == 8
    assert eight.requests_per_second.mid == pytest.approx(8 * one.requests_per_second.mid)
    assert odd.replicas == 3
    assert served(job(), count=8, nodes=2).replicas == 16


def test_a_replica_larger_than_the_group_is_refused():
    with pytest.raises(InvalidInput, match="does not fit"):
        served(job(), count=2, tensor_parallel=4)


def test_requests_are_tokens_over_the_answer_and_ranges_are_in_order():
    estimate = served(job())
    assert estimate.tokens_per_second.mid == pytest.approx(500 * estimate.requests_per_second.mid)
    for spread in (estimate.tokens_per_second, estimate.requests_per_second):
        assert 0 < spread.low < spread.mid < spread.high


def test_tensor_parallel_without_nvlink_waits_for_its_exchange():
    fast, slow = (
        served(job(), count=2, tensor_parallel=2, interconnect=link) for link in (Interconnect.NVLINK, Interconnect.NONE)
    )
    assert slow.tokens_per_second.mid < fast.tokens_per_second.mid
    assert served(job(), RTX_4090, count=4, tensor_parallel=4).bound == "communication"


def test_one_card_exchanges_nothing_and_more_cards_more():
    sent = [exchange_seconds_per_token(replace(STEP, tensor=n), rates_of(H100), TIME) for n in (1, 2, 4, 8)]
    assert sent[0] == 0
    assert sent == sorted(sent)


def test_a_published_saturated_rate_is_met():
    # TensorRT-LLM 1.0 publishes 26221 generated tokens/s for Llama-3.1-8B in FP8 on one H200, 128 in, 2048 out
    h200 = GPUS["H200-SXM"]
    formats = {"precision": "fp8", "kv_cache_precision": "fp8", "framework": "tensorrt_llm"}
    estimate = served(job(**formats, prompt_tokens=128, output_tokens=2048), h200)
    assert estimate.tokens_per_second.low < 26221 < estimate.tokens_per_second.high


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "fp8", "int8", "int4"])
def test_every_precision_is_served(precision):
    assert served(job(precision=precision), H100).tokens_per_second.mid > 0


def test_narrower_weights_serve_more_where_the_card_computes_them():
    rates = [
        served(job(precision=precision, framework="tensorrt_llm"), H100).tokens_per_second.mid for precision in ("bf16", "fp8")
    ]
    assert rates[1] > rates[0]


def test_an_encoder_answers_in_one_pass():
    # no token is generated: a request takes its prompt, whatever answer length is asked for
    short, long = (
        served(job(model="BGE-large-en", prompt_tokens=256, output_tokens=tokens, framework="hf")) for tokens in (1, 200)
    )
    assert short.requests_per_second.mid == long.requests_per_second.mid
    assert short.requests_per_second.mid == short.tokens_per_second.mid


def test_stages_of_a_pipeline_lengthen_the_first_token_and_share_the_load():
    step = replace(STEP, prompt=4096)
    whole, staged = (batch_time(replace(step, pipeline=stages), rates_of(A100), batch=8) for stages in (1, 4))
    assert staged.prompt_seconds == pytest.approx(whole.prompt_seconds / 4)
    assert staged.first_token_seconds > whole.prompt_seconds
    assert staged.tokens_per_second > whole.tokens_per_second


def test_an_image_takes_many_passes_and_a_wide_range():
    estimate = served(job(model="SDXL-1.0", framework="hf", prompt_tokens=1024, precision="fp16"))
    assert estimate.requests_per_second.high / estimate.requests_per_second.low > 5
