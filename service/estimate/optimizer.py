"""Gradients, optimizer states, master copy and step temporaries of trained parameters."""

from dataclasses import dataclass

from service.estimate.adapters import adapter_params, fully_trained_params
from service.estimate.memory_setup import MemorySetup, Regime

_EIGHT_BIT = frozenset({"adamw_8bit", "paged_adamw_8bit", "adamw_4bit"})
_HALVED_IN_16_BITS = frozenset({"adamw", "paged_adamw_32bit", "sgd_momentum", "lion"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedBytes:
    """Bytes on one GPU of what training adds to the weights, by kind."""

    adapters: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    master_copy: float = 0.0
    step_temporary: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesPerParam:
    """Bytes per trained parameter under one regime."""

    gradient: float
    states: float
    master: float
    temporary: float


def bytes_per_param(setup: MemorySetup) -> BytesPerParam:
    """What each trained parameter of a full fine-tune costs beside its weight.

    pure 16-bit: gradient 2, AdamW 4, and 2 more at the step where the optimizer copies its updates. Mixed: gradient 2
    or 4, AdamW 8, fp32 master 4 (2 where the sharded weight is the master itself), 4 for the fp32 gradient of the own
    partition. fp32 and autocast: 4 and 8. Sources: arXiv:1910.02054 section 3; the frameworks' documentation.
    """
    facts, states = setup.facts, setup.constants.optimizer_bytes[setup.optimizer]
    if setup.regime is Regime.PURE_16:
        halved = states / 2 if setup.optimizer in _HALVED_IN_16_BITS else states
        return BytesPerParam(
            gradient=2, states=halved, master=0, temporary=2 if facts.foreach_temporary or facts.gradient_copy else 0
        )
    if setup.regime in (Regime.FP32, Regime.AUTOCAST):
        return BytesPerParam(gradient=4, states=states, master=0, temporary=0)
    if facts.fp32_shards:
        return BytesPerParam(gradient=4, states=states, master=2, temporary=0)
    if facts.fp32_gradients:
        return BytesPerParam(gradient=4, states=states, master=4, temporary=0)
    return BytesPerParam(gradient=2, states=states, master=4, temporary=4)


def trained_bytes(setup: MemorySetup) -> TrainedBytes:
    """Bytes on one GPU of gradients, states, master copy and step temporaries, sharded as the strategy says."""
    if setup.adapters is not None:
        return _adapter_bytes(setup)
    ways, shape = setup.parallel, setup.shape
    params = setup.trained_copies * shape.params_total / setup.model_split
    each = bytes_per_param(setup)
    own = params / (ways.shard_degree if ways.shards_optimizer else 1)
    gradients = each.gradient * params / (ways.shard_degree if ways.shards_gradients else 1)
    temporary = each.temporary * own
    if setup.optimizer_in_backward:
        largest = max(shape.layer_params, shape.embedding_params)
        gradients = each.gradient * largest / (ways.shard_degree if ways.shards_gradients else 1)
        temporary = 0.0
    states = 0.0 if setup.optimizer_on_host else each.states * own
    if setup.optimizer in _EIGHT_BIT and not setup.optimizer_on_host:
        states += (
            max(0.0, setup.constants.training.embedding_states - each.states) * shape.embedding_params * own / shape.params_total
        )
    return TrainedBytes(gradients=gradients, optimizer=states, master_copy=each.master * own, step_temporary=temporary)


def _adapter_bytes(setup: MemorySetup) -> TrainedBytes:
    """Adapters: weight, gradient and two moments in the adapter's own format (fp32 in PEFT, 16 bits elsewhere)."""
    assert setup.adapters is not None  # noqa: S101 - the caller has looked
    each = float(setup.facts.adapter_bytes)
    added = adapter_params(setup.shape, setup.adapters)
    whole = fully_trained_params(setup.shape, setup.adapters)
    shards = setup.parallel.shard_degree if setup.parallel.shards_weights else 1
    relative = setup.constants.optimizer_bytes[setup.optimizer] / setup.constants.optimizer_bytes["adamw"]
    states = 0.0 if setup.optimizer_on_host else 2 * each * relative * (added + whole) / shards
    copy = whole * (each if setup.facts.adapter_bytes > 2 else 2)
    return TrainedBytes(adapters=(added * each + copy) / shards, gradients=(added + whole) * each / shards, optimizer=states)
