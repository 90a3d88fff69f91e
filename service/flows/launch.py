"""Launch: a ready file or command that starts a plan's option as the plan counted on it."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import yaml

from providers.errors import InvalidInput
from service.domain.plan import Plan, PlanOption
from service.flows.launch_cluster import dstack_file, skypilot_file
from service.flows.launch_job import LaunchJob, job_of, launch_notes

HEAD: Final = "<HEAD_NODE_ADDRESS>"
PORT: Final = 29_500
WRAPPED: Final = "TRANSFORMER_BASED_WRAP"


class LaunchFormat(StrEnum):
    """What is handed over."""

    TORCHRUN = "torchrun"
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    SKYPILOT = "skypilot"
    DSTACK = "dstack"
    VLLM = "vllm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A file or command for one option. What stands in angle brackets is the user's to fill in."""

    plan_id: str
    option: int
    format: LaunchFormat
    filename: str
    content: str
    effective_batch_size: int | None  # sequences per optimizer step, over all GPUs; null for a service
    notes: tuple[str, ...]


def launch(plan: Plan, *, option: int, form: LaunchFormat) -> Launch:
    """The launch of an option.

    Raises:
        InvalidInput: the plan has no such option, or the format cannot start it (`allowed` holds those that can).
    """
    chosen = next((one for one in plan.options if one.rank == option), None)
    if chosen is None:
        raise InvalidInput(f"the plan has {len(plan.options)} options: there is no number {option}", pointer="/option")
    job = job_of(plan, chosen)
    allowed = _formats_for(job)
    if form not in allowed:
        why = "a service" if job.is_service else "own hardware" if chosen.kind != "cloud" else "this job"
        raise InvalidInput(
            f"{form.value} cannot start {why}", pointer="/format", allowed=[one.value for one in LaunchFormat if one in allowed]
        )
    filename, write = _WRITERS[form]
    return Launch(
        plan_id=plan.plan_id,
        option=option,
        format=form,
        filename=filename,
        content=write(job, chosen),
        effective_batch_size=job.effective_batch_size,
        notes=launch_notes(job, chosen),
    )


def _formats_for(job: LaunchJob) -> frozenset[LaunchFormat]:
    clusters = {LaunchFormat.SKYPILOT, LaunchFormat.DSTACK} if job.is_cloud else set()
    if job.is_service:
        return frozenset({LaunchFormat.VLLM, *clusters})
    if job.is_model_parallel:
        return frozenset({LaunchFormat.TORCHRUN, *clusters})
    return frozenset({LaunchFormat.TORCHRUN, LaunchFormat.ACCELERATE, LaunchFormat.DEEPSPEED, *clusters})


def torchrun_command(job: LaunchJob, *, rank: str = "<NODE_RANK_FROM_0>", head: str = HEAD) -> str:
    """One command for each machine; the process count is the machine's GPUs."""
    if job.nodes == 1:
        where = f"--standalone --nproc-per-node={job.gpus}"
    else:
        where = (
            f"--nnodes={job.nodes} --nproc-per-node={job.gpus} --node-rank={rank} "
            f"--rdzv-id={job.name} --rdzv-backend=c10d --rdzv-endpoint={head}:{PORT}"
        )
    return f"torchrun {where} {_script(job)}"


def _script(job: LaunchJob) -> str:
    """The user's own training script, given what the plan counted on."""
    told = {
        "model": job.model_id,
        "per-device-batch-size": job.micro_batch_size,
        "gradient-accumulation-steps": job.accumulation_steps,
        "sequence-length": job.sequence_length,
        "strategy": job.strategy,
    }
    return "train.py " + " ".join(f"--{name}={shlex.quote(str(value))}" for name, value in told.items() if value is not None)


def vllm_command(job: LaunchJob) -> str:
    """`vllm serve` for one machine, or one group of machines that hold a replica together."""
    parts = [f"vllm serve {shlex.quote(job.model_id)}", f"--tensor-parallel-size {job.tensor}"]
    if job.pipeline > 1:
        parts.append(f"--pipeline-parallel-size {job.pipeline}")
    if job.copies > 1:
        parts.append(f"--data-parallel-size {job.copies}")
    if job.context_tokens is not None:
        parts.append(f"--max-model-len {job.context_tokens}")
    if job.dtype is not None:
        parts.append(f"--dtype {job.dtype}")
    if job.quantization is not None:
        parts.append(f"--quantization {job.quantization}")
    return " ".join([*parts, "--gpu-memory-utilization 0.90"])


def _torchrun(job: LaunchJob, _: PlanOption) -> str:
    lines = ["#!/bin/sh", "# Run on each machine, with its own rank." if job.nodes > 1 else "# Run on the machine."]
    return "\n".join([*lines, torchrun_command(job), ""])


def _vllm(job: LaunchJob, _: PlanOption) -> str:
    lines = ["#!/bin/sh"]
    if job.pipeline > 1:
        lines.append("# Start a Ray cluster over the machines of one replica first; run this on its head.")
    if job.groups > 1:
        lines.append(f"# Run one of these on each of {job.groups} machines or groups of machines, behind a load balancer.")
    return "\n".join([*lines, vllm_command(job), ""])


def _accelerate(job: LaunchJob, _: PlanOption) -> str:
    """An accelerate config: FSDP, DeepSpeed ZeRO, plain data parallel, or one GPU, as the plan chose."""
    kind = {"fsdp": "FSDP", "single": "NO", "ddp": "MULTI_GPU"}.get(job.sharding, "DEEPSPEED")
    config: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": kind,
        "downcast_bf16": "no",
        "machine_rank": 0,
        "main_process_ip": HEAD if job.nodes > 1 else None,
        "main_process_port": PORT if job.nodes > 1 else None,
        "main_training_function": "main",
        "mixed_precision": job.mixed_precision,
        "num_machines": job.nodes,
        "num_processes": job.gpus * job.nodes,
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    if kind == "FSDP":
        config["fsdp_config"] = {
            "fsdp_activation_checkpointing": job.gradient_checkpointing,
            "fsdp_auto_wrap_policy": WRAPPED,
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_offload_params": False,
            "fsdp_reshard_after_forward": True,
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_version": 2,
        }
    elif kind == "DEEPSPEED":
        config["deepspeed_config"] = {
            "gradient_accumulation_steps": job.accumulation_steps,
            "offload_optimizer_device": "none",
            "offload_param_device": "none",
            "zero3_init_flag": job.zero_stage == 3,
            "zero_stage": job.zero_stage,
        }
    text: str = yaml.safe_dump({name: value for name, value in config.items() if value is not None}, sort_keys=True)
    return text


def _deepspeed(job: LaunchJob, _: PlanOption) -> str:
    """A DeepSpeed config with the ZeRO stage that keeps what the plan's strategy keeps."""
    config: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": job.micro_batch_size,
        "gradient_accumulation_steps": job.accumulation_steps,
        "train_batch_size": job.effective_batch_size,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": job.mixed_precision == "bf16"},
        "fp16": {"enabled": job.mixed_precision == "fp16"},
        "zero_optimization": {
            "stage": job.zero_stage,
            "overlap_comm": job.zero_stage > 0,
            "contiguous_gradients": True,
            "reduce_scatter": True,
        },
    }
    if job.zero_stage == 3:
        config["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] = True
    return json.dumps(config, indent=2) + "\n"


def _skypilot(job: LaunchJob, option: PlanOption) -> str:
    head = '"$(echo "$SKYPILOT_NODE_IPS" | head -n1)"'
    return skypilot_file(job, option, run=_run(job, rank='"$SKYPILOT_NODE_RANK"', head=head))


def _dstack(job: LaunchJob, option: PlanOption) -> str:
    return dstack_file(job, option, run=_run(job, rank='"$DSTACK_NODE_RANK"', head='"$DSTACK_MASTER_NODE_IP"'))


def _run(job: LaunchJob, *, rank: str, head: str) -> str:
    return vllm_command(job) if job.is_service else torchrun_command(job, rank=rank, head=head)


_WRITERS: Final[Mapping[LaunchFormat, tuple[str, Callable[[LaunchJob, PlanOption], str]]]] = {
    LaunchFormat.TORCHRUN: ("launch.sh", _torchrun),
    LaunchFormat.ACCELERATE: ("accelerate.yaml", _accelerate),
    LaunchFormat.DEEPSPEED: ("deepspeed.json", _deepspeed),
    LaunchFormat.SKYPILOT: ("skypilot.yaml", _skypilot),
    LaunchFormat.DSTACK: (".dstack.yml", _dstack),
    LaunchFormat.VLLM: ("serve.sh", _vllm),
}
