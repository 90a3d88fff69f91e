"""TrainStep: everything that decides the time of one training step, resolved: no default is left to choose."""

from dataclasses import dataclass

from service.estimate.hashed_once import HashedOnce
from service.estimate.model_shape import ModelShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(HashedOnce):
    """How one job is spread over `gpus` cards on `nodes` machines; `gpus` is the product of the degrees.

    `sharding` is none, zero1, zero2, zero3 or fsdp (the last two hold every weight once).
    `naive_pipeline`: the stages work in turn. `nvlink` None: as the card's table says; False: the machine is known to have none.
    """

    gpus: int = 1
    nodes: int = 1
    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    sharding: str = "none"
    naive_pipeline: bool = False
    nvlink: bool | None = None
    fast_fabric: bool | None = None

    __hash__ = HashedOnce.__hash__

    @property
    def fully_sharded(self) -> bool:
        """Weights are gathered layer by layer."""
        return self.sharding in ("zero3", "fsdp")

    @property
    def model_parallel(self) -> int:
        """Cards that share one copy of the model's layers."""
        return self.tensor * self.pipeline


SINGLE = Layout()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedLayers(HashedOnce):
    """Adapted projections of one layer: how many, and the sums of their input and output widths."""

    modules: int = 0
    input_width: float = 0.0
    output_width: float = 0.0

    __hash__ = HashedOnce.__hash__


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainStep(HashedOnce):
    """One micro batch on one model-parallel group.

    `recompute` is none, selective or full. `compiled` means fused kernels, by a compiler or by hand.
    `accumulation` micro batches make one optimizer step. `quantization` names the scheme of frozen weights.
    """

    shape: ModelShape
    technique: str  # full, lora, qlora
    precision: str  # bf16, fp16, fp8, fp4, fp32
    framework: str
    micro_batch: int
    sequence: int
    recompute: str
    compiled: bool
    flash_attention: bool = True
    accumulation: float = 1.0
    quantization: str | None = None
    adapted: AdaptedLayers = AdaptedLayers()
    layout: Layout = SINGLE
    preference: str = ""  # dpo, ppo, grpo: passes beside the training step itself

    __hash__ = HashedOnce.__hash__

    @property
    def tokens(self) -> int:
        """Tokens of one micro batch, over the whole context-parallel group."""
        return self.micro_batch * self.sequence


_ALL_TARGETS = "q,k,v,o,mlp"


def adapted_layers(shape: ModelShape, targets: str | None) -> AdaptedLayers:
    """Projections that adapters of these targets (q, k, v, o, mlp, qkv fused, all) add work to, per layer."""
    h, q, kv, f = shape.hidden, shape.q_width, shape.kv_width, shape.mlp_width
    up = shape.mlp_matrices - 1
    widths = {
        "q": (1, h, q),
        "k": (1, h, kv),
        "v": (1, h, kv),
        "o": (1, q, h),
        "qkv": (1, h, q + 2 * kv),
        "mlp": (up + 1, up * h + f, up * f + h),
    }
    named = [part.strip() for part in (targets or _ALL_TARGETS).split(",")]
    if any(part.startswith("all") for part in named):
        named = _ALL_TARGETS.split(",")
    found = [widths[part] for part in named if part in widths]
    return AdaptedLayers(
        modules=sum(count for count, _, _ in found),
        input_width=float(sum(width for _, width, _ in found)),
        output_width=float(sum(width for _, _, width in found)),
    )
