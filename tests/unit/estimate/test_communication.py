"""What cards wait for, worked by hand: links, collectives, tensor-parallel exchange, pipelines."""

from dataclasses import replace

import pytest

from providers.gpus import GPUS
from service.estimate.card_rates import rates_of
from service.estimate.communication import collective_rate, exposed_seconds_per_token, link_rate, waiting_factor
from service.estimate.models import MODELS
from service.estimate.time_constants import TIME
from service.estimate.train_step import Layout, TrainStep

A100, RTX_4090, L40S = (rates_of(GPUS[name]) for name in ("A100-SXM4-80GB", "RTX 4090", "L40S"))
COST = TIME.communication
STEP = TrainStep(
    shape=MODELS["Llama-2-7B"],
    technique="full",
    precision="bf16",
    framework="torchtune",
    micro_batch=4,
    sequence=2048,
    recompute="none",
    compiled=True,
)


def exposed(layout, rates=A100, *, compute_seconds=0.0, **changes):
    return exposed_seconds_per_token(replace(STEP, layout=layout, **changes), rates, TIME, compute_seconds=compute_seconds)


def test_a_link_is_one_way_nvlink_where_there_is_one():
    # 600 GB/s counts both ways
    assert link_rate(Layout(gpus=8), A100, TIME) == pytest.approx(300e9 * COST.link_share)
    assert link_rate(Layout(gpus=8, nvlink=False), A100, TIME) == pytest.approx(32e9 * COST.pcie_share)
    assert link_rate(Layout(gpus=8), L40S, TIME) == pytest.approx(32e9 * COST.pcie_share)


def test_geforce_cards_share_the_way_through_the_machine():
    two, eight = (link_rate(Layout(gpus=count), RTX_4090, TIME) for count in (2, 8))
    assert two == pytest.approx(32e9 * COST.pcie_host_share)
    assert eight == pytest.approx(two / 4)


def test_machines_are_joined_by_their_fabric():
    between = COST.fabric_gb_per_s["Ampere"] * 1e9 * COST.fabric_share
    assert collective_rate(Layout(gpus=16, nodes=2), A100, TIME) == pytest.approx(between)
    slow = collective_rate(Layout(gpus=16, nodes=2, fast_fabric=False), A100, TIME)
    assert slow == pytest.approx(COST.ethernet_gb_per_s * 1e9 * COST.fabric_share)
    assert collective_rate(Layout(gpus=8), A100, TIME) == link_rate(Layout(gpus=8), A100, TIME)


def test_full_sharding_moves_the_weights_three_times_a_micro_batch():
    # 3 x 2 bytes x 6.738e9 x 7/8 over 8192 tokens, all of it waited for when nothing hides it, and the floor beside
    layout = Layout(gpus=8, data=8, sharding="fsdp")
    wire = 3 * 2 * 6.738e9 * 7 / 8 / link_rate(layout, A100, TIME) / 8192
    assert exposed(layout) == pytest.approx(wire * (1 + COST.exposed_floor))
    # a frozen model sends no gradients
    assert exposed(layout, technique="lora") == pytest.approx(wire * 2 / 3 * (1 + COST.exposed_floor))
    # computation longer than the wire hides all but the floor
    assert exposed(layout, compute_seconds=10 * wire) == pytest.approx(wire * COST.exposed_floor)


def test_replicas_send_their_gradients_once_an_optimizer_step():
    layout = Layout(gpus=8, data=8)
    wire = 2 * 2 * 6.738e9 / link_rate(layout, A100, TIME) / (8192 * 4)
    assert exposed(layout, accumulation=4.0) == pytest.approx(wire)
    assert exposed(layout, compute_seconds=1.0) == pytest.approx(COST.ddp_full)
    assert exposed(layout, compute_seconds=1.0, technique="lora") == pytest.approx(COST.ddp_adapter)


def test_tensor_parallel_exchanges_four_times_a_layer():
    # 4 x 32 layers x 2 ways x 4096 values x 2 bytes x 3/4 of a group of four
    sent = 4 * 32 * 2 * 4096 * 2 * 3 / 4
    layout = Layout(gpus=4, tensor=4)
    assert exposed(layout) == pytest.approx(COST.tensor_exposed * sent / link_rate(layout, A100, TIME))


def test_one_card_waits_for_nobody():
    assert exposed(Layout()) == 0
    assert waiting_factor(STEP, TIME) == 1


@pytest.mark.parametrize(
    ("layout", "factor"),
    [
        (Layout(gpus=4, pipeline=4), 1 + COST.pipeline_bubble),
        (Layout(gpus=4, pipeline=4, naive_pipeline=True), 4),
        (Layout(gpus=2, context=2), 1 + COST.context_parallel),
        (Layout(gpus=8, pipeline=4, context=2), (1 + COST.pipeline_bubble) * (1 + COST.context_parallel)),
    ],
)
def test_pipelines_and_rings_leave_cards_idle(layout, factor):
    assert waiting_factor(replace(STEP, layout=layout), TIME) == pytest.approx(factor)


def test_experts_on_several_cards_exchange_tokens():
    mixture = replace(STEP, shape=MODELS["Mixtral-8x7B"])
    assert waiting_factor(mixture, TIME) == 1
    assert waiting_factor(replace(mixture, layout=Layout(gpus=8, data=8)), TIME) == pytest.approx(1 + COST.expert_exchange)
