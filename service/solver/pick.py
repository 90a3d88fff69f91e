"""Pick: the cheapest rows over all eligible groups, and how many rows there are, under price caps and regions."""

from dataclasses import dataclass, replace

import numpy as np

from service.solver.columns import Bools, Floats, Ints
from service.solver.cost import MICRO
from service.solver.tables import GroupTable


@dataclass(frozen=True, eq=False)
class Candidates:
    """Eligible groups with the cost of a run as slope x price + offset, and their rows within caps and regions."""

    groups: GroupTable
    at: Ints  # group numbers
    slope: Floats
    offset: Floats
    counts: Ints  # rows of each group under every cap
    in_region: Bools | None  # per row along GroupTable.row; None: all

    def only(self, kept: Bools) -> "Candidates":
        """Those candidates of which `kept`, one per candidate, is true."""
        return replace(self, at=self.at[kept], slope=self.slope[kept], offset=self.offset[kept], counts=self.counts[kept])


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows picked, in order: the group of each and its position along GroupTable.row."""

    group: Ints
    position: Ints

    def __len__(self) -> int:
        return len(self.group)

    def and_then(self, more: "Rows") -> "Rows":
        """These rows and then others."""
        return Rows(np.concatenate((self.group, more.group)), np.concatenate((self.position, more.position)))


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


def cheapest(found: Candidates, limit: int) -> Rows:
    """The `limit` cheapest rows; equal costs by price, then by offer id.

    The best k rows lie in the k groups of the cheapest first rows, each group's rows being in order.
    """
    groups, at, slope, offset, counts = found.groups, found.at, found.slope, found.offset, found.counts
    if found.in_region is not None or (len(counts) and counts.min() == 0):
        some = np.flatnonzero(counts > 0)
        at, slope, offset, counts = at[some], slope[some], offset[some], counts[some]
    allowed = None if found.in_region is None else np.flatnonzero(found.in_region)
    first = groups.start[at] if allowed is None else np.searchsorted(allowed, groups.start[at])
    usd = groups.usd_per_hour[at] if allowed is None else groups.row_usd_per_hour[allowed[first]]
    score = slope * usd + offset
    if len(score) > limit:
        edge = np.partition(score, limit - 1)[limit - 1]
        near = np.flatnonzero(score <= edge + 1 / MICRO)  # what rounds to the same micro-dollar ties
        at, slope, offset, counts, first = at[near], slope[near], offset[near], counts[near], first[near]
    depth = np.minimum(counts, limit)
    which = np.repeat(np.arange(len(at)), depth)
    ahead = np.arange(len(which)) - np.repeat(np.cumsum(depth) - depth, depth)
    position = first[which] + ahead
    if allowed is not None:
        position = allowed[position]
    price = groups.row_usd_per_hour[position]
    micros = np.rint((slope[which] * price + offset[which]) * MICRO)
    best = np.lexsort((groups.row_id[position], price, micros))[:limit]
    return Rows(group=at[which[best]], position=position[best])
