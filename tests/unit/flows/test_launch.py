"""Launch files: process counts, sharding and batch by hand, pinned places, what a format cannot start, the tools' own schemas."""

import json
from dataclasses import replace

import pytest
import yaml

from providers.errors import InvalidInput
from service.domain.estimate import Assumption, Range
from service.domain.plan import (
    CostBreakdown,
    Decision,
    Leader,
    Leaders,
    OptionDeadline,
    OptionPrice,
    OptionVram,
    Plan,
    PlanOption,
    PlanPrices,
    Requirement,
)
from service.flows.launch import LaunchFormat, launch

COST = CostBreakdown(
    lines=(), usd_per_run=1.0, usd_per_month=None, usd_over_horizon=None, low_usd=1.0, high_usd=1.0, ranking_usd=1.0,
    ranking_period="per_run",
)  # fmt: skip
OPTION = PlanOption(
    rank=1, kind="cloud", provider="lambda", tier="on-demand", instance_type="gpu_8x_h100_sxm5", gpu="H100-SXM",
    form_factor="SXM5", gpu_count=8.0, nodes=2, region="us-east-1", zone=None, country="US", capacity_type="on_demand",
    tenancy="provider_datacenter", availability="available", arch="x86_64", strategy="fsdp",
    vram=OptionVram(need_gib=1, point_gib=1, usable_gib=2, headroom_gib=1), hours=Range(low=1, mid=2, high=3),
    usd_per_hour=47.84, usd_per_gpu_hour=2.99, cost=COST, usd_per_million_tokens=None,
    deadline=OptionDeadline(probability=None, deadline_hours=None), flags=(), tie_group=1, why="",
    price=OptionPrice(offer_id="a", observed_at=None, as_of=None, source="", basis="list", feed="lambda"),
)  # fmt: skip
TRAIN = {
    "task": "train", "model": "llama-3.1-8b", "name": "Support bot: SFT", "micro_batch_size": 2, "gradient_accumulation_steps": 4,
    "gradient_checkpointing": True, "checkpoint": {"interval_minutes": 30.0},
}  # fmt: skip
INFER = {"task": "infer", "model": "llama-3.1-70b", "prompt_tokens": 512, "output_tokens": 256, "precision": "fp16"}


def plan_of(workload, **option):
    assumed = tuple(Assumption(name=name, value=value) for name, value in (("precision", "bf16"), ("sequence_length", 2048)))
    return Plan(
        plan_id="abc12345", summary="", evaluated_at=None, requirement=Requirement(model=None, explained="", by_strategy=()),
        options=(replace(OPTION, **option),), options_found=1,
        leaders=Leaders(cheapest_listed=Leader(rank=1, reason=None), cheapest_obtainable=Leader(rank=1, reason=None)),
        decision=Decision(
            verdict="cloud", sentence="", pool=None, utilization=None, breakeven_utilization=None, payback_months=None,
            usd_per_useful_gpu_hour=None, flips_if=(), rule_of_thumb="", default_box_wins_from_utilization=None,
        ),
        exclusions=(), policy_price=None, assumptions=assumed, not_priced=(),
        prices=PlanPrices(snapshot_id="s", as_of=None, explained="", providers=()), request_echo={"workload": workload},
        solver_version="1",
    )  # fmt: skip


def made(form, workload=TRAIN, **option):
    return launch(plan_of(workload, **option), option=1, form=LaunchFormat(form))


def test_torchrun_starts_one_process_for_each_gpu_and_asks_for_the_addresses():
    found = made("torchrun")
    assert "--nnodes=2 --nproc-per-node=8 --node-rank=<NODE_RANK_FROM_0>" in found.content
    assert "--rdzv-endpoint=<HEAD_NODE_ADDRESS>:29500" in found.content
    assert "--rdzv-id=support-bot-sft" in found.content
    assert "--model=meta-llama/Llama-3.1-8B" in found.content
    assert "--standalone --nproc-per-node=8" in made("torchrun", nodes=1).content


def test_effective_batch_is_stated():
    # 2 sequences x 4 accumulation steps x 16 GPUs
    found = made("torchrun")
    assert found.effective_batch_size == 128
    assert "Effective batch size: 128 sequences a step (2 x 4 accumulation steps x 16 data-parallel copies)." in found.notes
    # tensor parallel over 4 leaves 4 copies: 2 x 4 x 4
    assert made("torchrun", strategy="tensor_parallel=4").effective_batch_size == 32
    assert launch(plan_of({"task": "train", "model": "gpt2"}), option=1, form=LaunchFormat.TORCHRUN).effective_batch_size is None


@pytest.mark.parametrize(
    ("strategy", "kind", "stage"),
    [
        ("fsdp", "FSDP", 3),
        ("zero3", "DEEPSPEED", 3),
        ("zero2", "DEEPSPEED", 2),
        ("zero1", "DEEPSPEED", 1),
        ("ddp", "MULTI_GPU", 0),
    ],
)
def test_the_sharding_is_the_plan_s(strategy, kind, stage):
    config = yaml.safe_load(made("accelerate", strategy=strategy).content)
    assert config["distributed_type"] == kind
    assert (config["num_machines"], config["num_processes"], config["mixed_precision"]) == (2, 16, "bf16")
    assert ("fsdp_config" in config) == (kind == "FSDP")
    if kind == "DEEPSPEED":
        assert config["deepspeed_config"]["zero_stage"] == stage
    zero = json.loads(made("deepspeed", strategy=strategy).content)
    assert zero["zero_optimization"]["stage"] == stage
    assert zero["train_batch_size"] == zero["train_micro_batch_size_per_gpu"] * zero["gradient_accumulation_steps"] * 16 == 128
    assert zero["bf16"]["enabled"] is True


def test_one_gpu_is_not_distributed():
    config = yaml.safe_load(made("accelerate", strategy="single", nodes=1, gpu_count=1.0).content)
    assert (config["distributed_type"], config["num_processes"]) == ("NO", 1)
    assert "main_process_ip" not in config


def test_skypilot_is_pinned_to_provider_region_card_and_kind():
    task = yaml.safe_load(made("skypilot", capacity_type="spot").content)
    assert task["resources"] == {
        "infra": "lambda/us-east-1", "accelerators": {"H100": 8}, "use_spot": True, "instance_type": "gpu_8x_h100_sxm5",
    }  # fmt: skip
    assert task["num_nodes"] == 2
    assert '--node-rank="$SKYPILOT_NODE_RANK"' in task["run"]
    assert yaml.safe_load(made("skypilot").content)["resources"]["use_spot"] is False


def test_a_zone_is_pinned_where_the_plan_has_one():
    task = yaml.safe_load(made("skypilot", provider="aws", zone="us-east-1a", instance_type="p5.48xlarge").content)
    assert task["resources"]["infra"] == "aws/us-east-1/us-east-1a"


@pytest.mark.parametrize(
    ("provider", "gpu", "skypilot", "dstack"),
    [
        ("aws", "A100-SXM4-80GB", "A100-80GB", ("A100", "80GB")),
        ("aws", "A100-SXM4-40GB", "A100", ("A100", "40GB")),
        ("runpod", "H100-SXM", "H100-SXM", ("H100", "80GB")),
        ("runpod", "H100-NVL", "H100-NVL", ("H100NVL", "94GB")),
        ("vast", "RTX 4090", "RTX4090", ("RTX4090", "24GB")),
        ("lambda", "RTX A6000", "RTXA6000", ("A6000", "48GB")),
        ("runpod", "RTX 6000 Ada", "RTX6000-Ada", ("RTX6000Ada", "48GB")),
    ],
)
def test_cards_have_the_tools_own_names(provider, gpu, skypilot, dstack):
    assert yaml.safe_load(made("skypilot", provider=provider, gpu=gpu).content)["resources"]["accelerators"] == {skypilot: 8}
    card = yaml.safe_load(made("dstack", provider=provider, gpu=gpu).content)["resources"]["gpu"]
    assert (card["name"], card["memory"], card["count"]) == ([dstack[0]], dstack[1], 8)


def test_dstack_is_pinned_too():
    config = yaml.safe_load(made("dstack", provider="vast", region="Sweden", capacity_type="spot").content)
    assert (config["type"], config["nodes"], config["backends"]) == ("task", 2, ["vastai"])
    assert (config["regions"], config["spot_policy"]) == (["Sweden"], "spot")
    assert "instance_types" not in config  # the tool has other words for a marketplace's machines


def test_vllm_serves_with_the_plan_s_tensor_parallel_size():
    found = made("vllm", INFER, strategy="tensor_parallel=4,replicas=2", nodes=3)
    assert "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size 4 --data-parallel-size 2" in found.content
    assert "--max-model-len 768 --dtype float16" in found.content
    assert "each of 3 machines" in found.content
    assert found.effective_batch_size is None
    service = yaml.safe_load(made("dstack", INFER, strategy="tensor_parallel=8", nodes=3).content)
    assert (service["type"], service["port"], service["replicas"]) == ("service", 8000, 3)


def test_a_replica_over_machines_says_how_to_join_them():
    found = made("vllm", INFER, strategy="pipeline_parallel=2", gpu_count=1.0, nodes=4)
    assert "--tensor-parallel-size 1 --pipeline-parallel-size 2" in found.content
    assert "Ray cluster" in found.content
    assert "each of 2 machines" in found.content  # 4 machines, 2 for a replica


def test_notes_save_gpu_hours():
    said = " ".join(made("torchrun", capacity_type="spot").notes)
    for part in (
        "every 30 minutes",
        "object storage",
        "NVMe",
        "Tokenise",
        "safetensors",
        "Pinned to lambda, us-east-1, 8x H100-SXM",
    ):
        assert part in said
    assert "from zero" in " ".join(made("torchrun", flags=("no_resume",)).notes)


@pytest.mark.parametrize(
    ("form", "workload", "option", "allowed"),
    [
        ("vllm", TRAIN, {}, "torchrun"),
        ("torchrun", INFER, {}, "vllm"),
        ("accelerate", INFER, {}, "vllm"),
        ("deepspeed", TRAIN, {"strategy": "tensor_parallel=8"}, "torchrun"),
        ("skypilot", TRAIN, {"kind": "on_prem", "provider": "on_prem"}, "torchrun"),
        ("skypilot", TRAIN, {"provider": "acme"}, "torchrun"),
        ("dstack", TRAIN, {"provider": "acme"}, "torchrun"),
    ],
)
def test_what_a_format_cannot_start_is_refused_with_what_can(form, workload, option, allowed):
    with pytest.raises(InvalidInput) as refused:
        made(form, workload, **option)
    assert refused.value.pointer == "/format"
    assert allowed in refused.value.allowed


def test_an_option_that_is_not_there_or_is_a_part_of_a_card_is_refused():
    with pytest.raises(InvalidInput, match="no number 2"):
        launch(plan_of(TRAIN), option=2, form=LaunchFormat.TORCHRUN)
    with pytest.raises(InvalidInput, match="part of a GPU"):
        made("torchrun", gpu_count=0.125)


def test_a_name_cannot_break_out_of_a_command():
    found = made("torchrun", {**TRAIN, "name": "a; rm -rf / #", "model": "$(reboot)/x y"})
    assert "--rdzv-id=a-rm-rf " in found.content
    assert "--model='$(reboot)/x y'" in found.content


@pytest.mark.parametrize("workload", [TRAIN, INFER], ids=["train", "infer"])
@pytest.mark.parametrize("provider", ["aws", "lambda", "runpod", "vast"])
def test_skypilot_s_own_schema_takes_it(workload, provider):
    schemas = pytest.importorskip("sky.utils.schemas", reason="skypilot is not installed")
    from jsonschema import validate

    task = yaml.safe_load(made("skypilot", workload, provider=provider, strategy="tensor_parallel=8").content)
    validate(task, schemas.get_task_schema())
    validate(task["resources"], schemas.get_resources_schema())


@pytest.mark.parametrize("workload", [TRAIN, INFER], ids=["train", "infer"])
@pytest.mark.parametrize("provider", ["aws", "lambda", "runpod", "vast"])
def test_dstack_s_own_schema_takes_it(workload, provider):
    models = pytest.importorskip("dstack._internal.core.models.configurations", reason="dstack is not installed")
    config = yaml.safe_load(made("dstack", workload, provider=provider, strategy="tensor_parallel=8").content)
    assert models.parse_apply_configuration(config).type == config["type"]
