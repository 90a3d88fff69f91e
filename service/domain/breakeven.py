"""Breakeven: rent or own for one pool at one cloud price, with the curves behind the answer."""

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from service.domain.base import PositiveFraction, PositiveUsd, Request, Slug
from service.domain.decision import BreakevenUtilization, PaybackMonths, UsefulHourCost
from service.domain.estimate import Assumption
from service.domain.request import OnPremPool, PlanRequest
from service.domain.weighing import InputSwing, Npv, OwnAndBurst, Scenario, ScenarioOutcome, SwitchingValues, UseBounds

MOST_HOURS = 17_568  # two years
Gpus = Annotated[float, Field(ge=0, le=100_000)]
HOURS_OF_A_WEEK = 168


class Demand(Request):
    """GPUs of the pool's card in use: a series by the hour, a week of it, or only its mean and peak."""

    hourly_gpus: Annotated[tuple[Gpus, ...], Field(min_length=1, max_length=MOST_HOURS)] | None = None
    weekly_gpus: Annotated[tuple[Gpus, ...], Field(min_length=HOURS_OF_A_WEEK, max_length=HOURS_OF_A_WEEK)] | None = None
    mean_gpus: Annotated[float, Field(gt=0, le=100_000)] | None = None
    peak_gpus: Annotated[float, Field(gt=0, le=100_000)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        by_mean = self.mean_gpus is not None or self.peak_gpus is not None
        if sum((self.hourly_gpus is not None, self.weekly_gpus is not None, by_mean)) != 1:
            raise ValueError("give one of hourly_gpus, weekly_gpus, or mean_gpus with peak_gpus")
        if by_mean and (self.mean_gpus is None or self.peak_gpus is None or self.mean_gpus > self.peak_gpus):
            raise ValueError("mean_gpus and peak_gpus go together, and the mean is not over the peak")
        if not by_mean and not any(self.hourly_gpus or self.weekly_gpus or ()):
            raise ValueError("the demand is 0 in every hour")
        return self


class BreakevenRequest(Request):
    """The body of `POST /breakeven`: a pool against a price, or against the cheapest offer that a plan request allows."""

    pool: OnPremPool | Slug = Field(description='inline, by stored name, or "default": a dated default box')
    cloud_usd_per_gpu_hour: PositiveUsd | None = Field(
        default=None, description="with all that a useful GPU-hour costs there; else give plan"
    )
    plan: PlanRequest | None = Field(
        default=None, description="its cheapest allowed cloud option is the price; its usage the use"
    )
    utilization: PositiveFraction | None = Field(
        default=None, description="GPU-hours held by jobs over calendar GPU-hours of the pool (allocated)"
    )
    active_utilization: PositiveFraction | None = Field(
        default=None, description="engine busy, as an exporter measures it: never the use that a rented GPU is billed for"
    )
    demand: Demand | None = None
    scenarios: tuple[Scenario, ...] = Field(default=(), max_length=5)

    @model_validator(mode="after")
    def _against_one(self) -> Self:
        if (self.cloud_usd_per_gpu_hour is None) == (self.plan is None):
            raise ValueError("give exactly one of cloud_usd_per_gpu_hour and plan")
        if self.plan is None and self.utilization is None and self.active_utilization is None and self.demand is None:
            raise ValueError("how busy is it? Give utilization, active_utilization or demand")
        if self.active_utilization is not None and self.utilization is not None and self.active_utilization > self.utilization:
            raise ValueError("active_utilization cannot be over the allocated utilization")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAtUse:
    """A point of cost per useful GPU-hour against utilization."""

    utilization: float
    own_usd: float
    cloud_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostByMonth:
    """A point of cumulative cost against the month since the order; a cloud is paid until own hardware has come."""

    month: int
    own_usd: float
    cloud_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakevenCurves:
    """Data for the two charts. By month: undiscounted, at today's cloud price."""

    cost_against_utilization: tuple[CostAtUse, ...]
    cumulative_cost: tuple[CostByMonth, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakeven:
    """The answer: verdict, bounds, payback and what moves them. USD; `utilization` is allocated use."""

    verdict: str  # on_prem, cloud, or depends while the decision is open
    sentence: str
    pool: str
    gpu: str
    gpus: int
    cloud_usd_per_gpu_hour: float
    utilization: float | None
    use_bounds: UseBounds | None
    breakeven_utilization: BreakevenUtilization
    own_usd_per_month: float | None
    cloud_usd_per_month: float | None
    usd_per_useful_gpu_hour: UsefulHourCost | None
    simple_payback_months: float | None  # null: not within the life, or nothing is bought
    discounted_payback_months: float | None
    payback_months: PaybackMonths | None
    npv: Npv | None
    switching: SwitchingValues
    scenarios: tuple[ScenarioOutcome, ...]
    swings: tuple[InputSwing, ...]
    own_and_burst: OwnAndBurst | None
    curves: BreakevenCurves
    assumptions: tuple[Assumption, ...]
