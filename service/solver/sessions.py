"""Sessions: what a time limit of a session and a weekly quota do to a run. Pure.

A run that ends inside one session needs nothing. A longer one is split only where it resumes from checkpoints: each later
session is set up again and starts from the last checkpoint, which takes the restart time and is counted. A quota of hours
a week spreads the sessions over weeks. A service that must stay up cannot stand on sessions at all.
"""

import math
from dataclasses import dataclass
from typing import Final

from providers.units import HOURS_PER_MONTH

HOURS_PER_WEEK: Final = 168.0
_ROUNDING: Final = 1e-9  # float noise does not start another session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """What a seller allows; None: no such limit."""

    limit_hours: float | None
    weekly_quota_hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNeeds:
    """What one run asks. `hours` are useful ones; set-up and restart are spent besides."""

    hours: float
    setup_hours: float
    restart_hours: float
    resumes: bool
    is_service: bool
    deadline_hours: float | None
    runs_each_month: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """How a run is split. `extra_hours` are repeated set-ups and restarts; `wall_hours` count weeks of waiting for quota."""

    count: int
    extra_hours: float
    wall_hours: float


def sessions_of(rules: SessionRules, run: RunNeeds) -> Sessions | None:
    """The sessions of a run; None: it cannot be done within the limits, or not in time."""
    if rules.limit_hours is None and rules.weekly_quota_hours is None:
        return Sessions(count=1, extra_hours=0.0, wall_hours=run.setup_hours + run.hours)
    if run.is_service:
        return None
    count = _count(rules.limit_hours, run)
    if count is None:
        return None
    extra = (count - 1) * (run.setup_hours + run.restart_hours)
    spent = run.setup_hours + run.hours + extra
    wall = spent
    if (quota := rules.weekly_quota_hours) is not None:
        if spent * run.runs_each_month > quota * HOURS_PER_MONTH / HOURS_PER_WEEK * (1 + _ROUNDING):
            return None  # a month's runs do not fit a month's quota
        weeks = max(0, math.ceil(spent / quota - _ROUNDING) - 1)
        wall = weeks * HOURS_PER_WEEK + (spent - weeks * quota)
        if weeks and not run.resumes:
            return None  # a session cannot last over the end of the week's quota
    if run.deadline_hours is not None and wall > run.deadline_hours * (1 + _ROUNDING):
        return None
    return Sessions(count=count, extra_hours=extra, wall_hours=wall)


def _count(limit_hours: float | None, run: RunNeeds) -> int | None:
    """Sessions that hold the run; None where it cannot be split, or a session is too short for its own start."""
    if limit_hours is None or run.setup_hours + run.hours <= limit_hours * (1 + _ROUNDING):
        return 1
    later = limit_hours - run.setup_hours - run.restart_hours
    first = limit_hours - run.setup_hours
    if not run.resumes or later <= 0:
        return None
    return 1 + math.ceil((run.hours - first) / later - _ROUNDING)
