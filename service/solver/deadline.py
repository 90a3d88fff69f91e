"""Deadline: the probability that a run ends in time, shown as a band."""

import math
from typing import Final

from service.domain.plan import OptionDeadline

NO_DEADLINE: Final = OptionDeadline(probability=None, deadline_hours=None)
_BANDS: Final = ((0.95, ">= 95 %"), (0.80, "80-95 %"), (0.50, "50-80 %"))
_UNDER: Final = "< 50 %"
_TENTH: Final = 1.2816  # standard deviations from the middle to the 10th or 90th percentile
_WAIT_HOURS: Final = 0.5  # until a machine can be had again after an interruption
_WALL_SPREAD: Final = 1.0  # natural log: measured spot wall times are within 2.7x of what is expected in 68 % of cases


def band_of(
    *, deadline_hours: float | None, low: float, high: float, setup_hours: float, paid_hours: float, stops: float
) -> OptionDeadline:
    """The band of the probability that set-up, run and interruptions end within the deadline.

    Hours are taken as log-normal with the range's ends at the 10th and 90th percentile; interruptions widen that.
    """
    if deadline_hours is None:
        return NO_DEADLINE
    wall = paid_hours + stops * _WAIT_HOURS
    left = deadline_hours - setup_hours
    if left <= 0:
        return OptionDeadline(probability=_UNDER, deadline_hours=deadline_hours)
    spread = math.log(max(high / low, 1.0)) / (2 * _TENTH) if low > 0 else 0.0
    if stops > 0:
        spread = math.hypot(spread, _WALL_SPREAD * min(1.0, stops))
    ahead = math.log(left / max(wall, 1e-9))
    chance = (1.0 if ahead >= 0 else 0.0) if spread == 0 else 0.5 * (1 + math.erf(ahead / spread / math.sqrt(2)))
    band = next((name for least, name in _BANDS if chance >= least - 1e-12), _UNDER)
    return OptionDeadline(probability=band, deadline_hours=deadline_hours)
