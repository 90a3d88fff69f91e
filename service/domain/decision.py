"""Decision: rent or own, with its condition and what it is weighed by."""

from dataclasses import dataclass

from service.domain.measured import UseReading
from service.domain.weighing import InputSwing, Npv, OwnAndBurst, QueueWait, ScenarioOutcome, SwitchingValues, UseBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class PaybackMonths:
    """Months until buying has paid for itself; null is never within the life. p10 <= p50 <= p90."""

    p10: float | None
    p50: float | None
    p90: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakevenUtilization:
    """Share of calendar hours from which owning is cheaper; null is never (above 1 or no cloud price)."""

    against_dearest_on_demand: float | None
    against_cheapest_allowed: float | None
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsefulHourCost:
    """USD per useful GPU-hour of the pool at the stated utilization, by scope; null where it is not known."""

    hardware_and_power: float | None
    vendor: float | None
    full: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Rent or own, in one sentence with its condition. Parts are null when there is no pool or no cloud option."""

    verdict: str  # cloud, on_prem, depends, infeasible
    sentence: str
    pool: str | None
    utilization: float | None
    breakeven_utilization: BreakevenUtilization | None
    payback_months: PaybackMonths | None
    usd_per_useful_gpu_hour: UsefulHourCost | None
    flips_if: tuple[str, ...]
    rule_of_thumb: str
    default_box_wins_from_utilization: float | None
    npv: Npv | None = None  # null where nothing is bought
    scenarios: tuple[ScenarioOutcome, ...] = ()
    swings: tuple[InputSwing, ...] = ()  # largest first
    switching: SwitchingValues | None = None
    queue: QueueWait | None = None
    own_and_burst: OwnAndBurst | None = None  # of a service with a load profile
    measured: UseReading | None = None  # what usage.measured_pool stands for
    use_bounds: UseBounds | None = None  # where only the active share was measured
