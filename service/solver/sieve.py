"""Sieve: which groups pass a request, and what follows from that alone.

It depends on the constraints, the class of the data and which machine kinds can do the work in time, not on the amount
of work itself, so that the market keeps it for the requests that ask alike. It holds arrays and never the group table:
the table holds the sieve.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from service.solver.columns import Array, Bools, Floats, Ints
from service.solver.memo import Memo
from service.solver.policy import Judged
from service.solver.quotas import Quotas
from service.solver.reasons import PASS, REASONS
from service.solver.tables import GroupTable

_KEPT: Final = 64  # results that follow from one sieve: a few for each reason and market


@dataclass(frozen=True, eq=False)
class Passing:
    """Groups that pass, with what every request reads of them."""

    at: Ints  # group numbers
    pace: Ints
    start: Ints
    size: Ints
    usd_per_hour: Floats  # of the cheapest row
    nothing: Floats  # zeros

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, eq=False)
class Sieve:
    """Per group the first reason that keeps it out; PASS: none. Policy stands apart, since it has a price."""

    other: Array  # the first of all reasons but the class of the data and price caps
    policy: Array
    reason: Array  # the first of both
    judged: Judged  # per seller
    cuts: tuple[tuple[str, Bools], ...]  # reason, and per row along GroupTable.row what it and those before it leave
    quotas: Quotas | None  # None: none are stated
    left_out: tuple[int, ...]  # rows by reason code, of groups that are out whole
    allowed: Passing
    blocked: Passing  # that only the class of the data keeps out
    kept: Memo = field(init=False, default_factory=lambda: Memo(_KEPT))


def sieve_of(
    groups: GroupTable,
    other: Array,
    policy: Array,
    judged: Judged,
    cuts: tuple[tuple[str, Bools], ...],
    quotas: Quotas | None,
) -> Sieve:
    """The sieve of these reasons."""
    reason = np.minimum(other, policy)
    counted = np.bincount(reason, weights=groups.size_float, minlength=len(REASONS))[: len(REASONS)]
    return Sieve(
        other=other,
        policy=policy,
        reason=reason,
        judged=judged,
        cuts=cuts,
        quotas=quotas,
        left_out=tuple(counted.astype(np.int64).tolist()),
        allowed=_passing(groups, np.flatnonzero(reason == PASS)),
        blocked=_passing(groups, np.flatnonzero((reason != PASS) & (other == PASS))),
    )


def _passing(groups: GroupTable, at: Ints) -> Passing:
    return Passing(
        at=at,
        pace=groups.pace[at],
        start=groups.start[at],
        size=groups.size[at],
        usd_per_hour=groups.usd_per_hour[at],
        nothing=np.zeros(len(at)),
    )
