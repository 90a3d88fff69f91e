"""The field's rule of thumb beside our estimate of the same job on one GPU, with the reason for each difference."""

from collections.abc import Mapping
from types import MappingProxyType

from providers.units import gib_from_bytes
from service.domain.estimation import RuleDifference, RuleOfThumb
from service.domain.workload import Optimizer, Task
from service.estimate.job import JobShape
from service.estimate.job_memory import job_memory, setup_of
from service.estimate.memory_setup import Regime
from service.estimate.parallel import SINGLE
from service.estimate.rule_of_thumb import BYTES_PER_PARAM
from service.estimate.safety import memory_class

# of the rule's bytes, those that it gives the weights; the rest are training states (full) or all that training adds
_RULE_WEIGHT_BYTES: Mapping[str, float] = MappingProxyType(
    {"full": 2.0, "lora": 2.0, "qlora": 0.5, "inference_16bit": 2.0, "inference_8bit": 1.0, "inference_4bit": 0.5}
)
_GROUPS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "weights": frozenset({"weights", "cast_weights"}),
        "training_states": frozenset({"gradients", "optimizer", "master_copy", "adapters", "step_temporary"}),
        "working_memory": frozenset({"activations", "logits", "kv_cache", "workspace", "dequantised", "rotary", "fused_copies"}),
        "overhead": frozenset({"fragmentation", "context", "gathered_layers", "preallocated"}),
    }
)
_STATES_OF = {
    Regime.PURE_16: "weights, gradients and states are all kept in 16 bits",
    Regime.MIXED: "16-bit weights and gradients with an fp32 copy and fp32 states",
    Regime.AUTOCAST: "fp32 weights, gradients and states with 16-bit casts",
    Regime.FP32: "everything is kept in fp32",
}


def rule_beside_ours(job: JobShape) -> RuleOfThumb:
    """The rule's bytes per parameter and our point estimate, group by group of parts, on one GPU whatever its size."""
    need, setup = job_memory(job, SINGLE), setup_of(job, SINGLE)
    use = memory_class(setup)
    rule = {
        "weights": _RULE_WEIGHT_BYTES[use],
        "training_states": BYTES_PER_PARAM[use] - _RULE_WEIGHT_BYTES[use],
        "working_memory": 0.0,
        "overhead": 0.0,
    }
    params = job.model.params_total
    ours = {name: sum(part.gib for part in need.parts if part.name in group) for name, group in _GROUPS.items()}
    why = {
        "weights": _why_weights(job, use, copies=setup.trained_copies + setup.frozen_copies),
        "training_states": _why_states(job, use, setup.regime),
        "working_memory": _why_working(job),
        "overhead": "the CUDA context, libraries and unused blocks, which the rule leaves out",
    }
    differences = tuple(
        RuleDifference(part=name, rule_gib=round(gib_from_bytes(each * params), 3), ours_gib=round(ours[name], 3), why=why[name])
        for name, each in rule.items()
        if each > 0 or ours[name] > 0
    )
    total, point = gib_from_bytes(BYTES_PER_PARAM[use] * params), need.point_gib
    largest = max(differences, key=lambda one: abs(one.ours_gib - one.rule_gib))
    gap = largest.ours_gib - largest.rule_gib
    words = "more" if gap > 0 else "less"
    return RuleOfThumb(
        use=use,
        bytes_per_parameter=round(BYTES_PER_PARAM[use], 4),
        rule_gib=round(total, 3),
        ours_gib=round(point, 3),
        differences=differences,
        explained=(
            f"The rule of thumb gives {total:.1f} GiB, we estimate {point:.1f} GiB on one GPU; most of it: "
            f"{abs(gap):.1f} GiB {words} of {largest.part.replace('_', ' ')}: {largest.why}."
        ),
    )


def _why_weights(job: JobShape, use: str, *, copies: float) -> str:
    if copies > 1:
        return f"{copies:g} models of this size are on the GPU: those trained and those they are compared with"
    if use in ("full", "lora", "inference_16bit"):
        return "fp32 weights take twice the rule's bytes" if job.precision.value == "fp32" else "the same bytes per parameter"
    kept = job.model.embedding_params + job.model.head_params
    return f"the embedding and head ({kept / 1e9:.2g} billion parameters) stay in 16 bits or more, and scales are added"


def _why_states(job: JobShape, use: str, regime: Regime) -> str:
    if use == "full":
        kind = "" if job.optimizer is Optimizer.ADAMW else f", with {job.optimizer.value} in place of AdamW"
        return f"the rule keeps gradients, two moments and an fp32 copy; here {_STATES_OF[regime]}{kind}"
    if job.task is Task.INFER:
        return "the rule's rest is for all that is not weights"
    return f"the rule's rest is for all that training adds; adapters of rank {job.lora_rank} and their states take this much"


def _why_working(job: JobShape) -> str:
    if job.task is Task.INFER:
        return f"the cache of {job.micro_batch_size} x {job.sequence_length} tokens and the engine's workspace"
    kept = "recomputed" if job.gradient_checkpointing else "kept"
    return f"activations ({kept}), logits and loss of {job.micro_batch_size} x {job.sequence_length} tokens"
