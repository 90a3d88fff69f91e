"""What each chart shows, before any drawing: plain figures with their units in the names."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationCost:
    """Owning against renting by use. `cloud` holds what a rented GPU-hour costs, by name, dearest first."""

    pool: str
    utilization_fractions: Sequence[float]  # rising, above 0
    usd_per_useful_gpu_hour: Sequence[float]
    cloud: Sequence[tuple[str, float]]
    breakeven_fractions: Sequence[float]  # where the curve meets a cloud price, within the range
    stated_fraction: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CumulativeCost:
    """Money spent up to the end of each month."""

    pool: str
    months: Sequence[float]
    rent_usd: Sequence[float]
    own_usd: Sequence[float]
    crossing_month: float | None  # None: owning does not catch up within these months


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentCosts:
    """Cost lines of a few options; `period` says of what time, as in "per month"."""

    options: Sequence[str]
    lines: Sequence[tuple[str, str, float]]  # option, line, USD
    period: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PricePoint:
    """Prices over all offers of one kind from `at` on; USD per GPU-hour."""

    at: datetime
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSeries:
    """How the prices of a card moved. Either part may be empty."""

    gpu: str
    spot: Sequence[PricePoint]
    on_demand: Sequence[PricePoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """What one input does to the result when it goes from its low to its high value."""

    name: str
    low_input: str
    high_input: str
    usd_at_low: float  # change of the result, USD
    usd_at_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tornado:
    """The largest swings of one result, by its inputs; `result` names it with its period."""

    result: str
    base_usd: float
    swings: Sequence[Swing]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAndCost:
    """One way to do the work: how long a run takes and what it costs."""

    mark: str  # short, beside the point
    label: str
    kind: str  # cloud, on demand; cloud, spot; own hardware
    hours: float
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAgainstCost:
    """All ways to do the work; `period` says of what time the cost is."""

    points: Sequence[TimeAndCost]
    period: str
    deadline_hours: float | None = None


def pareto_front(points: Sequence[TimeAndCost]) -> list[TimeAndCost]:
    """The points that no other beats in both time and cost, quickest first."""
    front: list[TimeAndCost] = []
    for point in sorted(points, key=lambda one: (one.hours, one.usd, one.label)):
        if not front or point.usd < front[-1].usd:
            front.append(point)
    return front
