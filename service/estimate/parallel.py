"""Parallelism: how work and state are spread over GPUs, and which ways are tried on a group of them."""

from dataclasses import dataclass
from functools import lru_cache

from service.domain.workload import Strategy
from service.estimate.hashed_once import HashedOnce
from service.estimate.model_shape import ModelShape

TENSOR_DEGREES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism(HashedOnce):
    """Degrees of every kind; their product is the number of GPUs.

    `data` GPUs (or groups) take different samples; the strategy says what they shard. For inference `data` counts
    replicas of the model inside the group.
    """

    strategy: Strategy = Strategy.SINGLE
    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    sequence_parallel: bool = True  # norms and residual inputs are split by the tensor degree too

    __hash__ = HashedOnce.__hash__

    @property
    def gpus(self) -> int:
        """GPUs in the whole group."""
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def label(self) -> str:
        """The words of an answer: "single", "ddp", "fsdp", "zero2", "tensor_parallel=4,replicas=2"."""
        return _label(self)

    @property
    def shards_weights(self) -> bool:
        """Each data rank holds a part of the weights."""
        return self.strategy in (Strategy.ZERO3, Strategy.FSDP)

    @property
    def shards_gradients(self) -> bool:
        """Each data rank holds a part of the gradients."""
        return self.shards_weights or self.strategy is Strategy.ZERO2

    @property
    def shards_optimizer(self) -> bool:
        """Each data rank holds a part of the optimizer states."""
        return self.shards_gradients or self.strategy is Strategy.ZERO1

    @property
    def shard_degree(self) -> int:
        """GPUs over which sharded state is spread: the context group holds parts too."""
        return self.data * self.context


@lru_cache(maxsize=1024)
def _label(ways: Parallelism) -> str:
    if ways.strategy not in (Strategy.TENSOR_PARALLEL, Strategy.PIPELINE_PARALLEL):
        return ways.strategy.value
    degrees = (("tensor_parallel", ways.tensor), ("pipeline_parallel", ways.pipeline), ("replicas", ways.data))
    return ",".join(f"{name}={degree}" for name, degree in degrees if degree > 1) or Strategy.SINGLE.value


SINGLE = Parallelism()


def tensor_degrees(model: ModelShape, gpu_count: int) -> tuple[int, ...]:
    """Tensor-parallel degrees that divide both the group and the model's heads, ascending.

    Keys and values are split by head: the degree divides the KV heads (latent attention has one shared cache, so there
    the query heads decide).
    """
    heads = model.heads if model.attention == "mla" else model.kv_heads
    if not heads or model.kind == "diffusion":  # image models are replicated, not split by head
        return (1,)
    return tuple(n for n in TENSOR_DEGREES if n <= gpu_count and gpu_count % n == 0 and heads % n == 0)


def training_ways(*, gpu_count: int, nodes: int, forced: Strategy | None, is_full: bool) -> tuple[Parallelism, ...]:
    """Ways to train on the group, the one with least traffic first: replicas, then sharded states, then sharded weights.

    Sharding the states of adapters frees nothing worth its traffic, so adapters go from replicas to sharded weights.
    """
    total = gpu_count * nodes
    if total == 1:
        return (SINGLE,) if forced in (None, Strategy.SINGLE, Strategy.DDP, Strategy.FSDP, Strategy.ZERO2, Strategy.ZERO3) else ()
    if forced is Strategy.SINGLE:
        return ()
    if forced is Strategy.TENSOR_PARALLEL or forced is Strategy.PIPELINE_PARALLEL:
        return _forced_split(forced, gpu_count=gpu_count, nodes=nodes)
    order = (Strategy.DDP, Strategy.ZERO2, Strategy.FSDP) if is_full else (Strategy.DDP, Strategy.FSDP)
    chosen = order if forced is None else (forced,)
    return tuple(Parallelism(strategy=strategy, data=total) for strategy in chosen)


def _forced_split(forced: Strategy, *, gpu_count: int, nodes: int) -> tuple[Parallelism, ...]:
    if forced is Strategy.TENSOR_PARALLEL:
        return (Parallelism(strategy=forced, tensor=gpu_count, data=nodes),)
    return (Parallelism(strategy=forced, pipeline=gpu_count, data=nodes),)


def inference_ways(model: ModelShape, *, gpu_count: int, nodes: int, forced: Strategy | None) -> tuple[Parallelism, ...]:
    """Ways to serve on the group: replicas of a tensor-parallel group inside each machine, stages over the machines.

    Over several machines one replica spans all of them (whole replicas per machine are what the solver multiplies).
    """
    if forced is Strategy.PIPELINE_PARALLEL:
        return (Parallelism(strategy=forced, pipeline=gpu_count * nodes),)
    degrees = tensor_degrees(model, gpu_count)
    if nodes > 1:
        degrees = degrees[-1:]
    if forced is Strategy.TENSOR_PARALLEL:
        degrees = tuple(n for n in degrees if n == gpu_count)
    if forced is Strategy.SINGLE or forced is Strategy.DDP:
        degrees = (1,) if nodes == 1 else ()
    ways = []
    for tensor in degrees:
        data = gpu_count // tensor
        kind = Strategy.SINGLE if gpu_count * nodes == 1 else Strategy.TENSOR_PARALLEL
        ways.append(Parallelism(strategy=kind, tensor=tensor, data=data, pipeline=nodes))
    return tuple(ways)
