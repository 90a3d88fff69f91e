"""Launch job: what an option's launch has to say, read out of the plan: processes, degrees, batch, model, notes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from providers.errors import InvalidInput
from service.domain.plan import Plan, PlanOption
from service.estimate.models import find_model

_ZERO: Final = {"single": 0, "ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}
_VLLM_SCHEMES: Final = {"gptq": "gptq", "awq": "awq", "fp8": "fp8", "nvfp4": "modelopt_fp4", "nf4": "bitsandbytes"}
_DTYPES: Final = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchJob:
    """One option, as launchers see it."""

    name: str
    is_service: bool
    is_cloud: bool
    model_id: str
    gpus: int  # of one machine
    nodes: int  # machines that work together
    groups: int  # replicas of a service that stand on machines of their own; 1 for training
    copies: int  # replicas of a service on one machine; 1 for training
    strategy: str
    sharding: str  # single, ddp, zero1, zero2, zero3 or fsdp
    tensor: int
    pipeline: int
    micro_batch_size: int | None
    accumulation_steps: int
    sequence_length: int | None
    context_tokens: int | None  # prompt and answer of one request
    gradient_checkpointing: bool
    mixed_precision: str
    dtype: str | None
    quantization: str | None
    checkpoint_minutes: float | None

    @property
    def is_model_parallel(self) -> bool:
        """Tensor or pipeline parallel: the script itself must split the model."""
        return self.tensor > 1 or self.pipeline > 1

    @property
    def zero_stage(self) -> int:
        """The ZeRO stage that shards what the strategy shards."""
        return _ZERO[self.sharding]

    @property
    def effective_batch_size(self) -> int | None:
        """Sequences per optimizer step over all GPUs; None for a service or where the micro batch is not known."""
        if self.is_service or self.micro_batch_size is None:
            return None
        return self.micro_batch_size * self.accumulation_steps * self.gpus * self.nodes // (self.tensor * self.pipeline)


def job_of(plan: Plan, option: PlanOption) -> LaunchJob:
    """The job of an option.

    Raises:
        InvalidInput: the option is a part of a card: no launcher can ask for that.
    """
    if option.gpu_count != int(option.gpu_count):
        raise InvalidInput("a part of a GPU cannot be asked for in a launch file: choose another option", pointer="/option")
    workload: Mapping[str, Any] = plan.request_echo["workload"]
    known = {one.name: one.value for one in plan.assumptions}

    def stated(name: str) -> Any:
        value = workload.get(name)
        return known.get(name) if value is None else value

    degrees = dict(re.findall(r"([a-z_]+)=(\d+)", option.strategy))
    words = set(re.findall(r"[a-z_0-9]+", option.strategy))
    tensor, pipeline = int(degrees.get("tensor_parallel", 1)), int(degrees.get("pipeline_parallel", 1))
    is_service, gpus = workload["task"] == "infer", int(option.gpu_count)
    cards, machines = gpus * option.nodes, max(1, -(-tensor * pipeline // gpus))  # machines of one replica
    prompt, output = stated("prompt_tokens"), stated("output_tokens")
    quantization = stated("quantization")
    precision = str(stated("precision") or "bf16")
    return LaunchJob(
        name=re.sub(r"[^a-z0-9]+", "-", str(workload.get("name") or f"gpuplan-{plan.plan_id[:8]}").lower()).strip("-")[:40]
        or "job",
        is_service=is_service,
        is_cloud=option.kind == "cloud",
        model_id=_model_id(workload.get("model")),
        gpus=gpus,
        nodes=machines if is_service else option.nodes,
        groups=max(1, option.nodes // machines) if is_service else 1,
        copies=max(1, gpus // (tensor * pipeline)) if is_service else 1,
        strategy=option.strategy,
        sharding=next((word for word in _ZERO if word in words), "ddp" if cards > 1 else "single"),
        tensor=tensor,
        pipeline=pipeline,
        micro_batch_size=None if is_service else _whole(stated("micro_batch_size")),
        accumulation_steps=_whole(workload.get("gradient_accumulation_steps")) or 1,
        sequence_length=_whole(stated("sequence_length")),
        context_tokens=int(prompt) + int(output) if is_service and prompt and output else None,
        gradient_checkpointing=bool(stated("gradient_checkpointing")),
        mixed_precision=precision if precision in ("bf16", "fp16", "fp8") else "no",
        dtype=_DTYPES.get(precision),
        quantization=_VLLM_SCHEMES.get(str(quantization)) if is_service else None,
        checkpoint_minutes=(workload.get("checkpoint") or {}).get("interval_minutes"),
    )


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _model_id(model: Any) -> str:
    """What a hub calls the model; a placeholder where the plan knows only its size or shape."""
    if not isinstance(model, str):
        return "<MODEL_ID>"
    try:
        return find_model(model).hf_id or "<MODEL_ID>"
    except InvalidInput:
        return model


def launch_notes(job: LaunchJob, option: PlanOption) -> tuple[str, ...]:
    """What saves GPU-hours, and what the plan counted on."""
    notes = []
    if job.effective_batch_size is not None:
        parts = f"{job.micro_batch_size} x {job.accumulation_steps} accumulation steps x {_copies(job)} data-parallel copies"
        notes.append(f"Effective batch size: {job.effective_batch_size} sequences a step ({parts}).")
    if not job.is_service:
        every = (
            f"every {job.checkpoint_minutes:g} minutes"
            if job.checkpoint_minutes is not None
            else "as often as the plan's interruption line assumes (checkpoint.interval_minutes sets it)"
        )
        is_resumed = "no_resume" not in option.flags
        if is_resumed and (option.capacity_type == "spot" or job.checkpoint_minutes is not None):
            notes.append(f"Save a checkpoint to object storage {every}, and resume from the newest at the start.")
        notes.append("Copy the data to local NVMe before the first step; reading it over the network idles GPUs.")
        notes.append("Tokenise and pack the data once, on a machine without GPUs.")
    notes.append("Keep weights as safetensors: they are mapped into memory and load several times sooner than pickles.")
    if "no_resume" in option.flags:
        notes.append("The plan counts on no resume: an interruption starts the run from zero.")
    if option.kind == "cloud":
        notes.append(f"Pinned to {_pinned(option)}, as the plan priced it; another place or kind has another price.")
    if job.is_model_parallel and not job.is_service:
        notes.append(f"The script itself must split the model: {option.strategy}.")
    return tuple(notes)


def _copies(job: LaunchJob) -> int:
    return job.gpus * job.nodes // (job.tensor * job.pipeline)


def _pinned(option: PlanOption) -> str:
    place = option.zone or option.region or option.country or "no region (the provider states none)"
    return ", ".join((option.provider, place, f"{option.gpu_count:g}x {option.gpu}", option.capacity_type.replace("_", "-")))
