"""Laws of the time model: no free speed-up, better cards are not slower, more work takes longer."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from providers.gpus import GPUS, Gpu
from service.estimate.card_rates import rates_of
from service.estimate.decode import decode_step_seconds
from service.estimate.infer_step import InferStep
from service.estimate.models import MODELS
from service.estimate.prefill import prefill_seconds
from service.estimate.replicas import replicas_for
from service.estimate.runtime import relative_speed, step_time
from service.estimate.serving_load import batch_time
from service.estimate.train_step import Layout, TrainStep, adapted_layers

CARDS = st.sampled_from(sorted(GPUS.values(), key=lambda gpu: gpu.name))
SHAPES = st.sampled_from(
    [MODELS[name] for name in ("TinyLlama-1.1B", "Llama-3.1-8B", "Mixtral-8x7B", "Llama-3.1-70B", "MPT-125M")]
)
FRAMEWORKS = st.sampled_from(
    ["hf", "torchtune", "litgpt", "torchtitan", "deepspeed", "megatron", "unsloth", "llm_foundry", "unknown"]
)
ENGINES = st.sampled_from(
    ["hf", "litgpt", "vllm", "sglang", "tensorrt_llm", "llama_cpp", "exllama", "autoawq", "gpt_fast", "unknown"]
)
RATE_FIELDS = (
    "bandwidth_gb_per_s",
    "fp32_tflops",
    "bf16_tflops",
    "fp16_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "measured_bf16_tflops",
    "nvlink_gb_per_s",
    "pcie_gb_per_s_per_direction",
)


@st.composite
def train_steps(draw) -> TrainStep:
    shape, technique = draw(SHAPES), draw(st.sampled_from(["full", "lora", "qlora"]))
    return TrainStep(
        shape=shape,
        technique=technique,
        precision=draw(st.sampled_from(["bf16", "fp16", "fp8", "fp4", "fp32"])),
        framework=draw(FRAMEWORKS),
        micro_batch=draw(st.integers(1, 64)),
        sequence=draw(st.integers(16, 32768)),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        compiled=draw(st.booleans()),
        flash_attention=draw(st.booleans()),
        accumulation=draw(st.sampled_from([1.0, 8.0])),
        adapted=adapted_layers(shape, "none" if technique == "full" else draw(st.sampled_from(["q,v", "all"]))),
        preference=draw(st.sampled_from(["", "dpo", "ppo", "grpo"])),
    )


@st.composite
def infer_steps(draw) -> InferStep:
    precision, quantization = draw(
        st.sampled_from([("bf16", None), ("fp8", "fp8"), ("int4", "awq"), ("int8", "int8"), ("fp4", "nvfp4"), ("fp32", None)])
    )
    return InferStep(
        shape=draw(SHAPES),
        precision=precision,
        quantization=quantization,
        framework=draw(FRAMEWORKS),
        batch=draw(st.integers(1, 256)),
        prompt=draw(st.integers(1, 32768)),
        answer=draw(st.integers(1, 4096)),
    )


@st.composite
def better_of(draw, gpu: Gpu) -> Gpu:
    """The same card, at least as good in every rate that it has."""
    better = {}
    for field in RATE_FIELDS:
        rate = getattr(gpu, field)
        better[field] = rate if rate is None else rate * draw(st.floats(1.0, 4.0))
    return replace(gpu, **better)


@given(train_steps(), CARDS)
def test_parts_of_a_training_step_are_not_negative_and_add_up(step, gpu):
    parts = step_time(step, rates_of(gpu))
    values = (parts.compute, parts.bandwidth, parts.launch, parts.communication)
    assert min(values) >= 0
    assert parts.compute > 0
    assert abs(sum(values) - parts.total) <= 1e-12 * parts.total


@given(
    train_steps(),
    CARDS,
    st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp"]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([(1, 1), (1, 1), (2, 1), (4, 1), (1, 2), (2, 2)]),
)
def test_more_gpus_never_give_more_than_linear_speed_up(step, gpu, sharding, cards, nodes, split):
    tensor, pipeline = split
    gpus = cards * nodes
    if gpus % (tensor * pipeline):
        return
    layout = Layout(
        gpus=gpus,
        nodes=nodes,
        data=gpus // (tensor * pipeline),
        tensor=tensor,
        pipeline=pipeline,
        sharding=sharding if gpus > 1 else "none",
    )
    alone, together = (step_time(replace(step, layout=one), rates_of(gpu)).total for one in (Layout(), layout))
    assert together / gpus >= alone / gpus * (1 - 1e-12)


@given(train_steps(), CARDS, st.sampled_from(["none", "zero2", "fsdp"]), st.integers(1, 3))
def test_doubling_the_cards_of_a_machine_is_never_more_than_linear(step, gpu, sharding, power):
    few, many = (Layout(gpus=n, data=n, sharding=sharding) for n in (2**power, 2 ** (power + 1)))
    times = [step_time(replace(step, layout=layout), rates_of(gpu)).total for layout in (few, many)]
    assert times[1] >= times[0] * (1 - 1e-12)


@given(st.data(), train_steps(), CARDS, st.sampled_from([1, 8, 16]))
def test_a_card_at_least_as_good_in_every_rate_never_trains_slower(data, step, gpu, gpus):
    better = data.draw(better_of(gpu))
    layout = Layout(gpus=gpus, nodes=max(1, gpus // 8), data=gpus, sharding="fsdp" if gpus > 1 else "none")
    times = [step_time(replace(step, layout=layout), rates_of(card)).total for card in (gpu, better)]
    assert times[1] <= times[0] * (1 + 1e-12)


@given(st.data(), infer_steps(), CARDS)
def test_a_card_at_least_as_good_in_every_rate_never_infers_slower(data, step, gpu):
    worse, better = (rates_of(card) for card in (gpu, data.draw(better_of(gpu))))
    assert prefill_seconds(step, better) <= prefill_seconds(step, worse) * (1 + 1e-12)
    steps = [decode_step_seconds(step, rates, context=1000.0) for rates in (worse, better)]
    assert steps[1] <= steps[0] * (1 + 1e-12)
    loads = [batch_time(step, rates, batch=32).token_seconds for rates in (worse, better)]
    assert loads[1] <= loads[0] * (1 + 1e-12)


@given(st.data(), CARDS, CARDS)
def test_relative_speed_rises_with_the_card_and_falls_with_the_reference(data, gpu, reference):
    better = data.draw(better_of(gpu))
    assert relative_speed(better, reference) >= relative_speed(gpu, reference) * (1 - 1e-12)
    assert relative_speed(reference, better) <= relative_speed(reference, gpu) * (1 + 1e-12)
    assert relative_speed(gpu, reference) * relative_speed(reference, gpu) <= 1 + 1e-12


@given(infer_steps(), CARDS, st.floats(1.0, 4.0))
def test_decode_of_a_large_model_falls_with_bandwidth(step, gpu, factor):
    faster = replace(gpu, bandwidth_gb_per_s=gpu.bandwidth_gb_per_s * factor)
    times = [decode_step_seconds(step, rates_of(card), context=500.0) for card in (gpu, faster)]
    assert times[1] <= times[0] * (1 + 1e-12)


@given(train_steps(), CARDS)
def test_a_longer_sequence_costs_more_attention_for_the_same_tokens(step, gpu):
    even = replace(step, micro_batch=max(2, step.micro_batch - step.micro_batch % 2))
    longer = replace(even, micro_batch=even.micro_batch // 2, sequence=even.sequence * 2)
    times = [step_time(one, rates_of(gpu)).total for one in (even, longer)]
    assert times[1] >= times[0] * (1 - 1e-12)


@given(infer_steps(), CARDS)
def test_longer_prompts_and_contexts_take_longer(step, gpu):
    rates = rates_of(gpu)
    assert prefill_seconds(replace(step, prompt=2 * step.prompt), rates) >= prefill_seconds(step, rates)
    assert decode_step_seconds(step, rates, context=2000.0) >= decode_step_seconds(step, rates, context=1000.0)


@given(infer_steps(), CARDS, st.integers(1, 2000), st.integers(1, 2000))
def test_a_larger_batch_waits_longer_and_serves_no_less(step, gpu, one, other):
    small, large = sorted((one, other))
    loads = [batch_time(step, rates_of(gpu), batch=batch) for batch in (small, large)]
    assert loads[1].token_seconds >= loads[0].token_seconds * (1 - 1e-12)
    assert loads[1].tokens_per_second >= loads[0].tokens_per_second * (1 - 1e-9)


@given(
    st.lists(st.sampled_from([0.0, 5e-324, 1e-9, 0.3, 7.0, 12.5, 999.0, 1e4]), min_size=24, max_size=24),
    st.floats(0.01, 1e3),
    st.integers(0, 5),
    st.booleans(),
)
def test_replicas_carry_the_load_and_shares_are_shares(rates, each, least, scales_to_zero):
    found = replicas_for(rates, each, min_replicas=least, scale_to_zero=scales_to_zero)
    assert all(count * each >= rate * (1 - 1e-9) for count, rate in zip(found.hourly, rates, strict=True))
    assert 0 <= found.idle_fraction <= 1
    assert abs(found.unserved_fraction) <= 1e-9
    assert least <= min(found.hourly)
    assert found.mean <= found.peak <= replicas_for(rates, each, min_replicas=least, follow_load=False).mean
