"""Peak memory of inference on the fullest GPU: weights, cache, prompt workspace and the logits that are kept."""

from providers.units import GIB
from service.domain.workload import Framework
from service.estimate.kv_cache import cache_bytes
from service.estimate.memory_setup import AttentionKernel, MemorySetup, Reading
from service.estimate.model_shape import ModelShape
from service.estimate.training_memory import diffusion_bytes
from service.estimate.weights import weight_bytes

Parts = dict[str, float]
_FUSED_QKV = frozenset({"mpt", "falcon", "bloom", "neox", "gpt2", "glm", "gptj", "gpt3"})
_LAST_TOKEN_FAMILIES = frozenset({"glm"})  # their model code cuts the hidden states before the head
_ROTARY_TABLE_TOKENS = 32_768


def inference_peak(setup: MemorySetup) -> Parts:
    """Bytes by part on one GPU at the peak of live tensors: while the prompt is read, or at the end of the answer.

    While the prompt is read the workspace of one layer or the logits are alive, whichever is larger; at the end the
    whole cache is, and where caches grow by concatenation one layer's second copy.
    """
    weights = weight_bytes(setup)
    split = setup.model_split
    base = {"weights": weights.resident / split, "dequantised": weights.dequantised, "rotary": _rotary(setup) / split}
    if setup.facts.engine:
        return base | {
            "kv_cache": _cache(setup, setup.sequence),
            "workspace": setup.constants.inference.engine_workspace_gib * GIB,
        }
    if setup.facts.workspace == "llama_cpp":
        fixed = setup.constants.inference.llama_cpp_workspace_gib * GIB
        return base | {"kv_cache": _cache(setup, setup.sequence), "workspace": fixed}
    workspace, logits = prompt_workspace(setup), _prompt_logits(setup)
    if setup.shape.kind == "diffusion":
        workspace = diffusion_bytes(setup, weights.resident) / split
    reading = base | {"kv_cache": _cache(setup, setup.prompt)}
    reading |= {"logits": logits} if logits > workspace else {"workspace": workspace}
    whole = _cache(setup, setup.sequence)
    answering = base | {"kv_cache": whole, "workspace": whole / max(1, setup.shape.layers), "logits": _one_token_logits(setup)}
    moments = [reading, answering]
    if setup.facts.fuses_qkv:
        fixed = setup.constants.inference.autoawq_fixed_gib * GIB
        reading["workspace"] = reading.get("workspace", 0.0) + fixed
        moments.append(base | {"fused_copies": _fused_copies(setup, weights.resident) / split, "workspace": fixed})
    return max(moments, key=lambda parts: sum(parts.values()))


def _cache(setup: MemorySetup, tokens: int) -> float:
    """Cache bytes on one GPU. Latent caches are not split by the tensor degree: every rank needs the whole latent."""
    facts = setup.facts
    whole = cache_bytes(
        setup.shape,
        tokens=tokens,
        sequences=setup.micro_batch,
        bytes_per_value=setup.kv_bytes,
        caps_windows=facts.engine or (setup.framework is Framework.HF and not setup.older_library),
        block_tokens=setup.constants.inference.block_tokens if facts.engine else 1,
    )
    tensor = 1 if setup.shape.attention == "mla" else setup.parallel.tensor
    return whole / (tensor * setup.parallel.pipeline * setup.layer_split)


def prompt_workspace(setup: MemorySetup) -> float:
    """Bytes of one layer's temporaries while the prompt is read: 8h + 4f (2f plain) per token, and eager scores.

    Weights that are split by layer leave it whole on each GPU in turn; tensor parallelism divides it.
    """
    shape, constants = setup.shape, setup.constants.inference
    per_token = 8.0 * shape.hidden + (4.0 if shape.is_gated else 2.0) * shape.intermediate
    if setup.facts.workspace == "autoawq":
        share = constants.workspace_autoawq
    else:
        share = constants.workspace_device if setup.reading is Reading.DEVICE else constants.workspace_allocated
    total = share * per_token * setup.micro_batch * setup.prompt
    if setup.facts.fuses_qkv or setup.attention is AttentionKernel.EAGER:
        total += constants.eager_attention_bytes * shape.heads * setup.micro_batch * float(setup.prompt) ** 2
    return total / setup.parallel.tensor


def _prompt_logits(setup: MemorySetup) -> float:
    """Logits built for the whole prompt (older libraries), with the hidden states they are made from."""
    older = setup.older_library and setup.shape.family not in _LAST_TOKEN_FAMILIES
    if not (setup.facts.whole_prompt_logits or older):
        return _one_token_logits(setup)
    per_token = setup.constants.inference.kept_logits_bytes * setup.shape.vocab + 2.0 * setup.shape.hidden
    return per_token * setup.micro_batch * setup.prompt / setup.parallel.tensor


def _one_token_logits(setup: MemorySetup) -> float:
    if setup.shape.kind in ("encoder", "diffusion"):
        return 0.0
    return setup.constants.inference.kept_logits_bytes * setup.shape.vocab * setup.micro_batch


def _rotary(setup: MemorySetup) -> float:
    """Cosine and sine tables that older libraries keep in every layer for the whole context."""
    without = setup.shape.learned_pos or setup.shape.family in _LAST_TOKEN_FAMILIES
    if not setup.older_library or without:
        return 0.0
    positions = min(setup.shape.context, _ROTARY_TABLE_TOKENS)
    return setup.constants.inference.rotary_bytes * setup.shape.layers * positions * setup.shape.head_dim


def _fused_copies(setup: MemorySetup, resident: float) -> float:
    """Quantised query, key and value matrices joined into one before the originals are freed."""
    shape: ModelShape = setup.shape
    if shape.family in _FUSED_QKV or setup.quantization is None:
        return 0.0
    each = setup.constants.bytes_per_weight[setup.quantization]
    return min(resident, each * shape.layers * shape.hidden * (shape.q_width + 2 * shape.kv_width))
