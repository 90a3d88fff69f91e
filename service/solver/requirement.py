"""Requirement: the memory that the job needs per GPU, by part, under each strategy on the smallest group that holds it."""

from functools import lru_cache
from typing import Final

from providers.gpus import GPUS
from providers.offer import Interconnect
from service.domain.estimate import Estimate, VramPart
from service.domain.plan import Requirement, RequirementOn
from service.estimate.estimate import estimates_by_strategy
from service.estimate.job import JobShape
from service.solver.fit import RawNeed
from service.solver.words import about

YARDSTICK: Final = "H100-SXM"  # the card on which the need is shown; other cards need nearly the same
_GROUPS: Final = ((1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8), (8, 16))  # cards of a machine, machines


@lru_cache(maxsize=256)
def requirement_of(need: JobShape | RawNeed) -> Requirement:
    """The need of a job, per strategy; a stated need is shown as it is."""
    if isinstance(need, RawNeed):
        return Requirement(
            model=None, explained=f"{about(need.vram_gib)} GiB on each of {need.gpu_count} GPUs are stated.", by_strategy=()
        )
    shown: dict[str, RequirementOn] = {}
    for count, nodes in _GROUPS:
        if nodes > 1 and any(way.fits for way in shown.values()):
            break
        card, link = GPUS[YARDSTICK], Interconnect.NVLINK
        for estimate in estimates_by_strategy(need, card, gpu_count=count, nodes=nodes, interconnect=link):
            known = shown.get(estimate.strategy)
            if known is None or (estimate.fits and not known.fits):
                shown[estimate.strategy] = requirement_on(estimate)
    ways = tuple(shown.values())
    least = min(ways, key=lambda way: way.safe_gib)
    first = next((way for way in ways if way.fits), least)
    biggest = max(first.parts, key=lambda part: part.gib, default=None)
    where = (
        f"{first.gpu_count:g} x {first.gpu}"
        if first.nodes == 1
        else f"{first.nodes} machines of {first.gpu_count:g} x {first.gpu}"
    )
    text = f"{need.model.name} needs {about(first.safe_gib)} GiB a GPU with {first.strategy} on {where}"
    if biggest is not None:
        text += f"; the largest part is {biggest.name.replace('_', ' ')}, {about(biggest.gib)} GiB"
    return Requirement(model=need.model.name, explained=text + ".", by_strategy=ways)


def requirement_on(estimate: Estimate) -> RequirementOn:
    """The memory part of an estimate, rounded as answers are."""
    vram = estimate.vram
    return RequirementOn(
        gpu=estimate.gpu,
        gpu_count=float(estimate.gpu_count),
        nodes=estimate.nodes,
        strategy=estimate.strategy,
        fits=estimate.fits,
        point_gib=round(vram.point_gib, 6),
        safe_gib=round(vram.safe_gib, 6),
        usable_gib=round(vram.usable_gib, 6),
        parts=tuple(VramPart(name=part.name, gib=round(part.gib, 6)) for part in vram.parts),
    )
