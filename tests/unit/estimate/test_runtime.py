"""Seconds per training token: hand-worked sums, what binds, and what a strategy costs."""

from dataclasses import replace

import pytest

from providers.errors import InvalidInput
from providers.gpus import GPUS
from providers.offer import Fabric, Interconnect
from service.domain.workload import Framework, Strategy, Technique, Workload
from service.estimate.card_rates import rates_of
from service.estimate.job_defaults import job_shape
from service.estimate.job_steps import layout_of
from service.estimate.models import MODELS
from service.estimate.runtime import relative_speed, step_time, train_seconds_per_token
from service.estimate.time_constants import TIME
from service.estimate.token_work import token_work
from service.estimate.train_step import AdaptedLayers, Layout, TrainStep

A100, H100, RTX_4090 = GPUS["A100-SXM4-80GB"], GPUS["H100-SXM"], GPUS["RTX 4090"]
NVLINK, INFINIBAND = Interconnect.NVLINK, Fabric.INFINIBAND
STEP = TrainStep(
    shape=MODELS["Llama-2-7B"],
    technique="full",
    precision="bf16",
    framework="torchtune",
    micro_batch=4,
    sequence=2048,
    recompute="full",
    compiled=True,
)


def job(**changes):
    base = {"task": "train", "model": "Llama-3.1-8B", "technique": "full", "framework": "torchtune", "tokens": 1e9}
    workload = Workload.model_validate({**base, "sequence_length": 2048, **changes}, strict=False)
    return job_shape(workload)[0]


def seconds(what, gpu, count=1, nodes=1, strategy="single", link=NVLINK, fabric=INFINIBAND):
    return train_seconds_per_token(
        what, gpu, gpu_count=count, nodes=nodes, strategy=strategy, interconnect=link, fabric=fabric
    ).seconds_per_unit.mid


def test_linear_layers_take_their_operations_over_the_sustained_rate():
    # 8 x (6.738e9 - 0.131e9) operations at 271.2 TFLOPS x share, narrowed by 1 + h0 / 4096
    rate = 271.2e12 * TIME.matmul.of_measured["Ampere"]
    by_hand = 8 * (6.738e9 - 32000 * 4096) / rate * (1 + TIME.matmul.narrow_hidden / 4096)
    work = token_work(STEP, TIME)
    assert (work.body_flops + work.head_flops) / rates_of(A100).matmul_16bit == pytest.approx(by_hand)


def test_a_full_7b_step_on_an_a100_lies_near_the_published_rate():
    # llm-foundry and torchtune publish 3900 to 4600 tokens/s and GPU for a 7B with recompute
    assert 3500 < 1 / step_time(STEP, rates_of(A100)).total < 4800


def test_parts_are_not_negative_and_the_largest_names_the_bound():
    parts = step_time(STEP, rates_of(A100))
    values = {name: getattr(parts, name) for name in ("compute", "bandwidth", "launch", "communication")}
    assert min(values.values()) >= 0
    assert values[parts.bound] == max(values.values())
    assert sum(values.values()) == pytest.approx(parts.total)


def test_an_eager_step_of_few_tokens_is_bound_by_launches():
    tiny = replace(STEP, shape=MODELS["TinyLlama-1.1B"], compiled=False, micro_batch=1, sequence=64, technique="lora")
    assert step_time(replace(tiny, adapted=AdaptedLayers(modules=2)), rates_of(H100)).bound == "launch"


def test_full_sharding_over_pcie_is_bound_by_communication():
    sharded = replace(STEP, layout=Layout(gpus=4, data=4, sharding="fsdp"))
    assert step_time(sharded, rates_of(RTX_4090)).bound == "communication"
    assert step_time(replace(sharded, layout=Layout(gpus=4, data=4, sharding="fsdp")), rates_of(A100)).bound == "compute"


def test_eight_gpus_take_nearly_an_eighth_of_the_wall_time():
    one, eight = seconds(job(), H100), seconds(job(), H100, 8, strategy="ddp")
    assert one / 8 <= eight < 1.25 * one / 8


def test_a_slow_network_costs_more_than_a_fast_one():
    fast = seconds(job(), H100, 8, nodes=4, strategy="fsdp", fabric=INFINIBAND)
    slow = seconds(job(), H100, 8, nodes=4, strategy="fsdp", fabric=Fabric.ETHERNET)
    assert slow > 1.5 * fast


def test_a_machine_known_without_nvlink_is_slower_than_one_with_it():
    assert seconds(job(), A100, 8, strategy="fsdp", link=Interconnect.NONE) > seconds(job(), A100, 8, strategy="fsdp")


def test_zero3_waits_for_its_hooks_more_than_fsdp():
    eager = job(framework="hf")
    assert seconds(eager, H100, 8, strategy="zero3") > seconds(eager, H100, 8, strategy="fsdp")


def test_four_bit_weights_cost_dequantising():
    lora = job(technique="lora", framework="hf", lora_targets="all")
    qlora = job(technique="qlora", framework="hf", lora_targets="all")
    assert seconds(qlora, A100) > seconds(lora, A100)


@pytest.mark.parametrize("technique", ["dpo", "grpo", "ppo"])
def test_preference_training_costs_more_than_tuning_alone(technique):
    assert seconds(job(technique=technique), H100) > seconds(job(), H100)


def test_dpo_adds_one_forward_of_three_or_four():
    # 6 operations per weight in tuning, 2 more for the reference: 4/3 of the compute and the traffic
    step = replace(STEP, recompute="none")
    tuned, preferred = (step_time(one, rates_of(H100)) for one in (step, replace(step, preference="dpo")))
    assert preferred.compute == pytest.approx(tuned.compute * 4 / 3)


def test_the_range_holds_the_point_and_is_wider_for_preference_training():
    def width(technique):
        spread = train_seconds_per_token(job(technique=technique), H100, gpu_count=1).seconds_per_unit
        assert 0 < spread.low < spread.mid < spread.high
        return spread.high / spread.low

    assert width("ppo") > width("full")


def test_fp8_helps_where_the_card_has_it_only():
    assert seconds(job(precision="fp8", framework="megatron"), H100) < seconds(job(framework="megatron"), H100)
    assert seconds(job(precision="fp8"), A100) == pytest.approx(seconds(job(), A100))


@pytest.mark.parametrize(
    ("strategy", "degrees"),
    [
        ("single", (8, 1, 1, "none")),
        ("ddp", (8, 1, 1, "none")),
        ("zero1", (8, 1, 1, "zero1")),
        ("zero2", (8, 1, 1, "zero2")),
        ("zero3", (8, 1, 1, "zero3")),
        ("fsdp", (8, 1, 1, "fsdp")),
        ("tensor_parallel=4", (2, 4, 1, "none")),
        ("tensor_parallel=4,ddp", (2, 4, 1, "none")),
        ("pipeline_parallel=2,replicas=4", (4, 1, 2, "none")),
    ],
)
def test_words_of_a_strategy_become_degrees(strategy, degrees):
    layout = layout_of(strategy, gpu_count=8, nodes=1, interconnect=NVLINK, fabric=INFINIBAND)
    assert (layout.data, layout.tensor, layout.pipeline, layout.sharding) == degrees


@pytest.mark.parametrize("strategy", ["magic", "tensor_parallel=3", "tensor_parallel=0", "tensor_parallel=x", "ddp=2", ""])
def test_a_strategy_that_is_not_known_or_does_not_divide_is_refused(strategy):
    with pytest.raises(InvalidInput) as refused:
        seconds(job(), H100, 8, strategy=strategy)
    assert refused.value.pointer == "/workload/strategy"


def test_every_strategy_of_a_request_is_understood():
    for strategy in Strategy:
        words = f"{strategy.value}=2" if "parallel" in strategy.value else strategy.value
        assert seconds(job(), H100, 8, strategy=words) > 0


def test_every_framework_and_technique_is_timed():
    for framework in Framework:
        assert seconds(job(framework=framework.value), H100) > 0
    for technique in Technique:
        assert seconds(job(technique=technique.value), H100) > 0


def test_relative_speed_promises_the_smaller_of_compute_and_bandwidth():
    # A100 80 GB against 40 GB: same arithmetic, 2039 against 1555 GB/s: no faster is promised
    assert relative_speed(A100, GPUS["A100-SXM4-40GB"]) == pytest.approx(1.0)
    assert relative_speed(GPUS["A100-SXM4-40GB"], A100) == pytest.approx(1555 / 2039)
    assert relative_speed(A100, A100) == 1.0
