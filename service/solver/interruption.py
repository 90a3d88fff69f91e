"""Spot interruptions: how often, how much paid time they cost, and how often to save a checkpoint.

Interruptions are taken as exponential with a mean time M between them; of a gang of n machines M falls to M / n.
Sources: J. T. Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22 (2006); measured AWS
spot traces of 2023 (Wu et al., NSDI 2024) have M of 1 to 10 h for one V100 machine, the Spot Advisor's bands
come to hundreds and thousands of hours. Where an offer shows no rate the priors below stand between the two.
"""

import math
from typing import Any, Final

import numpy as np

from providers.units import HOURS_PER_MONTH
from service.domain.estimate import Assumption

NEVER: Final = math.inf
PRIOR_HOURS: Final = {"host_bid": 12.0, "spot": 24.0}
PRIOR_SPREAD: Final = 4.0  # the mean may well be this many times shorter or longer
LONGEST_TRY: Final = 10.0  # expected tries grow as e^(T/M): past 10 a run from zero does not end
MEASURED_SPREAD: Final = 2.0  # of times between interruptions: 1.3 to 2.9 on the measured traces, 2 in the median
WAIT_DRIFT: Final = 2.0  # waiting per running hour, against what was measured weeks before; covers those traces
PAID_DRIFT: Final = 0.03
_MOST_STOPPED: Final = 0.95


def mean_hours_between_stops(
    *, capacity_type: str, tenancy: str, is_host: bool, stopped_per_month: tuple[float, float] | None
) -> float:
    """Mean hours between interruptions of one machine; infinite for capacity that nobody takes away.

    A share f of machines stopped within a month means M = -730 / ln(1 - f), at the middle of the band.
    """
    if capacity_type != "spot":
        return NEVER
    if stopped_per_month is not None:
        share = min(sum(stopped_per_month) / 2, _MOST_STOPPED)
        return NEVER if share <= 0 else -HOURS_PER_MONTH / math.log1p(-share)
    return PRIOR_HOURS["host_bid" if is_host or tenancy == "community_host" else "spot"]


def checkpoint_interval_hours(stall_hours: Any, hours_between_stops: Any) -> Any:
    """Compute time between checkpoints that costs least (Daly's higher-order form); M where a stall is 2 M or longer."""
    ratio = np.sqrt(stall_hours / (2 * hours_between_stops))
    daly = np.sqrt(2 * stall_hours * hours_between_stops) * (1 + ratio / 3 + ratio**2 / 9) - stall_hours
    return np.where(stall_hours < 2 * hours_between_stops, daly, hours_between_stops)


def paid_hours_with_checkpoints(
    hours: Any,
    *,
    hours_between_stops: Any,
    stall_hours: float,
    restart_hours: float,
    interval_hours: float | None = None,
    spread: float = 1.0,
) -> Any:
    """Expected paid hours of a run of `hours` that resumes from checkpoints.

    W / tau * M e^(R/M) (e^((tau + delta)/M) - 1): each of the W / tau segments is repeated until it ends.
    A run no longer than one segment saves nothing on its way.

    Args:
        spread: standard deviation over mean of the times between interruptions. 1 is exponential; above 1 they are a
            mixture of a short and a long exponential with equal shares of the time, and W / tau segments take W / tau
            * M / sum p e^(-R/m) / (e^((tau + delta)/m) - 1).
    """
    hours, mean = np.asarray(hours, dtype=np.float64), np.asarray(hours_between_stops, dtype=np.float64)
    best = checkpoint_interval_hours(max(stall_hours, 1e-6), mean) if interval_hours is None else interval_hours
    segment = np.minimum(best, hours)
    stall = np.where(hours <= best, 0.0, stall_hours)
    if spread > 1:
        phases = _phases(mean, spread)
        saved = sum(p * np.exp(-restart_hours / m) / np.expm1(np.minimum((segment + stall) / m, 700.0)) for p, m in phases)
        return hours / segment * mean / np.maximum(saved, 1e-300)
    tries = np.minimum((segment + stall) / mean, 700.0)
    return hours / segment * mean * np.exp(np.minimum(restart_hours / mean, 700.0)) * np.expm1(tries)


def _phases(mean: Any, spread: float) -> list[tuple[float, Any]]:
    """Shares and means of the two exponentials that have this mean and spread and equal shares of the time."""
    often = 0.5 * (1 + math.sqrt((spread**2 - 1) / (spread**2 + 1)))
    return [(often, mean / (2 * often)), (1 - often, mean / (2 * (1 - often)))]


def wall_hours(paid_hours: Any, up_fraction: Any) -> tuple[Any, Any, Any]:
    """Low, expected and high hours until a run ends that waits, unpaid, while no machine can be had.

    Expected: paid hours over the share of time that machines can be had. That share drifts over weeks, so the range
    runs from no waiting at all to `WAIT_DRIFT` times the waiting that was measured, and `PAID_DRIFT` of paid hours beyond.
    """
    waiting = (1 - up_fraction) / up_fraction
    low, high = paid_hours * (1 - PAID_DRIFT), paid_hours * (1 + PAID_DRIFT) * (1 + WAIT_DRIFT * waiting)
    return low, paid_hours * (1 + waiting), high


def paid_hours_from_zero(hours: Any, *, hours_between_stops: Any) -> Any:
    """Expected paid hours of a run that starts again from zero after each interruption: M (e^(T/M) - 1)."""
    mean = np.asarray(hours_between_stops, dtype=np.float64)
    return mean * np.expm1(np.minimum(np.asarray(hours, dtype=np.float64) / mean, 700.0))


def paid_hours_of_service(hours: Any, *, hours_between_stops: Any, restart_hours: float) -> Any:
    """Paid hours of a service that is up for `hours`: each interruption is followed by a restart that serves nobody."""
    mean = np.asarray(hours_between_stops, dtype=np.float64)
    return np.asarray(hours, dtype=np.float64) * (1 + restart_hours / mean)


def prior_assumptions(*, host_bids: bool, spot: bool) -> list[Assumption]:
    """The priors that an answer used, listed."""
    used = [name for name, shown in (("host_bid", host_bids), ("spot", spot)) if shown]
    return [
        Assumption(
            name=f"hours_between_interruptions.{name}",
            value=PRIOR_HOURS[name],
            unit="h",
            source="estimate between measured AWS spot traces of 2023 (1-10 h) and the Spot Advisor's bands (800-4,500 h)",
            low=PRIOR_HOURS[name] / PRIOR_SPREAD,
            high=PRIOR_HOURS[name] * PRIOR_SPREAD,
        )
        for name in used
    ]
