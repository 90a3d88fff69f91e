"""Replicas for a request rate: how many run, how idle they are, and how often one starts cold."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

from providers.errors import InvalidInput
from providers.units import SECONDS_PER_HOUR

PROFILE_HOURS = (24, 168)
TARGET_LOAD = 0.8  # of the saturated rate: above it queues grow without bound at the smallest burst (M/M/c practice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """Replicas of one serving group over the hours of a profile (one hour for a constant rate).

    `hourly` holds the replicas of each hour. `idle_fraction` is the share of paid replica time without work.
    `unserved_fraction` is the share of requests over what `max_replicas` can take.
    `cold_starts` counts replicas started over the profile, `cold_start_hours` the replica time spent starting.
    """

    peak: int
    mean: float
    hourly: tuple[int, ...]
    idle_fraction: float
    unserved_fraction: float
    cold_starts: int
    cold_start_hours: float


def replicas_for(
    rate_or_profile: float | Sequence[float],
    requests_per_second: float,
    *,
    min_replicas: int = 0,
    max_replicas: int | None = None,
    scale_to_zero: bool = False,
    cold_start_seconds: float = 0.0,
    follow_load: bool = True,
    target_load: float = TARGET_LOAD,
) -> Replicas:
    """Replicas that serve a rate, or a profile of 24 or 168 hourly rates, at `requests_per_second` each saturated.

    Args:
        scale_to_zero: an hour without requests may have no replica; else at least one always runs.
        follow_load: False: the peak's replicas run all the time ("always on").
        target_load: share of the saturated rate that a replica is given.
    Raises:
        InvalidInput: a rate is negative, the profile is not 24 or 168 long, or the limits contradict each other.
    """
    rates = _profile(rate_or_profile)
    if requests_per_second <= 0 or not 0 < target_load <= 1 or cold_start_seconds < 0 or min_replicas < 0:
        raise InvalidInput("rates must be above 0, target_load in 0..1, times and counts at least 0")
    least = max(min_replicas, 0 if scale_to_zero else 1)
    _check_limit(max_replicas, least)
    most = max_replicas or inf
    hourly = [int(min(most, max(least, _needed(rate, requests_per_second * target_load)))) for rate in rates]
    hourly = hourly if follow_load else [max(hourly)] * len(hourly)
    starts = sum(max(0, now - hourly[index - 1]) for index, now in enumerate(hourly))  # the profile repeats
    served = sum(min(rate, count * requests_per_second) for rate, count in zip(rates, hourly, strict=True))
    capacity, asked = sum(hourly) * requests_per_second, sum(rates)
    return Replicas(
        peak=max(hourly),
        mean=sum(hourly) / len(hourly),
        hourly=tuple(hourly),
        idle_fraction=1.0 - served / capacity if capacity else 0.0,
        unserved_fraction=1.0 - served / asked if asked else 0.0,
        cold_starts=starts,
        cold_start_hours=starts * cold_start_seconds / SECONDS_PER_HOUR,
    )


def _check_limit(max_replicas: int | None, least: int) -> None:
    if max_replicas is not None and max_replicas < max(least, 1):
        raise InvalidInput("max_replicas is below what must run", pointer="/workload/max_replicas")


def _needed(rate: float, each: float) -> int:
    """Whole replicas for a rate: any rate takes one, and an exact fit none more (1e-9 is rounding)."""
    return max(1 if rate > 0 else 0, ceil(rate / each * (1 - 1e-9)))


def _profile(rate_or_profile: float | Sequence[float]) -> list[float]:
    rates = [rate_or_profile] if isinstance(rate_or_profile, int | float) else list(rate_or_profile)
    if len(rates) != 1 and len(rates) not in PROFILE_HOURS:
        raise InvalidInput("a profile has 24 or 168 hourly rates", pointer="/workload/requests_per_second")
    if any(not 0 <= rate < float("inf") for rate in rates):
        raise InvalidInput("a request rate must be finite and at least 0", pointer="/workload/requests_per_second")
    return rates
