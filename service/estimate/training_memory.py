"""Peak memory of a training step on the fullest GPU: the larger of the moments that can be the peak, part by part."""

from providers.units import GIB
from service.estimate.activations import activation_bytes
from service.estimate.kv_cache import cache_bytes
from service.estimate.logits import logits_bytes
from service.estimate.memory_setup import MemorySetup, Recompute, Regime
from service.estimate.optimizer import TrainedBytes, trained_bytes
from service.estimate.sharding import gathered_bytes
from service.estimate.weights import WeightBytes, weight_bytes

Parts = dict[str, float]


def training_peak(setup: MemorySetup) -> tuple[Parts, float]:
    """Bytes by part at the peak of live tensors, and the bytes of activations and logits whose blocks stay cached.

    The peak is not a sum of everything: gradients appear while activations vanish. With frozen weights or accumulated
    gradients the moment is the end of the forward pass or the optimizer step; else also half way through the backward
    pass. Loading a whole model before sharding it can be higher than all of them.
    """
    weights, trained = weight_bytes(setup), trained_bytes(setup)
    static = _static(setup, weights, trained)
    tokens = setup.tokens / (setup.parallel.pipeline if setup.parallel.pipeline > 1 and setup.parallel.tensor > 1 else 1)
    activations, logits = activation_bytes(setup), logits_bytes(setup, tokens=tokens)
    if setup.shape.kind == "diffusion":
        activations = diffusion_bytes(setup, weights.resident)
    buffers = {"dequantised": weights.dequantised}
    forward = static | buffers | {"activations": activations, "logits": logits}
    step = static | {"gradients": trained.gradients, "step_temporary": trained.step_temporary}
    moments = [forward, step]
    if setup.adapters is not None or setup.accumulates or setup.facts.accumulates:
        forward["gradients"] = trained.gradients
        step["dequantised"] = weights.dequantised
    else:
        moments.append(
            static | {"activations": activations / 2, "logits": logits / 2, "gradients": trained.gradients / 2} | buffers
        )
    if setup.generates:
        moments.append(static | {"kv_cache": _generation_cache(setup)})
    if setup.facts.loads_whole and setup.parallel.shards_weights and setup.adapters is not None:
        moments.append(_load(setup, weights, activations + logits))
    return max(moments, key=lambda parts: sum(parts.values())), activations + logits


def _static(setup: MemorySetup, weights: WeightBytes, trained: TrainedBytes) -> Parts:
    """What stays on the GPU through the whole step."""
    ways = setup.parallel
    resident = setup.trained_copies * weights.resident / setup.model_split
    frozen = setup.frozen_copies * weights.resident / setup.model_split
    shards = ways.shard_degree if ways.shards_weights else 1
    half_copy = 2.0 * setup.shape.params_total if _caches_casts(setup) else 0.0
    return {
        "weights": 0.0 if setup.weights_on_host else (resident + frozen) / shards,
        "adapters": trained.adapters,
        "optimizer": trained.optimizer,
        "master_copy": trained.master_copy,
        "gathered_layers": gathered_bytes(setup, weight_bytes=weights.resident),
        "cast_weights": half_copy / setup.model_split,
    }


def diffusion_bytes(setup: MemorySetup, resident: float) -> float:
    """Activations of an image model as a share of its weights, for one 1024 pixel image per sequence: an estimate."""
    shares = setup.constants.diffusion
    share = shares.trained_checkpointed if setup.recompute is Recompute.FULL else shares.trained
    return (share if setup.is_training else shares.inference) * resident * setup.micro_batch


def _caches_casts(setup: MemorySetup) -> bool:
    """Autocast keeps the 16-bit casts of fp32 weights through one forward pass."""
    return setup.regime is Regime.AUTOCAST and setup.adapters is None


def _load(setup: MemorySetup, weights: WeightBytes, live: float) -> Parts:
    """The whole model and this GPU's shard of it side by side, with what of the first step overlaps."""
    shards = setup.parallel.shard_degree
    return {
        "weights": weights.resident * (1 + 1 / shards),
        "gathered_layers": gathered_bytes(setup, weight_bytes=weights.resident),
        "activations": setup.constants.training.load_overlap * live,
    }


def _generation_cache(setup: MemorySetup) -> float:
    """Cache of the answers that are generated between training steps, one micro batch at a time."""
    return (
        cache_bytes(
            setup.shape,
            tokens=setup.sequence,
            sequences=setup.micro_batch,
            bytes_per_value=setup.kv_bytes,
            caps_windows=False,
        )
        / setup.model_split
    )


def fragmentation_bytes(setup: MemorySetup, parts: Parts, *, live: float) -> float:
    """Cached and unused blocks beside the live tensors of `parts`; none in a reading of live tensors.

    Equal shapes: a share of the peak. Changing lengths: a multiple of the activations, of which the allocator gives
    most back when the card is full, so that a job needs only the tight share.
    """
    overhead = setup.constants.overhead
    peak = sum(parts.values())
    if not setup.varies:
        return overhead.fragmentation * peak
    tight = overhead.variable_length_tight * live
    if setup.card_gib is None:
        return max(tight, overhead.fragmentation * peak)
    room = overhead.full_card_fraction * setup.card_gib * GIB - peak
    return min(overhead.variable_length * live, max(tight, room))
