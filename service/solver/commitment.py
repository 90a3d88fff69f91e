"""Commitment: capacity blocks and reservations bill every hour of their term, so unused hours are a cost."""

from math import ceil

from providers.units import HOURS_PER_MONTH
from service.solver.work import Work

_ROUNDING = 1e-9


def commitment_usd_per_run(
    *, usd_per_hour: float, upfront_usd: float, term_months: float, hours_per_run: float, work: Work
) -> float:
    """USD per run of one machine beyond its used hours: unused committed hours and the upfront fee.

    One-off work buys as many whole terms as it takes; recurring work holds the machine around the clock.
    """
    if work.runs is not None:
        used, term_hours = hours_per_run * work.runs, term_months * HOURS_PER_MONTH
        terms = max(1, ceil(used / term_hours - _ROUNDING))
        return ((terms * term_hours - used) * usd_per_hour + terms * upfront_usd) / work.runs
    used = hours_per_run * work.runs_each_month
    held = max(1, ceil(used / HOURS_PER_MONTH - _ROUNDING))
    return ((held * HOURS_PER_MONTH - used) * usd_per_hour + held * upfront_usd / term_months) / work.runs_each_month
