"""Cost of doing the work on rented machines: every dollar a named line, computed for many offers at once.

The same functions rank the groups (arrays of thousands) and price the rows shown (arrays of a few), so that the
order and the shown totals cannot differ. Arrays are aligned: element i of each belongs to one offer.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from service.solver.columns import Bools, Floats
from service.solver.interruption import LONGEST_TRY, paid_hours_from_zero, paid_hours_of_service, paid_hours_with_checkpoints

LINES: Final = ("compute", "interruption", "setup", "billing_increment", "commitment", "storage", "egress")
MICRO: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTerms:
    """What the workload says of one run, whatever machine it stands on."""

    setup_hours: float  # paid time before useful work, per run
    restart_hours: float  # after an interruption
    stall_hours: float  # of one checkpoint
    interval_hours: float | None  # between checkpoints; None: the best one
    resumes: bool  # from a checkpoint; else from zero
    is_service: bool  # infer: up all the time, nothing to lose but the restart
    runs_at_once_per_month: float  # runs a month, 0 for one-off work


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """The machines to be priced. Hours are of one run; `machines` is how many are paid for at once, on average."""

    usd_per_hour: Floats  # of one machine
    machines: Floats
    hours: Floats
    hours_between_stops: Floats  # of one machine; infinite: never taken away
    increment_seconds: Floats  # NaN: unknown, not priced
    disk_gb_beyond: Floats  # asked and not in the price
    storage_usd_per_gb_month: Floats  # NaN: unknown, not priced
    transfer_usd: Floats  # moving the data of one run, what is known of it
    commitment_usd_per_run: Floats  # upfront fee and unused committed hours, per machine


def paid_hours(machines: Machines, job: JobTerms) -> Floats:
    """Expected paid hours of one run, with what interruptions repeat."""
    paid = machines.hours.copy()
    at = np.flatnonzero(np.isfinite(machines.hours_between_stops))
    if len(at) == 0:
        return paid
    mean = machines.hours_between_stops[at] / np.maximum(machines.machines[at], 1.0)
    hours = machines.hours[at]
    if job.is_service:
        alone = machines.hours_between_stops[at]  # a replica is restarted alone
        paid[at] = paid_hours_of_service(hours, hours_between_stops=alone, restart_hours=job.restart_hours)
    elif job.resumes:
        paid[at] = paid_hours_with_checkpoints(
            hours,
            hours_between_stops=mean,
            stall_hours=job.stall_hours,
            restart_hours=job.restart_hours,
            interval_hours=job.interval_hours,
        )
    else:
        paid[at] = paid_hours_from_zero(hours, hours_between_stops=mean)
    return paid


def never_ends(machines: Machines, job: JobTerms) -> Bools:
    """True where a run from zero is so long beside the time between interruptions that it will not end."""
    if job.is_service or job.resumes:
        return np.zeros(len(machines.hours), dtype=np.bool_)
    mean = machines.hours_between_stops / np.maximum(machines.machines, 1.0)
    return np.asarray(machines.hours > LONGEST_TRY * mean, dtype=np.bool_)


def cost_lines(machines: Machines, job: JobTerms) -> dict[str, Floats]:
    """USD of one run by line, not rounded."""
    rate = machines.usd_per_hour * machines.machines
    paid = paid_hours(machines, job)
    held = paid + job.setup_hours
    step = machines.increment_seconds / SECONDS_PER_HOUR
    with np.errstate(invalid="ignore"):
        rounded_up = np.where(step > 0, np.ceil(held / step - 1e-9) * step - held, 0.0)
    storage = np.nan_to_num(machines.storage_usd_per_gb_month) * machines.disk_gb_beyond
    return {
        "compute": rate * machines.hours,
        "interruption": rate * (paid - machines.hours),
        "setup": rate * job.setup_hours,
        "billing_increment": rate * np.maximum(rounded_up, 0.0),
        "commitment": machines.commitment_usd_per_run * machines.machines,
        "storage": storage * machines.machines * held / HOURS_PER_MONTH,
        "egress": machines.transfer_usd,
    }


def total(lines: dict[str, Floats]) -> Floats:
    """USD of one run, not rounded: the sum over the lines."""
    return np.asarray(sum(lines.values()), dtype=np.float64)


def rounded(usd: Floats) -> Floats:
    """Dollars rounded to micro-dollars, half to even."""
    return np.asarray(np.rint(usd * MICRO) / MICRO, dtype=np.float64)
