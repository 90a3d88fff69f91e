"""The fitted constants of the memory model, read once from memory_constants.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from service.domain.workload import Framework


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConstants:
    """See [training] in the file."""

    one_live_layer: float
    selective_kept: float
    selective_eager: float
    bnb_gated: float
    bnb_plain: float
    dequantised_copies: float
    adapter_v2_bytes: float
    tensor_gathered: float
    prefetch_gib: float
    bucket_gib: float
    load_overlap: float
    embedding_states: float
    expert_dispatch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceConstants:
    """See [inference] in the file."""

    kept_logits_bytes: float
    rotary_bytes: float
    eager_attention_bytes: float
    workspace_allocated: float
    workspace_autoawq: float
    workspace_device: float
    engine_workspace_gib: float
    llama_cpp_workspace_gib: float
    engine_share: float
    autoawq_fixed_gib: float
    block_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheadConstants:
    """See [overhead] in the file."""

    context_gib: float
    collective_gib: float
    fragmentation: float
    fragmentation_inference: float
    variable_length: float
    variable_length_tight: float
    full_card_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkFacts:
    """What a framework does with memory. See [framework.*] in the file."""

    states_16bit: bool = False  # weights, gradients and optimizer states all in 16 bits
    fp32_shards: bool = False  # sharded weights are the fp32 master copy
    fp32_gradients: bool = False
    gradient_copy: bool = False  # an fp32 gradient of the own partition at the optimizer step
    foreach_temporary: bool = False
    logits: str = "hf"
    adapter_bytes: int = 2
    adapter_dropout: bool = False
    merged_qkv_adapter: bool = False
    upcasts_4bit: bool = False
    offloads_checkpoints: bool = False
    fused_kernels: bool = False
    quantises_head: bool = False
    loads_whole: bool = False  # the whole model stands on every GPU before it is sharded
    accumulates: bool = False  # gradients live through the forward pass
    variable_length: bool = False
    engine: bool = False  # paged cache, chunked prefill
    workspace: str = "hf"
    whole_prompt_logits: bool = False
    fuses_qkv: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """See [margins.*] in the file."""

    certain: float
    fitted: float
    fixed_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionShares:
    """See [diffusion] in the file."""

    inference: float
    trained: float
    trained_checkpointed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnvalidatedMargins:
    """See [unvalidated_margin] in the file."""

    preference: float
    mixture_training: float
    diffusion: float
    host_offload: float
    framework_unknown: float
    variable_length: float
    model_parallel_training: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryConstants:
    """All of the file. Compared by identity: one set of constants is read once."""

    bytes_per_weight: Mapping[str, float]
    optimizer_bytes: Mapping[str, float]
    scores_bytes: Mapping[str, float]
    logits_bytes: Mapping[str, float]
    training: TrainingConstants
    inference: InferenceConstants
    overhead: OverheadConstants
    frameworks: Mapping[Framework, FrameworkFacts]
    margins: Mapping[str, Margins]
    diffusion: DiffusionShares
    unvalidated: UnvalidatedMargins


def _facts(tables: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    own = dict(tables.get(name, {}))
    base = _facts(tables, own.pop("like")) if "like" in own else {}
    return base | own


def constants_from(raw: Mapping[str, Any]) -> MemoryConstants:
    """The constants of the file's tables.

    Raises:
        ValueError: a framework has a fact that the model does not know.
    """
    known = {field.name for field in fields(FrameworkFacts)}
    frameworks = {}
    for framework in Framework:
        facts = _facts(raw["framework"], framework.value)
        if unknown := facts.keys() - known:
            raise ValueError(f"memory_constants.toml: framework {framework.value} has unknown facts {sorted(unknown)}")
        frameworks[framework] = FrameworkFacts(**facts)
    return MemoryConstants(
        bytes_per_weight=MappingProxyType(raw["bytes_per_weight"]),
        optimizer_bytes=MappingProxyType(raw["optimizer_bytes"]),
        scores_bytes=MappingProxyType(raw["scores_bytes"]),
        logits_bytes=MappingProxyType(raw["logits_bytes"]),
        training=TrainingConstants(**raw["training"]),
        inference=InferenceConstants(**raw["inference"]),
        overhead=OverheadConstants(**raw["overhead"]),
        frameworks=MappingProxyType(frameworks),
        margins=MappingProxyType({name: Margins(**values) for name, values in raw["margins"].items()}),
        diffusion=DiffusionShares(**raw["diffusion"]),
        unvalidated=UnvalidatedMargins(**raw["unvalidated_margin"]),
    )


def read_tables() -> dict[str, Any]:
    """The tables of the file as it stands."""
    return tomllib.loads(files("service.estimate").joinpath("memory_constants.toml").read_text(encoding="utf-8"))


MEMORY = constants_from(read_tables())
