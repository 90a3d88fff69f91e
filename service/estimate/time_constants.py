"""The run-time model's constants, read once from the reviewed file `time_constants.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from providers.errors import InvalidInput

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matmul:
    of_measured: Shares
    of_peak: Shares
    narrow_hidden: float
    fp8_relative: float
    fp4_relative: float
    megatron_fp8: float
    expert_relative: float
    watts_per_tflops: Shares
    power_exponent: float
    fp32_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    share: float
    megatron_relative: float
    prompt_share: float
    unfused_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Elementwise:
    compiled_bytes: float
    eager_bytes: float
    hf_relative: float
    recompute_relative: float
    adapter_bytes: float
    compiled_adapter_relative: float
    logits_bytes: float
    bandwidth_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    seconds_per_kernel: float
    kernels_per_layer: float
    kernels_per_adapter: float
    hook_seconds_per_layer: float
    zero3_hook_relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantized:
    dequantize_bytes: float
    bandwidth_share: float
    gptq_relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerTraffic:
    bytes_per_parameter: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    link_share: float
    pcie_share: float
    pcie_host_share: float
    overlap: float
    exposed_floor: float
    ddp_full: float
    ddp_adapter: float
    tensor_exposed: float
    pipeline_bubble: float
    context_parallel: float
    expert_exchange: float
    fabric_gb_per_s: Shares
    ethernet_gb_per_s: float
    fabric_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode:
    bandwidth_share: float
    gddr_relative: float
    kv_share: Shares
    padded_rows: float
    head_bytes_per_second: float
    tensor_latency_seconds: float
    tensor_latency_growth: float
    expert_launch_relative: float
    seconds_per_layer: Shares
    host_relative: Shares
    vllm_graph_tokens: float
    vllm_eager_seconds_per_layer: float
    hf_4bit_relative: float
    hf_8bit_relative: float
    hf_fp8_relative: float
    litgpt_4bit_relative: float
    hf_per_expert: float
    unhidden: float
    llama_cpp_hbm_relative: float
    int4_native: float
    int4_engine: float
    int4_plain: float
    int4_experts: float
    int8: float
    fp8: float
    vector_row: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill:
    share_16bit: float
    share_8bit: float
    share_quantized: float
    share_vector: float
    share_llama_cpp: float
    share_llama_cpp_16bit: float
    share_exllama: float
    unfused_bytes: float
    pipeline_overlap: float
    prompt_seconds_per_layer: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    memory_fraction: float
    share_16bit: float
    share_8bit: float
    share_4bit: float
    weight_only_relative: float
    expert_relative: float
    expert_fp4_relative: float
    overlap_rest: float
    step_overhead_relative: float
    tensor_exposed: float
    kv_output_fraction: float
    diffusion_passes: float
    max_sequences: float
    max_sequences_experts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    forwards: Shares
    trainings: Shares
    generated_fraction: Shares
    generation_batch: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # compared and cached by identity: one per file
class TimeConstants:
    """All sections; `error` holds (low, high) over mid per class."""

    matmul: Matmul
    attention: Attention
    elementwise: Elementwise
    launch: Launch
    quantized: Quantized
    optimizer: OptimizerTraffic
    communication: Communication
    decode: Decode
    prefill: Prefill
    serving: Serving
    preference: Preference
    error: Mapping[str, tuple[float, float]]


_SECTIONS: Mapping[str, type[Any]] = MappingProxyType(
    {
        "matmul": Matmul,
        "attention": Attention,
        "elementwise": Elementwise,
        "launch": Launch,
        "quantized": Quantized,
        "optimizer": OptimizerTraffic,
        "communication": Communication,
        "decode": Decode,
        "prefill": Prefill,
        "serving": Serving,
        "preference": Preference,
    }
)


def constants_from(tables: Mapping[str, Any]) -> TimeConstants:
    """Constants from the tables of a TOML file of that shape.

    Raises:
        InvalidInput: a section or a constant is missing, unknown or not a number above 0.
    """
    sections = {name: _section(name, kind, tables.get(name, {})) for name, kind in _SECTIONS.items()}
    error = {name: (float(low), float(high)) for name, (low, high) in tables.get("error", {}).items()}
    return TimeConstants(**sections, error=MappingProxyType(error))


def _section(name: str, kind: type[Any], table: Mapping[str, Any]) -> Any:
    wanted = {field.name for field in fields(kind)}
    if wanted != set(table):
        differing = ", ".join(sorted(wanted ^ set(table)))
        raise InvalidInput(f"time constants [{name}]: missing or unknown: {differing}", pointer=f"/{name}")
    return kind(**{key: _number_or_shares(f"{name}.{key}", value) for key, value in table.items()})


def _number_or_shares(name: str, value: Any) -> float | Shares:
    if isinstance(value, Mapping):
        return MappingProxyType({key: float(share) for key, share in value.items()})
    if not isinstance(value, int | float) or not value >= 0:
        raise InvalidInput(f"time constant {name} must be a number of at least 0")
    return float(value)


def share_of(shares: Shares, name: str) -> float:
    """The share of that name, else the one named `default`."""
    found = shares.get(name)
    return shares["default"] if found is None else found


TIME = constants_from(tomllib.loads(files("service.estimate").joinpath("time_constants.toml").read_text(encoding="utf-8")))
