"""Queueing: how long a job waits for its turn on a fixed number of slots, and what that is worth.

Erlang C for the chance to wait, Allen and Cunneen's factor (ca2 + cs2) / 2 for arrivals and run times that vary otherwise
than exponential ones. A slot is as many GPUs as one job takes.
"""

import math
from typing import Final

from providers.errors import InvalidInput

ARRIVAL_SPREAD2: Final = 1.0  # squared coefficient of variation of the times between arrivals
SERVICE_SPREAD2: Final = 4.0  # of run times: training runs are heavy tailed; measure to replace it


def chance_to_wait(slots: int, load_fraction: float) -> float:
    """Erlang C: the share of jobs that find every slot taken.

    Args:
        load_fraction: of the slots that is busy in the mean, under 1.
    Raises:
        InvalidInput: no slot, or a load below 0.
    """
    if slots < 1 or load_fraction < 0:
        raise InvalidInput("a queue has at least one slot and a load of at least 0")
    if load_fraction >= 1:
        return 1.0
    offered, lost = slots * load_fraction, 1.0
    for count in range(1, slots + 1):  # Erlang B, in the form that does not overflow
        lost = offered * lost / (count + offered * lost)
    return lost / (1 - load_fraction * (1 - lost))


def wait_per_service(
    slots: int, load_fraction: float, *, arrival_spread2: float = ARRIVAL_SPREAD2, service_spread2: float = SERVICE_SPREAD2
) -> float:
    """Mean wait over mean run time; infinite where the slots are loaded in full."""
    if load_fraction >= 1:
        return math.inf
    exponential = chance_to_wait(slots, load_fraction) / (slots * (1 - load_fraction))
    return exponential * (arrival_spread2 + service_spread2) / 2


def delay_usd_per_gpu_hour(*, usd_per_hour_of_delay: float, wait_per_service_hour: float, gpus_per_job: int) -> float:
    """What waiting adds to each useful GPU-hour."""
    return usd_per_hour_of_delay * wait_per_service_hour / gpus_per_job
