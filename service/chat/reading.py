"""Reading: what a line of text asks for, typed; the same reading always has the same canonical phrase."""

from dataclasses import dataclass

from providers.offer import CapacityType
from service.domain.request import DataSensitivity, Regime
from service.domain.workload import Precision, Technique


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A card or family as people write it, and how many of it one machine has."""

    gpu: str
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The work and what must hold. None and empty: not said."""

    model: str | None = None  # a name of the model table
    params_b: float | None = None
    technique: Technique | None = None
    is_inference: bool = False
    precision: Precision | None = None
    machines: tuple[Machine, ...] = ()
    tokens: float | None = None
    requests_per_second: float | None = None
    runs: float | None = None
    runs_per_month: float | None = None
    work_hours: float | None = None  # "for 72h"
    horizon_months: int | None = None  # "for 36 months"
    utilization: float | None = None  # "at 45%"
    deadline_hours: float | None = None  # "in 2 weeks"
    max_usd_per_hour: float | None = None
    max_usd_per_gpu_hour: float | None = None
    max_usd_total: float | None = None
    places: tuple[str, ...] = ()
    capacity_types: tuple[CapacityType, ...] = ()
    providers: tuple[str, ...] = ()
    excluded_providers: tuple[str, ...] = ()
    data_class: DataSensitivity | None = None
    regimes: tuple[Regime, ...] = ()
    is_now: bool = False
    top: int | None = None
    price_change: float | None = None  # -0.3: all cloud prices 30 % lower
    why_not: str | None = None  # a provider


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReading:
    """`cheapest ...` or `fastest ...`."""

    is_fastest: bool
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareReading:
    """`compare 2xH100 vs 8xA100 80gb ...`: two or more machines side by side."""

    machines: tuple[Machine, ...]
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakevenReading:
    """`breakeven H100 at 45%`: rent or own."""

    machine: Machine
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReading:
    """`history h100 spot 30d`."""

    gpu: str
    days: float | None
    capacity_types: tuple[CapacityType, ...] = ()
    providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainReading:
    """`explain 2`: an option of the last plan."""

    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNotReading:
    """`why not vast`: of the last plan."""

    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchReading:
    """`watch h100 under $2/gpu/h in EU`."""

    gpu: str
    max_usd_per_gpu_hour: float | None = None
    max_usd_per_hour: float | None = None
    gpu_count: int | None = None
    places: tuple[str, ...] = ()
    capacity_types: tuple[CapacityType, ...] = ()
    providers: tuple[str, ...] = ()
    is_now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwatchReading:
    """`unwatch a1b2c3d4`."""

    watch_id: str


@dataclass(frozen=True, slots=True)
class PlainReading:
    """A line that is one word: excluded, more, watches, providers or help."""

    verb: str


Reading = (
    PlanReading
    | CompareReading
    | BreakevenReading
    | HistoryReading
    | ExplainReading
    | WhyNotReading
    | WatchReading
    | UnwatchReading
    | PlainReading
)
