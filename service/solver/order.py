"""Order: by expected total cost, a dated, undated or suspect price never first while a better one fits; ties are a label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.domain.plan import PlanOption
from service.solver.tables import LIVE


@dataclass(slots=True)
class Entry:
    """One way to do the work, with what its place depends on; `make` turns it into an option of a rank and tie group."""

    micro_usd: int  # ranking total
    usd_per_hour: float
    name: str  # offer id, or a word for own hardware
    low_usd: float
    high_usd: float
    shape: tuple[str, float, int, str]  # card, count, nodes, strategy
    doubt: int  # LIVE, DATED, UNDATED or SUSPECT; own hardware is LIVE
    row: int | None  # market row index; None for own hardware
    make: Callable[[int, int], PlanOption]


def ordered(entries: Sequence[Entry], limit: int) -> list[Entry]:
    """By cost, then price, then name; the cheapest of the most trusted prices moves to the front."""
    found = sorted(entries, key=lambda one: (one.micro_usd, one.usd_per_hour, one.name))
    least = min((one.doubt for one in found if one.row is not None), default=LIVE)
    if found and found[0].doubt > least:
        first = next(one for one in found if one.doubt <= least)
        found.remove(first)
        found.insert(0, first)
    return found[:limit]


def tie_groups(entries: Sequence[Entry]) -> list[int]:
    """Per entry the number of its group, from 1.

    A group holds its first entry and every later one whose cost range overlaps the first's and that differs from it
    in card, count or strategy: two offers of one card, count and strategy differ exactly, by their prices.
    """
    groups = [0] * len(entries)
    left, number = list(range(len(entries))), 0
    while left:
        number += 1
        first = entries[left[0]]
        groups[left[0]] = number
        low, high, shape = first.low_usd, first.high_usd, first.shape
        apart = []
        for later in left[1:]:
            other = entries[later]
            if low <= other.high_usd and other.low_usd <= high and shape != other.shape:
                groups[later] = number
            else:
                apart.append(later)
        left = apart
    return groups


def made(entries: Sequence[Entry]) -> tuple[PlanOption, ...]:
    """The options with their ranks and tie groups."""
    groups = tie_groups(entries)
    return tuple(entry.make(rank, group) for rank, (entry, group) in enumerate(zip(entries, groups, strict=True), start=1))
