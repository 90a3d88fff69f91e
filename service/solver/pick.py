"""Pick: the cheapest rows over all eligible groups, and how many rows there are, under price caps and regions."""

from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

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
    in_region: Bools | None

    def only(self, kept: Bools) -> "Candidates":
        """Those candidates of which `kept`, one per candidate, is true."""
        return replace(self, at=self.at[kept], slope=self.slope[kept], offset=self.offset[kept], counts=self.counts[kept])

    def first(self) -> Ints:
        """Per candidate the position of its cheapest row along GroupTable.row."""
        start = self.groups.start[self.at]
        if self.in_region is None:
            return start
        allowed = np.flatnonzero(self.in_region)
        return np.asarray(allowed[np.minimum(np.searchsorted(allowed, start), len(allowed) - 1)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Row:
    """One row picked: its group and its position along GroupTable.row."""

    group: int
    position: int


def rows_under(groups: GroupTable, at: Ints, caps: Floats, in_region: Bools | None) -> Ints:
    """Per group how many rows cost at most the cap (of one machine, per hour): a binary search inside each group."""
    low, high = groups.start[at].copy(), groups.start[at] + groups.size[at]
    if np.isinf(caps).all():
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


def cheapest(found: Candidates, limit: int) -> list[Row]:
    """The `limit` cheapest rows; equal costs by price, then by offer id."""
    groups, some = found.groups, found.counts > 0
    at, slope, offset = found.at[some], found.slope[some], found.offset[some]
    first, counts = found.first()[some], found.counts[some]
    score = np.rint((slope * groups.row_usd_per_hour[first] + offset) * MICRO)
    if len(score) > limit:
        near = np.flatnonzero(score <= np.partition(score, limit - 1)[limit - 1])
        at, slope, offset, first, counts, score = at[near], slope[near], offset[near], first[near], counts[near], score[near]
    price, ids = groups.row_usd_per_hour[first], groups.row_id[first]
    order = np.lexsort((ids, price, score))[:limit]
    heap = [(float(score[i]), float(price[i]), int(ids[i]), int(first[i]), int(counts[i]) - 1, i) for i in order.tolist()]
    heapify(heap)
    picked: list[Row] = []
    while heap and len(picked) < limit:
        _, _, _, position, left, i = heappop(heap)
        picked.append(Row(group=int(at[i]), position=position))
        if left > 0:
            following = _next(position, found.in_region)
            usd = float(groups.row_usd_per_hour[following])
            value = float(np.rint((slope[i] * usd + offset[i]) * MICRO))
            heappush(heap, (value, usd, int(groups.row_id[following]), following, left - 1, i))
    return picked


def _next(position: int, in_region: Bools | None) -> int:
    position += 1
    while in_region is not None and not in_region[position]:
        position += 1
    return position
