"""Laws of the memory model and of the composition, over drawn jobs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.gpus import GPUS
from service.domain.workload import (
    Framework,
    LossKind,
    Optimizer,
    Precision,
    Quantization,
    Strategy,
    Task,
    Technique,
)
from service.estimate.estimate import estimate_on, estimates_by_strategy
from service.estimate.job import JobShape
from service.estimate.job_memory import job_memory
from service.estimate.models import MODELS, find_model, name_key
from service.estimate.parallel import Parallelism
from service.estimate.weights import quantised_weight_bytes

DECODERS = sorted(name for name, shape in MODELS.items() if shape.kind == "decoder" and shape.params_total_b < 80)
CARDS = ("RTX 4090", "L40S", "A100-SXM4-80GB", "H100-SXM", "MI300X", "B200")
FRAMEWORKS = [Framework.HF, Framework.TORCHTUNE, Framework.LITGPT, Framework.UNSLOTH, Framework.DEEPSPEED, Framework.UNKNOWN]


@st.composite
def training_jobs(draw: st.DrawFn) -> JobShape:
    technique = draw(st.sampled_from([Technique.FULL, Technique.LORA, Technique.QLORA, Technique.DPO, Technique.PPO]))
    adapters = technique in (Technique.LORA, Technique.QLORA)
    return JobShape(
        task=Task.TRAIN,
        model=MODELS[draw(st.sampled_from(DECODERS))],
        technique=technique,
        precision=draw(st.sampled_from([Precision.BF16, Precision.FP32, Precision.FP16])),
        quantization=Quantization.NF4 if technique is Technique.QLORA else None,
        kv_cache_precision=Precision.BF16,
        optimizer=draw(st.sampled_from(list(Optimizer))),
        optimizer_in_backward=draw(st.booleans()),
        framework=draw(st.sampled_from(FRAMEWORKS)),
        loss=draw(st.sampled_from(list(LossKind))),
        compiled=draw(st.booleans()),
        flash_attention=draw(st.booleans()),
        strategy=None,
        sequence_length=draw(st.integers(16, 8192)),
        micro_batch_size=draw(st.integers(1, 32)),
        gradient_accumulation_steps=draw(st.integers(1, 8)),
        gradient_checkpointing=draw(st.booleans()),
        lora_rank=draw(st.integers(1, 64)) if adapters else 0,
        lora_targets="all" if adapters else "",
        prompt_tokens=0,
        output_tokens=0,
        concurrency=None,
        time_to_first_token_seconds=None,
        time_per_output_token_seconds=None,
    )


@st.composite
def serving_jobs(draw: st.DrawFn) -> JobShape:
    quantization = draw(st.sampled_from([None, Quantization.AWQ, Quantization.INT8, Quantization.NF4]))
    prompt, output = draw(st.integers(1, 4096)), draw(st.integers(1, 1024))
    return replace(
        draw(training_jobs()),
        task=Task.INFER,
        technique=None,
        precision=Precision.BF16 if quantization is None else Precision.INT4,
        quantization=quantization,
        framework=draw(st.sampled_from([Framework.VLLM, Framework.HF, Framework.LLAMA_CPP, Framework.AUTOAWQ])),
        sequence_length=prompt + output,
        prompt_tokens=prompt,
        output_tokens=output,
        lora_rank=0,
        lora_targets="",
    )


JOBS = st.one_of(training_jobs(), serving_jobs())
SHARDED = st.sampled_from([Strategy.FSDP, Strategy.ZERO2, Strategy.ZERO3])
EPSILON = 1e-9


@given(job=JOBS)
def test_safe_is_at_least_the_point_and_the_point_at_least_the_weights(job):
    need = job_memory(job, Parallelism())
    weights = sum(part.gib for part in need.parts if part.name == "weights")
    assert need.safe_gib >= need.point_gib >= weights > 0


@given(job=JOBS)
def test_parts_add_up_and_none_is_negative(job):
    need = job_memory(job, Parallelism())
    assert sum(part.gib for part in need.parts) == pytest.approx(need.point_gib)
    assert all(part.gib > 0 for part in need.parts)
    assert len({part.name for part in need.parts}) == len(need.parts)


@given(job=JOBS, more=st.integers(1, 8))
def test_memory_grows_with_the_batch(job, more):
    larger = replace(job, micro_batch_size=job.micro_batch_size + more)
    assert job_memory(larger, Parallelism()).safe_gib >= job_memory(job, Parallelism()).safe_gib - EPSILON


@given(job=training_jobs(), more=st.integers(1, 4096))
def test_memory_grows_with_the_sequence(job, more):
    longer = replace(job, sequence_length=job.sequence_length + more)
    assert job_memory(longer, Parallelism()).safe_gib >= job_memory(job, Parallelism()).safe_gib - EPSILON


@given(job=serving_jobs(), more=st.integers(1, 4096))
def test_memory_grows_with_the_prompt(job, more):
    longer = replace(job, prompt_tokens=job.prompt_tokens + more, sequence_length=job.sequence_length + more)
    assert job_memory(longer, Parallelism()).safe_gib >= job_memory(job, Parallelism()).safe_gib - EPSILON


@given(job=training_jobs(), more=st.integers(1, 64))
def test_memory_grows_with_the_rank(job, more):
    adapted = replace(job, technique=Technique.LORA, quantization=None, lora_rank=8, lora_targets="all")
    larger = replace(adapted, lora_rank=8 + more)
    assert job_memory(larger, Parallelism()).point_gib > job_memory(adapted, Parallelism()).point_gib


@given(job=training_jobs(), strategy=SHARDED, degree=st.integers(2, 64), more=st.integers(1, 64))
def test_memory_falls_with_the_sharding_degree(job, strategy, degree, more):
    few, many = (Parallelism(strategy=strategy, data=data) for data in (degree, degree + more))
    assert job_memory(job, many).safe_gib <= job_memory(job, few).safe_gib + EPSILON


@given(job=serving_jobs(), tensor=st.sampled_from([1, 2, 4]))
def test_memory_of_weights_falls_with_the_tensor_degree(job, tensor):
    def weights(degree: int) -> float:
        ways = Parallelism(strategy=Strategy.TENSOR_PARALLEL, tensor=degree)
        return next(part.gib for part in job_memory(job, ways).parts if part.name == "weights")

    assert weights(2 * tensor) == pytest.approx(weights(tensor) / 2)


@given(job=training_jobs())
def test_checkpointing_never_costs_memory_beyond_one_layer(job):
    plain = replace(job, gradient_checkpointing=False)
    kept = replace(job, gradient_checkpointing=True)
    layer_share = 2.0 / job.model.all_layers  # the live layer beside the kept inputs
    assert job_memory(kept, Parallelism()).point_gib <= job_memory(plain, Parallelism()).point_gib * (1 + layer_share)


@given(name=st.sampled_from(DECODERS))
def test_fewer_bits_never_weigh_more(name):
    sizes = [quantised_weight_bytes(MODELS[name], scheme=scheme) for scheme in ("nf4_double", "awq", "nf4", "int8")]
    assert sizes == sorted(sizes)
    assert sizes[-1] <= MODELS[name].params_total * 2 * 1.01


@settings(max_examples=30)
@given(job=JOBS, card=st.sampled_from(CARDS), count=st.sampled_from([1, 2, 4, 8]))
def test_an_estimate_fits_or_says_why(job, card, count):
    found = estimate_on(job, GPUS[card], gpu_count=count)
    if found.fits:
        assert found.vram.safe_gib <= found.vram.usable_gib
        assert found.reason is None
        assert found.tokens_per_second.low <= found.tokens_per_second.mid <= found.tokens_per_second.high
    else:
        assert found.reason in ("vram", "precision", "parallelism")
        assert found.detail
        assert found.tokens_per_second is None
        assert not any(one.fits for one in estimates_by_strategy(job, GPUS[card], gpu_count=count))


@settings(max_examples=30)
@given(job=training_jobs(), count=st.sampled_from([1, 2, 4]))
def test_twice_the_gpus_never_give_more_than_twice_the_speed(job, count):
    # of what fits both ways in the same strategy: more cards may allow a strategy with less traffic
    few = {one.strategy: one for one in estimates_by_strategy(job, GPUS["H100-SXM"], gpu_count=count) if one.fits}
    many = {one.strategy: one for one in estimates_by_strategy(job, GPUS["H100-SXM"], gpu_count=2 * count) if one.fits}
    for strategy in few.keys() & many.keys():
        assert many[strategy].tokens_per_second.mid <= 2 * few[strategy].tokens_per_second.mid * (1 + 1e-6)


@given(name=st.sampled_from(sorted(MODELS)), upper=st.booleans(), separator=st.sampled_from([" ", "_", "-"]))
def test_spellings_of_a_name_find_the_same_model(name, upper, separator):
    spelling = name.replace("-", separator)
    assert find_model(spelling.upper() if upper else spelling.lower()) is MODELS[name]


@given(text=st.text(max_size=60))
def test_a_key_is_stable(text):
    assert name_key(name_key(text)) == name_key(text)
