"""MemorySetup: everything that decides the memory of one job on one group of GPUs, resolved: no default is left."""

from dataclasses import dataclass
from enum import StrEnum

from service.domain.workload import Framework, LossKind
from service.estimate.hashed_once import HashedOnce
from service.estimate.memory_constants import MEMORY, FrameworkFacts, MemoryConstants
from service.estimate.model_shape import ModelShape
from service.estimate.parallel import SINGLE, Parallelism


class Regime(StrEnum):
    """Number formats of weights, gradients and optimizer states in training."""

    PURE_16 = "pure_16"  # all of them in bf16
    MIXED = "mixed"  # 16-bit compute with fp32 master weights and states
    AUTOCAST = "autocast"  # fp32 weights, cast to 16 bits operation by operation
    FP32 = "fp32"


class Recompute(StrEnum):
    """Which activations are recomputed in the backward pass."""

    NONE = "none"
    SELECTIVE = "selective"  # cheap operators only
    FULL = "full"  # all but the input of each layer


class AttentionKernel(StrEnum):
    """How scores are computed."""

    FLASH = "flash"  # never stores them, reads grouped heads as they are
    SDPA = "sdpa"  # never stores them, but eager libraries expand grouped heads first
    EAGER = "eager"  # stores the scores of every head


class Reading(StrEnum):
    """What a memory figure counts."""

    ALLOCATED = "allocated"  # live tensors at the allocator's peak
    RESERVED = "reserved"  # with cached and unused blocks
    DEVICE = "device"  # with the context and the libraries: what has to fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """Small trained matrices beside frozen weights. `kind`: lora, adapter (prefix) or adapter_v2 (scale every layer)."""

    rank: int
    targets: frozenset[str]
    kind: str = "lora"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySetup(HashedOnce):
    """One job on one group. `quantization` is a key of [bytes_per_weight]; tokens are per GPU before context splitting."""

    shape: ModelShape
    framework: Framework = Framework.UNKNOWN
    is_training: bool = True
    regime: Regime = Regime.PURE_16
    quantization: str | None = None
    parallel: Parallelism = SINGLE
    layer_split: int = 1  # layers spread over this many GPUs, one of them active at a time
    micro_batch: int = 1
    sequence: int = 1  # of training; of inference, prompt and answer together
    prompt: int = 1
    kv_bytes: float = 2.0
    weight_bytes: float = 2.0  # of inference without quantisation
    attention: AttentionKernel = AttentionKernel.FLASH
    compiled: bool = False
    recompute: Recompute = Recompute.NONE
    loss: LossKind = LossKind.PLAIN
    adapters: Adapters | None = None
    optimizer: str = "adamw"
    optimizer_in_backward: bool = False
    optimizer_on_host: bool = False  # states paged or offloaded to the host
    activations_on_host: bool = False
    weights_on_host: bool = False  # sharded weights are fetched layer by layer
    accumulates: bool = False  # gradients live through the forward pass
    variable_length: bool = False
    older_library: bool = False
    reading: Reading = Reading.DEVICE
    card_gib: float | None = None  # known: cached blocks are counted up to it; None: only what the job cannot do without
    sequences_doubled: bool = False  # preference pairs: chosen and rejected pass together
    frozen_copies: float = 0.0  # further 16-bit copies of the model (reference, reward)
    trained_copies: float = 1.0  # models trained side by side (actor and critic)
    generates: bool = False  # answers are generated between training steps: their cache is a moment of its own
    unvalidated_margin: float = 0.0  # further share of the point in the safe value: no measured row is of this kind
    fitted_factor: float = 1.0  # on the parts that were fitted: a user's own calibration
    constants: MemoryConstants = MEMORY

    __hash__ = HashedOnce.__hash__

    @property
    def facts(self) -> FrameworkFacts:
        """What the framework does with memory."""
        return self.constants.frameworks[self.framework]

    @property
    def varies(self) -> bool:
        """Batches change their length from step to step, by the data or by the framework's habit."""
        return self.variable_length or self.facts.variable_length

    @property
    def tokens(self) -> float:
        """Tokens of one micro batch on one GPU."""
        doubled = 2 if self.sequences_doubled else 1
        return doubled * self.micro_batch * self.sequence / self.parallel.context

    @property
    def model_split(self) -> int:
        """GPUs that share one copy of the model."""
        return self.parallel.tensor * self.parallel.pipeline * self.layer_split
