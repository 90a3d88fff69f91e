"""Workload: what has to be computed, whatever it runs on."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from service.domain.base import Gigabytes, Name, Request


class Task(StrEnum):
    TRAIN = "train"
    INFER = "infer"
    RAW = "raw"  # the need is stated, not estimated


class Technique(StrEnum):
    """How the weights are trained. For `infer` the precision says it all."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"
    CONTINUED_PRETRAINING = "continued_pretraining"
    DPO = "dpo"
    PPO = "ppo"
    GRPO = "grpo"
    REWARD_MODEL = "reward_model"


class Precision(StrEnum):
    """Number format of the compute and, for inference, of the weights."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"  # 4-bit whatever the scheme; `quantization` names it
    FP4 = "fp4"


class Quantization(StrEnum):
    """The 4- or 8-bit scheme of the weights."""

    NF4 = "nf4"
    NF4_DOUBLE = "nf4_double"
    GPTQ = "gptq"
    AWQ = "awq"
    GGUF_Q4_K_M = "gguf_q4_k_m"
    INT8 = "int8"
    FP8 = "fp8"
    NVFP4 = "nvfp4"


class Optimizer(StrEnum):
    ADAMW = "adamw"
    ADAMW_8BIT = "adamw_8bit"
    PAGED_ADAMW_8BIT = "paged_adamw_8bit"
    PAGED_ADAMW_32BIT = "paged_adamw_32bit"
    ADAFACTOR = "adafactor"
    SGD = "sgd"
    SGD_MOMENTUM = "sgd_momentum"
    LION = "lion"


class Framework(StrEnum):
    HF = "hf"
    TORCHTUNE = "torchtune"
    LITGPT = "litgpt"
    TORCHTITAN = "torchtitan"
    DEEPSPEED = "deepspeed"
    MEGATRON = "megatron"
    UNSLOTH = "unsloth"
    AXOLOTL = "axolotl"
    LLAMA_FACTORY = "llama_factory"
    VLLM = "vllm"
    TENSORRT_LLM = "tensorrt_llm"
    LLAMA_CPP = "llama_cpp"
    MS_SWIFT = "ms_swift"
    LLM_FOUNDRY = "llm_foundry"
    AUTOAWQ = "autoawq"
    EXLLAMA = "exllama"
    GPT_FAST = "gpt_fast"
    SGLANG = "sglang"
    UNKNOWN = "unknown"


class Strategy(StrEnum):
    """How work and state are spread over GPUs. Absent in a request: the cheapest that fits is chosen per card and count."""

    SINGLE = "single"
    DDP = "ddp"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    FSDP = "fsdp"
    TENSOR_PARALLEL = "tensor_parallel"
    PIPELINE_PARALLEL = "pipeline_parallel"


class LossKind(StrEnum):
    """How the loss reads the output logits: the largest buffer of a small model with a large vocabulary."""

    PLAIN = "plain"
    CHUNKED = "chunked"
    FUSED = "fused"  # fused linear cross entropy: the logits never exist whole


class CheckpointSupport(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ParamsSpec(Request):
    """A model known only by its size: a standard shape is assumed and said."""

    params_b: Annotated[float, Field(gt=0, le=100_000, description="parameters in billions")]


class DataLocation(Request):
    provider: Name
    region: Name | None = None


class WorkloadData(Request):
    """The data the work reads and writes. Absent figures go to `not_priced`, never to 0."""

    dataset_gb: Gigabytes | None = None
    location: DataLocation | None = None
    output_gb: Gigabytes | None = None
    disk_gb: Gigabytes | None = Field(default=None, description="local disk the job needs on the machine")


class CheckpointSpec(Request):
    """Can the job resume after an interruption, and at what price in time."""

    supported: CheckpointSupport = CheckpointSupport.UNKNOWN
    interval_minutes: Annotated[float, Field(gt=0, le=100_000)] | None = None
    stall_minutes: Annotated[float, Field(ge=0, le=1_000)] | None = None
    restart_minutes: Annotated[float, Field(ge=0, le=10_000)] | None = None
    size_gb: Gigabytes | None = None


Count = Annotated[int, Field(ge=1, le=100_000)]
Work = Annotated[float, Field(gt=0, le=1e18)]


class Workload(Request):
    """What has to be computed. Which fields a task takes is said in the errors and in the README."""

    name: Name = "workload"
    task: Task = Task.TRAIN
    model: Name | ParamsSpec | dict[str, Any] | None = Field(
        default=None, description='a known name, {"params_b": 7}, or the content of a Hugging Face config.json'
    )
    technique: Technique | None = None
    precision: Precision | None = None
    quantization: Quantization | None = None
    kv_cache_precision: Precision | None = None
    optimizer: Optimizer | None = None
    optimizer_in_backward: bool = False
    framework: Framework | None = None
    loss: LossKind | None = None
    compiled: bool | None = None
    flash_attention: bool | None = None
    strategy: Strategy | None = None
    sequence_length: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    micro_batch_size: Annotated[int, Field(ge=1, le=65_536)] | None = None
    gradient_accumulation_steps: Annotated[int, Field(ge=1, le=65_536)] | None = None
    gradient_checkpointing: bool | None = None
    lora_rank: Annotated[int, Field(ge=1, le=65_536)] | None = None
    lora_targets: Name | None = Field(default=None, description="all, or of q,k,v,o,mlp,head joined by commas")
    # train work: tokens, or examples x epochs x mean_tokens
    tokens: Work | None = None
    examples: Work | None = None
    epochs: Annotated[float, Field(gt=0, le=100_000)] | None = None
    mean_tokens: Annotated[float, Field(gt=0, le=10_000_000)] | None = None
    # infer work
    requests_per_second: (
        Annotated[float, Field(gt=0, le=1e9)]
        | Annotated[list[Annotated[float, Field(ge=0, le=1e9)]], Field(min_length=24, max_length=168)]
        | None
    ) = Field(default=None, description="one number, or a profile of 24 or 168 hourly values")
    prompt_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    output_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    concurrency: Count | None = Field(default=None, description="sequences served at once by one replica; absent: as many as fit")
    time_to_first_token_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    time_per_output_token_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    min_replicas: Annotated[int, Field(ge=0, le=100_000)] | None = None
    max_replicas: Count | None = None
    # raw work: per GPU memory, GPUs, and GPU-hours summed over the GPUs, on a reference GPU
    vram_gib: Annotated[float, Field(gt=0, le=100_000)] | None = None
    gpu_count: Count | None = None
    gpu_hours: Annotated[float, Field(gt=0, le=1e12)] | None = None
    data: WorkloadData | None = None
    checkpoint: CheckpointSpec | None = None

    @model_validator(mode="after")
    def _fields_fit_the_task(self) -> Self:
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        if self.task is Task.RAW:
            _require(given, ("vram_gib",), "a raw workload states vram_gib")
            _forbid(given, _MODEL_ONLY | _TRAIN_WORK | _INFER_WORK, "a raw workload takes vram_gib, gpu_count and gpu_hours")
            return self
        _require(given, ("model",), "the task needs a model")
        _forbid(given, {"vram_gib", "gpu_count", "gpu_hours"}, "only a raw workload takes this")
        if self.task is Task.TRAIN:
            _forbid(given, _INFER_WORK, "only an infer workload takes this")
            by_examples = given & {"examples", "epochs", "mean_tokens"}
            if "tokens" in given and by_examples:
                raise ValueError("give tokens, or examples with epochs and mean_tokens, not both")
            if by_examples and not {"examples", "mean_tokens"} <= given:
                raise ValueError("examples and mean_tokens go together (epochs defaults to 1)")
        else:
            _forbid(
                given, _TRAIN_WORK | {"technique", "optimizer", "lora_rank", "lora_targets"}, "only a train workload takes this"
            )
        if isinstance(self.requests_per_second, list) and len(self.requests_per_second) not in (24, 168):
            raise ValueError("requests_per_second takes one number or 24 or 168 hourly values")
        return self

    @property
    def total_tokens(self) -> float | None:
        """Tokens of one training run; None when neither tokens nor examples are given."""
        if self.tokens is not None:
            return self.tokens
        if self.examples is not None and self.mean_tokens is not None:
            return self.examples * (self.epochs or 1.0) * self.mean_tokens
        return None


_TRAIN_WORK = frozenset({"tokens", "examples", "epochs", "mean_tokens"})
_INFER_WORK = frozenset(
    {"requests_per_second", "prompt_tokens", "output_tokens", "concurrency", "time_to_first_token_seconds",
     "time_per_output_token_seconds", "min_replicas", "max_replicas", "kv_cache_precision"}
)  # fmt: skip
_MODEL_ONLY = frozenset(
    {"model", "technique", "quantization", "optimizer", "framework", "loss", "compiled", "strategy", "sequence_length",
     "micro_batch_size", "gradient_checkpointing", "lora_rank", "lora_targets"}
)  # fmt: skip


def _require(given: set[str], names: tuple[str, ...], why: str) -> None:
    if missing := [name for name in names if name not in given]:
        raise ValueError(f"{why}: {', '.join(missing)} is missing")


def _forbid(given: set[str], names: set[str] | frozenset[str], why: str) -> None:
    if found := sorted(given & names):
        raise ValueError(f"{why}: {', '.join(found)} does not belong here")
