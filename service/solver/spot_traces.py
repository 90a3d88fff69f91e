"""Spot traces: jobs replayed on recorded availability, and what is predicted for them from the first half alone.

The rule: a job of W useful hours starts at each hour of the second half of a trace; a start in down time counts and
waits. Each start and restart costs 10 minutes, each checkpoint 2 minutes at the best interval; work since the last
checkpoint is lost when machines go; down time costs nothing. Mean time between interruptions, mean down time and the
share of time up are taken from the first half. A case is one trace and one W: means over the starts that finish.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple

from providers.errors import InvalidInput
from providers.units import SECONDS_PER_HOUR
from service.solver.interruption import (
    MEASURED_SPREAD,
    checkpoint_interval_hours,
    paid_hours_with_checkpoints,
    wall_hours,
)

USEFUL_HOURS: Final = (4.0, 12.0, 24.0)
RESTART_HOURS: Final = 10 / 60
STALL_HOURS: Final = 2 / 60
LEAST_FINISHED: Final = 0.7  # of the starts: else the case does not count
MOST_PROBES: Final = 5_000_000
_NEEDED = re.compile(r"(?<![0-9])([1-9][0-9]{0,3})-node(?![a-z])")
_NOISE: Final = 1e-9


class Spell(NamedTuple):
    """A stretch of time in which machines could be had; in hours from the trace's start."""

    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What the first half of a trace says of its market: evidence for a rate of interruptions."""

    hours_between_stops: float
    mean_down_hours: float
    up_fraction: float
    stops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded market: when the needed machines could be had."""

    name: str
    hours: float
    half: float
    spells: tuple[Spell, ...]  # over the whole trace
    rate: Rate | None  # None: the first half has no up or no down spell


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One trace and one length of job: means over the starts that finish beside what was predicted."""

    trace: str
    useful_hours: float
    starts: int
    finished: int
    paid_hours: float
    wall_hours: float
    predicted_paid_hours: float
    predicted_wall_hours: float
    wall_low_hours: float
    wall_high_hours: float

    @property
    def paid_error(self) -> float:
        """Predicted against replayed, as a fraction."""
        return self.predicted_paid_hours / self.paid_hours - 1

    @property
    def wall_error(self) -> float:
        """Predicted against replayed, as a fraction."""
        return self.predicted_wall_hours / self.wall_hours - 1

    @property
    def in_range(self) -> bool:
        """Whether the replayed wall time lies in the range that was told."""
        return self.wall_low_hours <= self.wall_hours <= self.wall_high_hours


def machines_needed(path: str) -> int:
    """The N of `N-node` in a path or name, else 1."""
    found = _NEEDED.findall(path)
    return int(found[-1]) if found else 1


def trace_of(name: str, counts: Sequence[float], *, gap_seconds: float, needed: int) -> Trace:
    """The spells of a recorded series.

    Args:
        counts: machines that could be had, one number per `gap_seconds`.
    Raises:
        InvalidInput: no series, or a number in it that is not one.
    """
    if not 0 < gap_seconds < math.inf:
        raise InvalidInput("the gap is no time above 0", pointer="/metadata/gap_seconds")
    if not 2 <= len(counts) <= MOST_PROBES:
        raise InvalidInput(f"a trace has 2 to {MOST_PROBES} numbers", pointer="/data")
    if not all(0 <= count < math.inf for count in counts):
        raise InvalidInput("the counts must be numbers of at least 0", pointer="/data")
    gap, half = gap_seconds / SECONDS_PER_HOUR, len(counts) // 2
    up = [count >= needed for count in counts]
    return Trace(
        name=name, hours=len(up) * gap, half=half * gap, spells=tuple(_spells(up, gap)), rate=_rate(up[:half], gap)
    )  # fmt: skip


def _spells(up: Sequence[bool], gap: float) -> list[Spell]:
    found, start = [], None
    for at, is_up in enumerate((*up, False)):
        if is_up and start is None:
            start = at
        elif not is_up and start is not None:
            found.append(Spell(start * gap, at * gap))
            start = None
    return found


def _rate(up: Sequence[bool], gap: float) -> Rate | None:
    ups, downs = _spells(up, gap), _spells([not one for one in up], gap)
    if not ups or not downs:
        return None
    hours_up, hours_down = (sum(spell.end - spell.start for spell in spells) for spells in (ups, downs))
    return Rate(
        hours_between_stops=hours_up / len(ups),
        mean_down_hours=hours_down / len(downs),
        up_fraction=hours_up / (hours_up + hours_down),
        stops=len(ups),
    )


def case_of(trace: Trace, useful_hours: float) -> Case | None:
    """The job replayed and predicted; None where too few starts finish, or the first half tells no rate."""
    if trace.rate is None:
        return None
    mean = trace.rate.hours_between_stops
    interval = float(checkpoint_interval_hours(STALL_HOURS, mean))
    starts = [trace.half + hour for hour in range(math.ceil(trace.hours - trace.half - _NOISE))]
    ended = [run for start in starts if (run := _replay(trace.spells, start, useful_hours, interval)) is not None]
    if not starts or len(ended) < LEAST_FINISHED * len(starts):
        return None
    paid = RESTART_HOURS + float(
        paid_hours_with_checkpoints(
            useful_hours,
            hours_between_stops=mean,
            stall_hours=STALL_HOURS,
            restart_hours=RESTART_HOURS,
            spread=MEASURED_SPREAD,
        )
    )
    low, expected, high = wall_hours(paid, trace.rate.up_fraction)
    return Case(
        trace=trace.name,
        useful_hours=useful_hours,
        starts=len(starts),
        finished=len(ended),
        paid_hours=fmean(run.paid for run in ended),
        wall_hours=fmean(run.wall for run in ended),
        predicted_paid_hours=paid,
        predicted_wall_hours=expected,
        wall_low_hours=low,
        wall_high_hours=high,
    )


class _Run(NamedTuple):
    paid: float
    wall: float


def _replay(spells: Sequence[Spell], start: float, useful_hours: float, interval: float) -> _Run | None:
    """Paid and wall hours of one start; None where the trace ends before the job."""
    paid, done = 0.0, 0.0
    for spell in spells[bisect_right(spells, start, key=lambda one: one.end) :]:
        begin = max(start, spell.start)
        there, left = spell.end - begin, useful_hours - done
        checkpoints = max(0, math.ceil(left / interval - _NOISE) - 1)  # none after the last piece: the job is done
        takes = RESTART_HOURS + left + checkpoints * STALL_HOURS
        if takes <= there + _NOISE:
            return _Run(paid + takes, begin + takes - start)
        paid += there
        done += interval * int(max(0.0, there - RESTART_HOURS + _NOISE) / (interval + STALL_HOURS))
    return None
