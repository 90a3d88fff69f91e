"""What a decision to buy is weighed by: quantiles, named scenarios, swings, switching values, queue and mix."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from service.domain.base import Name, PositiveFraction, Request

PositiveFactor = Annotated[float, Field(gt=0, le=1000)]
YearlyChange = Annotated[float, Field(ge=-0.9, le=3)]


class Scenario(Request):
    """A named future: what changes against the case at hand."""

    name: Name
    cloud_price_factor: PositiveFactor = Field(default=1.0, description="on today's cloud price, from the first month on")
    cloud_price_change_fraction_per_year: YearlyChange = Field(default=0.0, description="-0.12 is 12 % a year down")
    utilization: PositiveFraction | None = Field(default=None, description="absent: as it is")
    capex_factor: PositiveFactor = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Npv:
    """Net present value of buying instead of renting over the pool's life, USD; shares are rounded to 5 points."""

    base_usd: float  # today's price for ever, every input at its base
    p10_usd: float
    p50_usd: float
    p90_usd: float
    positive_fraction: float
    never_paid_fraction: float  # of the draws, not paid back within the life
    draws: int
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOutcome:
    """One future: which choice is cheaper in it, and what the other one costs more."""

    name: str
    verdict: str  # on_prem or cloud, by net present value
    payback_months: float | None  # null: not within the life
    npv_usd: float
    regret_of_buying_usd: float
    regret_of_renting_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSwing:
    """What one input alone moves the net present value by."""

    name: str
    low: float
    high: float
    unit: str  # "times the base", or "a year" for a change
    npv_at_low_usd: float
    npv_at_high_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchingValues:
    """Where the decision flips, each value alone; null where no value does."""

    utilization: float | None
    usd_per_gpu_hour: float | None
    capex_usd: float | None  # with network and spares


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWait:
    """Waiting for a turn on own hardware, if jobs come at random; null hours: more work than slots."""

    slots: int  # jobs that run at once
    load_fraction: float
    wait_per_service: float | None  # mean wait over mean run time
    wait_hours_per_run: float | None
    usd_per_gpu_hour: float | None  # of delay; null where no value of an hour of delay is given
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAndBurst:
    """The cheapest number of GPUs to own when the rest of the demand is rented; USD a month."""

    own_gpus: int
    breakeven_utilization: float | None  # that the last GPU owned must reach; null: the cloud is cheaper than power
    usd_per_month: float
    all_cloud_usd_per_month: float
    all_own_usd_per_month: float
    own_use_fraction: float | None
    burst_gpu_hours_fraction: float
    last_owned_use_fraction: float | None
    next_use_fraction: float | None
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UseBounds:
    """The use that decides, when only the active part of it was measured: the verdict at both ends."""

    low_utilization: float
    high_utilization: float
    verdict_at_low: str
    verdict_at_high: str
    explained: str
