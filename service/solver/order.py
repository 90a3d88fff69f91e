"""Order: by expected total cost, a dated or suspect price never first while a live one fits; ties are a label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.domain.plan import PlanOption


@dataclass(frozen=True, eq=False)
class Shown:
    """One option with what its order needs beside it."""

    option: PlanOption
    is_clean: bool  # neither dated nor suspect
    row: int | None  # market row index; None for own hardware


def ordered(shown: Sequence[Shown], limit: int) -> list[Shown]:
    """By cost, then price, then offer id; the cheapest clean one moves to the front where a live price is among them."""
    found = sorted(shown, key=_key)
    has_live = any(one.is_clean and one.row is not None for one in found)
    if found and has_live and not found[0].is_clean:
        first = next(one for one in found if one.is_clean)
        found.remove(first)
        found.insert(0, first)
    return found[:limit]


def _key(one: Shown) -> tuple[float, float, str]:
    option = one.option
    return (option.cost.ranking_usd, option.usd_per_hour, option.price.offer_id or f"~{option.provider}")


def tie_groups(options: Sequence[PlanOption]) -> list[int]:
    """Per option the number of its group, from 1.

    A group holds its first option and every later one whose cost range overlaps the first's and that differs from it
    in card, count or strategy: two offers of one card, count and strategy differ exactly, by their prices.
    """
    groups = [0] * len(options)
    number = 0
    for at, first in enumerate(options):
        if groups[at]:
            continue
        number += 1
        groups[at] = number
        for later in range(at + 1, len(options)):
            if not groups[later] and _overlap(first, options[later]) and _shape(first) != _shape(options[later]):
                groups[later] = number
    return groups


def _overlap(one: PlanOption, other: PlanOption) -> bool:
    return one.cost.low_usd <= other.cost.high_usd and other.cost.low_usd <= one.cost.high_usd


def _shape(option: PlanOption) -> tuple[str, float, int, str]:
    return (option.gpu, option.gpu_count, option.nodes, option.strategy)


def ranked(shown: Sequence[Shown]) -> tuple[PlanOption, ...]:
    """The options with their ranks and tie groups."""
    options = [one.option for one in shown]
    return tuple(
        replace(option, rank=rank, tie_group=group)
        for rank, (option, group) in enumerate(zip(options, tie_groups(options), strict=True), start=1)
    )
