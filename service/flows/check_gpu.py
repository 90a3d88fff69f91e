"""Check GPU: whether a workload fits the GPUs of this machine as they are now, and which technique would."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from providers.errors import UnknownGpu
from providers.gpus import find_gpu
from service.domain.estimation import EstimateRequest
from service.domain.workload import Precision, Task, Technique, Workload
from service.flows.estimate import make_estimate

SMALL_GIB: Final = 16.0
_LIGHTER: Final = (Technique.FULL, Technique.LORA, Technique.QLORA)  # from the largest need to the least
_FEWER_BITS: Final = (Precision.INT8, Precision.INT4)
_ADAPTER_FIELDS: Final = {"quantization": None, "lora_rank": None, "lora_targets": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCard:
    """A GPU of this machine, as its driver tells it."""

    index: int
    name: str
    memory_gib: float
    free_gib: float
    driver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TechniqueFit:
    """The need of one technique on one card."""

    technique: str
    need_gib: float
    headroom_gib: float  # of what is free; negative: does not fit

    @property
    def fits(self) -> bool:
        """Whether what is free is enough."""
        return self.headroom_gib >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCheck:
    """What one card can hold. `gpu` is null where the table has no such card: then nothing is promised."""

    card: LocalCard
    gpu: str | None
    asked: TechniqueFit | None  # the workload as it was asked
    others: tuple[TechniqueFit, ...]  # lighter ways that fit, the largest first
    advice: tuple[str, ...]


def check_cards(cards: Sequence[LocalCard], workload: Workload | None) -> tuple[CardCheck, ...]:
    """One check per card, each card for itself.

    Raises:
        UnknownModel, InvalidInput: the workload cannot be computed.
    """
    return tuple(_check(card, workload) for card in cards)


def _check(card: LocalCard, workload: Workload | None) -> CardCheck:
    advice = []
    if card.memory_gib < SMALL_GIB:
        advice.append(f"Under {SMALL_GIB:g} GiB: prefer 4-bit weights (QLoRA, int4 inference) or LoRA on a small model.")
    try:
        gpu = find_gpu(card.name, memory_mib=card.memory_gib * 1024).gpu.name
    except UnknownGpu:
        unknown = "The table of GPUs does not know this card, so nothing is said of what fits."
        return CardCheck(card=card, gpu=None, asked=None, others=(), advice=(unknown, *advice))
    if workload is None:
        return CardCheck(card=card, gpu=gpu, asked=None, others=(), advice=tuple(advice))
    asked = _fit(card, gpu, workload)
    others: tuple[TechniqueFit, ...] = ()
    if asked is not None and not asked.fits:
        tried = [_fit(card, gpu, lighter) for lighter in _lighter(workload)]
        others = tuple(one for one in tried if one is not None and one.fits)
        if not others:
            advice.append("No lighter technique fits this card alone: gpuplan plan finds machines that hold it.")
    return CardCheck(card=card, gpu=gpu, asked=asked, others=others, advice=tuple(advice))


def _fit(card: LocalCard, gpu: str, workload: Workload) -> TechniqueFit | None:
    """The need against what is free; None where the card cannot run it at all, whatever its memory."""
    answer = make_estimate(EstimateRequest(workload=workload, gpus=(gpu,), gpu_counts=(1,)))
    group = answer.gpus[0].groups[0]
    if group.reason not in (None, "vram"):
        return None
    usable = min(card.free_gib, group.usable_gib)
    if workload.task is Task.INFER:
        name = (workload.precision.value if workload.precision else "bf16") + " inference"
    else:
        name = (workload.technique or Technique.FULL).value
    return TechniqueFit(technique=name, need_gib=round(group.need_gib, 3), headroom_gib=round(usable - group.need_gib, 3))


def _lighter(workload: Workload) -> list[Workload]:
    """The same work by techniques of less need than the one asked."""
    if workload.task is Task.INFER:
        return [workload.model_copy(update={"precision": precision, "quantization": None}) for precision in _FEWER_BITS]
    asked = workload.technique or Technique.FULL
    later = _LIGHTER[_LIGHTER.index(asked) + 1 :] if asked in _LIGHTER else _LIGHTER[1:]
    return [workload.model_copy(update={**_ADAPTER_FIELDS, "technique": technique}) for technique in later]
