"""Measured use in a plan: which share counts as the amount of work, what is told of it, and when the decision stays open.

What jobs hold (`allocated`) is what a rented GPU would have been billed for, so it is the share that decides. What the
engines did (`active`) only sizes what fixing stalls would free; where it is all that is known, the decision is open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from providers.errors import InvalidInput
from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from service.domain.decision import Decision
from service.domain.estimate import Assumption
from service.domain.measured import BOTTLENECK_UNDER, HEALTHY_OVER, MeasuredUse, UseReading
from service.domain.request import OnPremPool, Usage
from service.domain.weighing import UseBounds
from service.solver.words import about, percent
from service.solver.words import age as age_in_words

STALE_AFTER_HOURS: Final = 24.0
_POINTER: Final = "/usage/measured_pool"


def measured_of(usage: Usage, measured: Mapping[str, MeasuredUse]) -> MeasuredUse | None:
    """The measurement that the usage names; None where it names none.

    Raises:
        InvalidInput: this pool was never measured, or did nothing in the window.
    """
    if usage.measured_pool is None:
        return None
    if usage.measured_pool not in measured:
        raise InvalidInput("no measured utilization of this pool is at hand", pointer=_POINTER, allowed=sorted(measured))
    found = measured[usage.measured_pool]
    if not share_of(found):
        raise InvalidInput("the pool did nothing in the window that was measured: there is no work to place", pointer=_POINTER)
    return found


def share_of(use: MeasuredUse) -> float:
    """The share that stands for the work: allocated, or the active part of it where that is all that is known."""
    return (use.active_fraction or 0.0) if use.allocated_fraction is None else use.allocated_fraction


def reading_of(use: MeasuredUse, *, now: datetime, gpus: int) -> UseReading:
    """What an answer tells of a measurement.

    Args:
        gpus: of the pool, by which shares become GPU-hours.
    """
    age_hours = max(0.0, (now - use.measured_at).total_seconds() / SECONDS_PER_HOUR)
    stale = age_hours > STALE_AFTER_HOURS
    stalled = None
    if use.allocated_fraction is not None and use.active_fraction is not None:
        stalled = round(max(0.0, use.allocated_fraction - use.active_fraction) * gpus * HOURS_PER_MONTH, 2)
    said = [
        f"measured {age_in_words(age_hours)} ago over {about((use.window_end - use.window_start).total_seconds() / 86400)} days"
    ]
    if stale:
        said.append("it could not be measured since: the last value is used")
    busy = use.busy_fraction
    if busy is not None:
        health = "healthy" if busy > HEALTHY_OVER else "a likely input bottleneck" if busy < BOTTLENECK_UNDER else "fair"
        said.append(f"engines busy {percent(busy)} of the time that jobs hold them: {health}")
    if stalled:
        said.append(
            f"jobs hold {about(stalled)} GPU-hours a month in which engines stand still: that is what fixing stalls would free"
        )
    return UseReading(
        pool=use.pool,
        allocated_fraction=use.allocated_fraction,
        active_fraction=use.active_fraction,
        window_start=use.window_start,
        window_end=use.window_end,
        measured_at=use.measured_at,
        age_hours=round(age_hours, 3),
        stale=stale,
        source=use.source,
        stalled_gpu_hours_per_month=stalled,
        explained="; ".join(said),
    )


def assumed_of(use: MeasuredUse) -> Assumption:
    """The share as an assumption of the answer."""
    kind = "allocated" if use.allocated_fraction is not None else "active only"
    window = f"{use.window_start:%Y-%m-%d} to {use.window_end:%Y-%m-%d}"
    return Assumption(
        name=f"measured_pool.{use.pool}.{kind.split()[0]}",
        value=round(share_of(use), 6),
        unit="fraction",
        source=f"{use.source}, {kind}, {window}",
        as_of=use.measured_at.date().isoformat(),
    )


def with_reading(decision: Decision, use: MeasuredUse, *, now: datetime, gpus: int) -> Decision:
    """The decision with the measurement told, and open where only the active share is known."""
    decision = replace(decision, measured=reading_of(use, now=now, gpus=gpus))
    if use.allocated_fraction is not None or decision.breakeven_utilization is None:
        return decision
    bounds = open_bounds(share_of(use), decision.breakeven_utilization.against_cheapest_allowed)
    return replace(decision, verdict="depends", sentence=f"The decision is open: {bounds.explained}.", use_bounds=bounds)


def open_bounds(active_fraction: float, breakeven_utilization: float | None) -> UseBounds:
    """What is allocated lies between what is active and all of it: the verdict at both ends.

    Args:
        breakeven_utilization: None is never.
    """
    needed = 2.0 if breakeven_utilization is None else breakeven_utilization
    low, high = ("on_prem" if share >= needed else "cloud" for share in (active_fraction, 1.0))
    share = percent(active_fraction)
    text = (
        f"only the active share, {share}, is measured; a rented GPU bills the hours that jobs hold it, which lie between {share}"
        f" and 100 %: {'both ends say the same' if low == high else 'the two ends differ'}; measure the allocated share"
    )
    return UseBounds(
        low_utilization=round(active_fraction, 6), high_utilization=1.0, verdict_at_low=low, verdict_at_high=high, explained=text
    )


def gpus_of(use: MeasuredUse, pools: Sequence[OnPremPool]) -> int:
    """GPUs that the share is of: of the pool of this name, else as many as were seen, else of the first pool."""
    named = [pool for pool in pools if pool.name == use.pool]
    if not named and use.gpus is not None:
        return use.gpus
    found = named or list(pools)
    return found[0].gpus_per_node * found[0].nodes if found else 1
