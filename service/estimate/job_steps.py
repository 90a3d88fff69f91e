"""A resolved job on a group of cards as the steps that the time model takes: names of strategies become degrees."""

from functools import lru_cache

from providers.errors import InvalidInput
from providers.offer import Fabric, Interconnect
from service.domain.workload import Framework, Technique
from service.estimate.infer_step import InferStep
from service.estimate.job import JobShape
from service.estimate.train_step import Layout, TrainStep, adapted_layers

_SHARDING = {"single": "none", "ddp": "none", "zero1": "zero1", "zero2": "zero2", "zero3": "zero3", "fsdp": "fsdp"}
_DEGREES = ("tensor_parallel", "pipeline_parallel", "replicas", "context_parallel")
FUSED_FRAMEWORKS = (Framework.MEGATRON, Framework.LLM_FOUNDRY, Framework.UNSLOTH)  # kernels fused by hand
PASSES_BESIDE = (Technique.DPO, Technique.PPO, Technique.GRPO)  # other passes beside the training step itself
ANSWERED_IN_ONE_PASS = ("encoder", "diffusion")  # a request is read, not continued token by token
_BYTES_OF_CACHE = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "fp4": 0.5}


@lru_cache(maxsize=4096)
def layout_of(strategy: str, *, gpu_count: int, nodes: int, interconnect: Interconnect, fabric: Fabric) -> Layout:
    """Degrees of a strategy's words on a group: "fsdp", "tensor_parallel=4", "tensor_parallel=2,ddp".

    Cards that no degree takes run copies of the model on different samples.

    Raises:
        InvalidInput: a word is not known, or the degrees do not divide the group.
    """
    total = gpu_count * nodes
    sharding, degrees = "none", dict.fromkeys(_DEGREES, 1)
    for word in strategy.split(","):
        name, _, degree = word.strip().partition("=")
        if name in _SHARDING and not degree:
            sharding = _SHARDING[name]
        elif name in degrees and degree.isdigit() and int(degree) > 0:
            degrees[name] = int(degree)
        else:
            raise InvalidInput(
                "the strategy is not known", pointer="/workload/strategy", allowed=(*_SHARDING, "tensor_parallel=N")
            )
    tensor, pipeline, context = (degrees[name] for name in ("tensor_parallel", "pipeline_parallel", "context_parallel"))
    if total % (tensor * pipeline * context):
        raise InvalidInput(f"{tensor * pipeline * context} cards a copy do not divide {total}", pointer="/workload/strategy")
    return Layout(
        gpus=total,
        nodes=nodes,
        data=total // (tensor * pipeline * context),
        tensor=tensor,
        pipeline=pipeline,
        context=context,
        sharding=sharding,
        nvlink=_has_nvlink(interconnect, gpu_count),
        fast_fabric={Fabric.INFINIBAND: True, Fabric.EFA: True, Fabric.ETHERNET: False}.get(fabric),
    )


def _has_nvlink(interconnect: Interconnect, gpu_count: int) -> bool | None:
    """A bridge joins pairs only; None: what the card's table says."""
    if interconnect is Interconnect.NVLINK_BRIDGE:
        return gpu_count <= 2
    return {Interconnect.NVLINK: True, Interconnect.NONE: False}.get(interconnect)


@lru_cache(maxsize=1024)
def train_step(job: JobShape, layout: Layout) -> TrainStep:
    """The training step of a job on a layout; preference techniques train every weight, with other passes beside."""
    return TrainStep(
        shape=job.model,
        technique=step_technique(job),
        precision=job.precision.value,
        framework=job.framework.value,
        micro_batch=job.micro_batch_size,
        sequence=job.sequence_length,
        recompute="full" if job.gradient_checkpointing else "none",
        compiled=job.compiled or job.framework in FUSED_FRAMEWORKS,
        flash_attention=job.flash_attention,
        accumulation=float(job.gradient_accumulation_steps),
        quantization=job.quantization.value if job.quantization else None,
        adapted=adapted_layers(job.model, job.lora_targets) if job.uses_adapters else adapted_layers(job.model, "none"),
        layout=layout,
        preference=job.technique.value if job.technique in PASSES_BESIDE else "",
    )


def step_technique(job: JobShape) -> str:
    """full, lora or qlora: which weights a step trains and whether they are expanded first."""
    return {Technique.LORA: "lora", Technique.QLORA: "qlora"}.get(job.technique or Technique.FULL, "full")


@lru_cache(maxsize=1024)
def infer_step(job: JobShape, *, tensor: int, pipeline: int = 1, interconnect: Interconnect = Interconnect.UNKNOWN) -> InferStep:
    """One replica's step of a serving job, at batch 1."""
    return InferStep(
        shape=job.model,
        precision=job.precision.value,
        framework=job.framework.value,
        quantization=job.quantization.value if job.quantization else None,
        kv_bytes=_BYTES_OF_CACHE.get(job.kv_cache_precision.value, 2.0),
        prompt=max(1, job.prompt_tokens),
        answer=1 if job.model.kind in ANSWERED_IN_ONE_PASS else max(1, job.output_tokens),
        tensor=tensor,
        pipeline=pipeline,
        nvlink=_has_nvlink(interconnect, tensor),
    )
