"""Communication of one training token: what collectives and pipelines add to the computation."""

from service.estimate.card_rates import GIGA, CardRates
from service.estimate.time_constants import TimeConstants, share_of
from service.estimate.train_step import Layout, TrainStep

BYTES_16BIT = 2.0


def link_rate(layout: Layout, rates: CardRates, constants: TimeConstants) -> float:
    """One-way bytes per second of a collective inside one machine, per card."""
    return tensor_link(layout.nvlink, layout.gpus // max(1, layout.nodes), rates, constants)


def tensor_link(nvlink: bool | None, cards: int, rates: CardRates, constants: TimeConstants) -> float:
    """One-way bytes per second between `cards` of one machine, per card.

    Without peer-to-peer copies all cards share the way through the machine's memory.
    """
    cost = constants.communication
    if rates.nvlink and nvlink is not False:
        return rates.nvlink * cost.link_share
    if rates.has_peer_to_peer:
        return rates.pcie * cost.pcie_share
    return rates.pcie * cost.pcie_host_share * 2.0 / max(2, cards)


def collective_rate(layout: Layout, rates: CardRates, constants: TimeConstants) -> float:
    """One-way bytes per second of a collective over the whole group, per card: the slowest link of its way."""
    inside = link_rate(layout, rates, constants)
    if layout.nodes <= 1:
        return inside
    cost = constants.communication
    fast = layout.fast_fabric if layout.fast_fabric is not None else bool(rates.nvlink)
    between = share_of(cost.fabric_gb_per_s, rates.architecture) if fast and rates.nvlink else cost.ethernet_gb_per_s
    return min(inside, between * GIGA * cost.fabric_share)


def exposed_seconds_per_token(step: TrainStep, rates: CardRates, constants: TimeConstants, *, compute_seconds: float) -> float:
    """GPU-seconds per token in which cards wait for each other; `compute_seconds` can hide sharded collectives.

    Weights (and gradients, when they are trained) of a sharded model pass every card once per micro batch and pass.
    """
    layout, shape, cost = step.layout, step.shape, constants.communication
    full = step.technique == "full"
    exposed = 0.0
    if layout.fully_sharded or (layout.sharding == "zero2" and full):
        group = layout.data * layout.context
        rounds = 3.0 if full and layout.fully_sharded else 2.0
        sent = rounds * BYTES_16BIT * shape.params_total / layout.model_parallel * (group - 1) / max(1, group)
        wire = sent / collective_rate(layout, rates, constants) * layout.model_parallel * layout.context / step.tokens
        exposed = max(0.0, wire - cost.overlap * compute_seconds) + cost.exposed_floor * wire
    elif layout.data > 1:
        sent = BYTES_16BIT * shape.params_total / layout.model_parallel * 2 if full else 0.0
        wire = sent / collective_rate(layout, rates, constants) * layout.model_parallel / (step.tokens * step.accumulation)
        left = (cost.ddp_full if full else cost.ddp_adapter) * compute_seconds
        exposed = max(left, wire - cost.overlap * compute_seconds)
    return exposed + _tensor_seconds(step, rates, constants)


def _tensor_seconds(step: TrainStep, rates: CardRates, constants: TimeConstants) -> float:
    """Four all-reduces of the hidden state per layer, as reduce-scatter and all-gather, the exposed part."""
    tensor, shape = step.layout.tensor, step.shape
    if tensor <= 1:
        return 0.0
    sent = 4.0 * shape.all_layers * 2.0 * shape.hidden * BYTES_16BIT * (tensor - 1) / tensor
    return constants.communication.tensor_exposed * sent / link_rate(step.layout, rates, constants)


def waiting_factor(step: TrainStep, constants: TimeConstants) -> float:
    """Idle share of pipelines, context rings and expert exchange, as a factor on GPU-seconds; at least 1."""
    layout, cost = step.layout, constants.communication
    factor = 1.0
    if layout.pipeline > 1:
        factor *= float(layout.pipeline) if layout.naive_pipeline else 1.0 + cost.pipeline_bubble
    if layout.context > 1:
        factor *= 1.0 + cost.context_parallel
    if step.shape.is_moe and layout.gpus > 1:
        factor *= 1.0 + cost.expert_exchange
    return factor
