"""Pick: the cheapest rows over all eligible groups, and how many rows there are, under price caps and regions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from service.solver.columns import Bools, Floats, Ints
from service.solver.cost import MICRO
from service.solver.sieve import Passing
from service.solver.tables import GroupTable


@dataclass(frozen=True, eq=False)
class Candidates:
    """Eligible groups with the cost of a run as slope x price + offset, and their rows within caps and regions."""

    groups: GroupTable
    passing: Passing
    slope: Floats
    offset: Floats
    counts: Ints  # rows of each group under every cap
    in_region: Bools | None  # per row along GroupTable.row; None: all
    is_cut: bool = False  # some rows may have fallen to regions, reliability or caps

    @property
    def at(self) -> Ints:
        """Group numbers."""
        return self.passing.at

    @cached_property
    def first(self) -> Ints:
        """Per candidate the place of its cheapest row: along GroupTable.row, or among the rows allowed."""
        start = self.passing.start
        return start if self._allowed is None else np.searchsorted(self._allowed, start)

    @cached_property
    def usd_per_run(self) -> Floats:
        """Per candidate the cost of a run on its cheapest row; infinite where no row is left."""
        if self._allowed is None:
            usd = self.slope * self.passing.usd_per_hour + self.offset
        else:
            places = np.minimum(self.first, len(self._allowed) - 1)
            usd = self.slope * self.groups.row_usd_per_hour[self._allowed[places]] + self.offset
        return np.where(self.counts > 0, usd, np.inf) if self.is_cut else usd

    @cached_property
    def _allowed(self) -> Ints | None:
        """The rows allowed, as positions along GroupTable.row; None: all."""
        return None if self.in_region is None or self.in_region.all() else np.flatnonzero(self.in_region)

    def positions(self, which: Ints, ahead: Ints) -> Ints:
        """Along GroupTable.row, the place of the row `ahead` of the first of each candidate."""
        place = self.first[which] + ahead
        return place if self._allowed is None else self._allowed[place]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows picked, in order: the group of each and its position along GroupTable.row."""

    group: Ints
    position: Ints

    def __len__(self) -> int:
        return len(self.group)


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one after the other."""
    if not parts:
        return Rows(np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Rows(np.concatenate([one.group for one in parts]), np.concatenate([one.position for one in parts]))


def rows_under(groups: GroupTable, at: Ints, caps: Floats, in_region: Bools | None) -> Ints:
    """Per group how many rows cost at most the cap (of one machine, per hour): a binary search inside each group."""
    low, high = groups.start[at].copy(), groups.start[at] + groups.size[at]
    if np.isinf(caps).all() and (caps > 0).all():
        low = high
    else:
        end = high.copy()
        while (open_ := low < high).any():
            middle = (low + high) // 2
            fits = groups.row_usd_per_hour[np.minimum(middle, len(groups.row) - 1)] <= caps
            low = np.where(open_ & fits, middle + 1, low)
            high = np.where(open_ & ~fits, middle, high)
        low = np.minimum(low, end)
    if in_region is None:
        return np.asarray(low - groups.start[at], dtype=np.int64)
    passed = np.concatenate(([0], np.cumsum(in_region)))
    return np.asarray(passed[low] - passed[groups.start[at]], dtype=np.int64)


def cheapest(found: Candidates, limit: int, among: Ints | None = None) -> Rows:
    """The `limit` cheapest rows, of the candidates numbered `among`; equal costs by price, then by offer id.

    The best k rows lie in the k groups of the cheapest first rows, each group's rows being in order.
    """
    groups, score = found.groups, found.usd_per_run
    which = among
    if found.is_cut:
        which = np.flatnonzero(np.isfinite(score)) if among is None else among[np.isfinite(score[among])]
    mine = score if which is None else score[which]
    if len(mine) > limit:
        edge = mine.min() if limit == 1 else np.partition(mine, limit - 1)[limit - 1]
        close = np.flatnonzero(mine <= edge + 1 / MICRO)  # what rounds to the same micro-dollar ties
        which = close if which is None else which[close]
    elif which is None:
        which = np.arange(len(mine))
    if limit == 1 and len(which) == 1:
        return Rows(group=found.at[which], position=found.positions(which, np.zeros(1, dtype=np.int64)))
    depth = np.minimum(found.counts[which], limit)
    ahead = np.arange(depth.sum()) - np.repeat(np.cumsum(depth) - depth, depth)
    which = np.repeat(which, depth)
    position = found.positions(which, ahead)
    price = groups.row_usd_per_hour[position]
    micros = np.rint((found.slope[which] * price + found.offset[which]) * MICRO)
    best = np.lexsort((groups.row_id[position], price, micros))[:limit]
    return Rows(group=found.at[which[best]], position=position[best])
