"""Rows of a table of measured memory as setups of the memory model."""

from providers.errors import InvalidInput
from service.domain.workload import Framework, LossKind, Strategy
from service.estimate.adapters import parse_targets
from service.estimate.memory_constants import MEMORY
from service.estimate.memory_setup import Adapters, AttentionKernel, MemorySetup, Reading, Recompute, Regime
from service.estimate.model_shape import ModelShape
from service.estimate.parallel import Parallelism
from service.estimate.row_cells import (
    Row,
    card_of,
    count_of,
    framework_of,
    is_compiled,
    number_of,
    recompute_of,
    scheme_of,
    shape_of,
    text_of,
    trains_every_weight,
)
from service.estimate.safety import LEAST_EIGHT_BIT_BYTES

NEWER_LIBRARIES_SINCE = "2024-09"  # transformers 4.45 keeps the last token's logits only; a run's library is as old as its model
_LONGEST_ALPACA_TOKENS = 1304  # with the 32000-entry vocabulary of Llama 2
_IMPLIED_SCHEMES = {"4bit": "awq", "8bit": "int8", "int4": "awq", "bnb4": "nf4", "int8": "int8", "fp8": "fp8"}
_STRATEGIES = {
    "single": Strategy.SINGLE,
    "ddp": Strategy.DDP,
    "zero1": Strategy.ZERO1,
    "zero2": Strategy.ZERO2,
    "zero3": Strategy.ZERO3,
    "fsdp": Strategy.FSDP,
    "fsdp-zero2": Strategy.ZERO2,
    "megatron-zero1": Strategy.ZERO1,
    "tp": Strategy.TENSOR_PARALLEL,
    "pp": Strategy.PIPELINE_PARALLEL,
}
_REGIMES = {"fp32": Regime.FP32, "fp16-amp": Regime.AUTOCAST, "bf16-pure": Regime.PURE_16}


def read_memory_row(row: Row, *, hide_framework: bool = False) -> tuple[MemorySetup, tuple[str, ...]]:
    """The setup of a row with the columns of the measured files, and what had to be taken for granted.

    Raises:
        InvalidInput: a cell holds no number, or a format or strategy is not known.
    """
    notes: list[str] = []
    shape = shape_of(row, notes)
    framework = Framework.UNKNOWN if hide_framework else framework_of(row, notes)
    card = card_of(row, notes)
    ways, split = _ways(row, notes)
    technique = text_of(row, "technique").lower()
    build = _inference if technique == "inference" else _training
    card_gib = card.usable_gib if card is not None else float("inf")
    return build(row, shape, framework, ways, split, card_gib), tuple(notes)


def _ways(row: Row, notes: list[str]) -> tuple[Parallelism, int]:
    """Degrees of a row, and over how many GPUs its layers are merely spread."""
    words = text_of(row, "strategy").lower() or "single"
    data, tensor, pipeline = (count_of(row, column) for column in ("dp", "tp", "pp"))
    context = count_of(row, "cp")
    if words == "naive-mp" or (words == "pp" and text_of(row, "technique") == "inference"):
        return Parallelism(), pipeline
    strategy = _STRATEGIES.get(words, _STRATEGIES.get(words.partition("+")[0]))
    if strategy is None:
        notes.append("the strategy's spelling is not known: taken as replicas")
        strategy = Strategy.DDP
    return Parallelism(strategy=strategy, data=data, tensor=tensor, pipeline=pipeline, context=context), 1


def _reading(row: Row) -> Reading:
    """What the figure counts, from the words of the column `measured`."""
    words = text_of(row, "measured").lower()
    if "device" in words or "smi" in words:
        return Reading.DEVICE
    return Reading.RESERVED if "reserved" in words else Reading.ALLOCATED


def class_of_row(row: Row) -> str:
    """Memory class of a row by what it says of itself; adapters of other kinds than LoRA count with it, whatever their base."""
    technique = text_of(row, "technique").lower()
    try:
        scheme = _scheme(row)
    except InvalidInput:  # the row fails too, and counts with those of 16 bits
        scheme = None
    if technique == "inference":
        bits = 16 if scheme is None else 8 if MEMORY.bytes_per_weight[scheme] > LEAST_EIGHT_BIT_BYTES else 4
        return f"inference_{bits}bit"
    if trains_every_weight(row):
        return "full"
    return "qlora" if scheme and not technique.startswith("adapter") else "lora"


def _scheme(row: Row) -> str | None:
    """The quantisation of a row: its own column, else what its precision implies."""
    spelled = scheme_of(row)
    scheme = _IMPLIED_SCHEMES.get(spelled or text_of(row, "precision").lower(), spelled)
    if not scheme:
        return None
    if scheme not in MEMORY.bytes_per_weight:
        raise InvalidInput("the quantisation is not known", pointer="/quant", allowed=tuple(MEMORY.bytes_per_weight))
    return scheme


def _is_older(row: Row, shape: ModelShape, framework: Framework) -> bool:
    """The run used libraries of before autumn 2024: its model is older, or torchtune still counted in decimal GB."""
    if framework is Framework.TORCHTUNE:
        return text_of(row, "unit") == "GB"
    return bool(shape.released) and shape.released < NEWER_LIBRARIES_SINCE


def _attention(row: Row) -> AttentionKernel:
    kernels = {"none": AttentionKernel.EAGER, "": AttentionKernel.EAGER, "sdpa": AttentionKernel.SDPA}
    return kernels.get(text_of(row, "flash_attention").lower(), AttentionKernel.FLASH)


def _inference(row: Row, shape: ModelShape, framework: Framework, ways: Parallelism, split: int, card_gib: float) -> MemorySetup:
    sequence = count_of(row, "seq_len")
    return MemorySetup(
        shape=shape,
        framework=framework,
        is_training=False,
        quantization=_scheme(row),
        parallel=ways,
        layer_split=split,
        micro_batch=count_of(row, "micro_batch"),
        sequence=sequence,
        prompt=min(sequence, count_of(row, "input_len")),
        weight_bytes=4.0 if text_of(row, "precision") == "fp32" else 2.0,
        attention=_attention(row) if text_of(row, "flash_attention") else AttentionKernel.SDPA,
        older_library=_is_older(row, shape, framework) and framework in (Framework.HF, Framework.UNKNOWN),
        reading=_reading(row),
        card_gib=card_gib,
    )


def _training(row: Row, shape: ModelShape, framework: Framework, ways: Parallelism, split: int, card_gib: float) -> MemorySetup:
    notes = text_of(row, "notes").lower()
    optimizer, in_backward, on_host = _optimizer(row)
    precision = text_of(row, "precision").lower()
    facts = MEMORY.frameworks[framework]
    adapters, is_older = _adapters(row), _is_older(row, shape, framework)
    return MemorySetup(
        shape=shape,
        framework=framework,
        regime=_REGIMES.get(
            precision, Regime.PURE_16 if adapters or (facts.states_16bit and "mixed" not in precision) else Regime.MIXED
        ),
        quantization=_scheme(row),
        parallel=ways,
        layer_split=split,
        micro_batch=count_of(row, "micro_batch"),
        sequence=_sequence(row, notes),
        attention=_attention(row),
        compiled=is_compiled(row),
        recompute=Recompute(recompute_of(row)),
        loss=_loss(framework, notes, is_older=is_older),
        adapters=adapters,
        optimizer=optimizer,
        optimizer_in_backward=in_backward,
        optimizer_on_host=on_host,
        activations_on_host="activation offload" in notes,
        weights_on_host=on_host and ways.shards_weights and "offload of parameters" in notes,
        accumulates="accumul" in notes or ways.strategy in (Strategy.ZERO2, Strategy.ZERO3),
        older_library=is_older,
        reading=_reading(row),
        card_gib=card_gib,
    )


def _sequence(row: Row, notes: str) -> int:
    """The length of the longest batch. Where a table assumed one for unpacked Alpaca, the longest example is what peaks."""
    if "alpaca" in notes and "assumed" in notes:
        return _LONGEST_ALPACA_TOKENS
    return count_of(row, "seq_len")


def _loss(framework: Framework, notes: str, *, is_older: bool) -> LossKind:
    """The kind of loss: as the notes say, else the framework's own default at its time.

    Notes that begin with a plus list every change against a plain run, so there what is not named is plain.
    """
    if "chunked" in notes:
        return LossKind.CHUNKED
    if "fused" in notes and "cross" in notes:
        return LossKind.FUSED
    if framework is Framework.TORCHTUNE and not is_older and "plain cross entropy" not in notes and not notes.startswith("+"):
        return LossKind.CHUNKED
    return LossKind.FUSED if framework is Framework.UNSLOTH else LossKind.PLAIN


def _optimizer(row: Row) -> tuple[str, bool, bool]:
    """(name, fused into the backward pass, states on the host)."""
    words = (text_of(row, "optimizer").lower() or "adamw").split("+")
    name = {"adamw8bit": "adamw_8bit", "adamw4bit": "adamw_4bit"}.get(words[0], words[0])
    paged = name.startswith("paged_")
    name = name.removeprefix("paged_")
    name = {"adamw8bit": "adamw_8bit", "adamw32bit": "adamw"}.get(name, name)
    if name not in MEMORY.optimizer_bytes:
        name = "adamw"
    return name, "in_bwd" in words, paged or "cpu_offload" in words


def _adapters(row: Row) -> Adapters | None:
    if trains_every_weight(row):
        return None
    technique = text_of(row, "technique").lower()
    kind = technique if technique.startswith("adapter") else "lora"
    rank = int(number_of(row, "lora_rank", default=8.0))
    return Adapters(rank=rank, targets=parse_targets(text_of(row, "lora_targets") or "q,v"), kind=kind)
