"""Cost of doing the work on rented machines: paid and billed hours, and every dollar as a named line.

Hours are worked out once per pace (kind of machine, interruption rate, billing step) and carried to groups and rows,
so that the order and the lines shown stand on the same figures.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.solver.columns import Bools, Floats, Ints
from service.solver.interruption import LONGEST_TRY, paid_hours_from_zero, paid_hours_of_service, paid_hours_with_checkpoints
from service.solver.sessions import RunNeeds, SessionRules, Sessions, sessions_of
from service.solver.tables import Paces

LINES: Final = ("compute", "interruption", "setup", "billing_increment", "commitment", "storage", "egress")
MICRO: Final = 1e6
_ROUNDING: Final = 1e-9  # of a billing step: float noise does not start a new one


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTerms:
    """What the workload says of one run, whatever machine it stands on."""

    setup_hours: float  # paid time before useful work, per run
    restart_hours: float  # after an interruption
    stall_hours: float  # of one checkpoint
    interval_hours: float | None  # between checkpoints; None: the best one
    resumes: bool  # from a checkpoint; else from zero
    is_service: bool  # infer: up all the time, nothing to lose but the restart
    deadline_hours: float | None = None
    runs_each_month: float = 0.0


@dataclass(frozen=True, eq=False)
class Hours:
    """Of one run at each pace: useful hours, machines paid for at once (in the mean), paid and billed hours of each.

    The last axis is the pace; before it may stand the ends and the middle of the range of the useful hours.
    """

    useful: Floats
    machines: Floats
    paid: Floats  # with what interruptions repeat
    billed: Floats  # with set-up, rounded up to the billing step
    stops: Floats  # interruptions to be expected
    endless: Bools  # from zero, so long beside the time between interruptions that it will not end
    sessions: Ints  # that a run is split into
    waits: Floats  # hours a run stands still until a new week's quota
    over_limit: Bools  # it cannot be done within the sessions and the quota

    def side(self, number: int) -> "Hours":
        """One of low, mid and high."""
        return Hours(
            self.useful[number], self.machines[number], self.paid[number], self.billed[number], self.stops[number],
            self.endless[number], self.sessions[number], self.waits[number], self.over_limit[number],
        )  # fmt: skip


def hours_of(paces: Paces, useful: Floats, machines: Floats, job: JobTerms) -> Hours:
    """The hours of a run on every pace, for each row of useful hours and machines."""
    paid, stops, endless = useful.copy(), np.zeros(useful.shape), np.zeros(useful.shape, dtype=np.bool_)
    at = paces.stops
    if len(at):
        mean = paces.hours_between_stops[at]
        gang = mean if job.is_service else mean / machines[..., at]  # a replica is restarted alone, a cluster as a whole
        work = useful[..., at]
        paid[..., at] = again = _paid(work, gang, job)
        stops[..., at] = again / gang
        if not job.is_service and not job.resumes:
            endless[..., at] = work > LONGEST_TRY * gang
    sessions, waits = np.ones(useful.shape, dtype=np.int64), np.zeros(useful.shape)
    over_limit = np.zeros(useful.shape, dtype=np.bool_)
    for place in ((*side, one) for one in paces.limited.tolist() for side in np.ndindex(useful.shape[:-1])):
        if (split := _split(paces, place[-1], float(useful[place]), job)) is None:
            over_limit[place] = True
            continue
        sessions[place] = split.count
        waits[place] = split.wall_hours - (job.setup_hours + useful[place] + split.extra_hours)
        paid[place] += split.extra_hours
    held, step = paid + job.setup_hours, paces.increment_hours
    billed = np.maximum(held, np.ceil(held / paces.step_or_never - _ROUNDING) * step)
    return Hours(
        useful=useful, machines=machines, paid=paid, billed=billed, stops=stops, endless=endless, sessions=sessions, waits=waits,
        over_limit=over_limit,
    )  # fmt: skip


def _split(paces: Paces, pace: int, hours: float, job: JobTerms) -> Sessions | None:
    """How a run of so many hours is split on a pace with session rules; None: not within them."""
    if not np.isfinite(hours):
        return None
    limit, quota = float(paces.session_limit_hours[pace]), float(paces.weekly_quota_hours[pace])
    rules = SessionRules(
        limit_hours=limit if np.isfinite(limit) else None, weekly_quota_hours=quota if np.isfinite(quota) else None
    )
    run = RunNeeds(
        hours=hours, setup_hours=job.setup_hours, restart_hours=job.restart_hours, resumes=job.resumes,
        is_service=job.is_service, deadline_hours=job.deadline_hours, runs_each_month=job.runs_each_month,
    )  # fmt: skip
    return sessions_of(rules, run)


def _paid(hours: Floats, hours_between_stops: Floats, job: JobTerms) -> Floats:
    if job.is_service:
        found = paid_hours_of_service(hours, hours_between_stops=hours_between_stops, restart_hours=job.restart_hours)
    elif job.resumes:
        found = paid_hours_with_checkpoints(
            hours,
            hours_between_stops=hours_between_stops,
            stall_hours=job.stall_hours,
            restart_hours=job.restart_hours,
            interval_hours=job.interval_hours,
        )
    else:
        found = paid_hours_from_zero(hours, hours_between_stops=hours_between_stops)
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Per row or group, what does not follow the machine's price: None where there is none of it at all."""

    commitment_usd: Floats | None
    storage_usd: Floats | None
    egress_usd: Floats | None

    @property
    def usd(self) -> Floats | float:
        """All of it together."""
        return sum((part for part in (self.commitment_usd, self.storage_usd, self.egress_usd) if part is not None), 0.0)


def cost_lines(price: Floats, hours: Hours, pace: Ints, job: JobTerms, extras: Extras) -> list[Floats]:
    """USD of one run by line, along LINES, not rounded: rows at these prices of one machine per hour."""
    machines, useful, paid = hours.machines[pace], hours.useful[pace], hours.paid[pace]
    rate, nothing = price * machines, np.zeros(len(price))
    return [
        rate * useful,
        rate * (paid - useful),
        rate * job.setup_hours,
        rate * (hours.billed[pace] - paid - job.setup_hours),
        nothing if extras.commitment_usd is None else extras.commitment_usd,
        nothing if extras.storage_usd is None else extras.storage_usd,
        nothing if extras.egress_usd is None else extras.egress_usd,
    ]
