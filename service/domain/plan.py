"""Plan: the answer. Every dollar is a named line, every default is listed, nothing is dropped in silence.

The types of which an answer holds many are not frozen: making a frozen one takes four times as long, and the time of
a plan is mostly spent there. Nobody writes to them all the same. Options and their cost lines
are made by position where speed matters (by keyword it takes twice as long), and by keyword elsewhere.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service.domain.decision import BreakevenUtilization, Decision, PaybackMonths, UsefulHourCost
from service.domain.estimate import Assumption, Range, VramPart

__all__ = ["BreakevenUtilization", "Decision", "PaybackMonths", "UsefulHourCost"]  # told from here too

PER_RUN, PER_MONTH, OVER_HORIZON = "per_run", "per_month", "over_horizon"


@dataclass(slots=True)
class CostLine:
    """One named line of a cost; USD, rounded to 6 decimals before it is added up. Null: that view does not apply."""

    name: str  # compute, interruption, setup, storage, egress, capital, electricity, maintenance, staff, colocation, ...
    usd_per_run: float | None
    usd_per_month: float | None
    usd_over_horizon: float | None
    explained: str = ""


@dataclass(slots=True, kw_only=True)
class CostBreakdown:
    """Lines and totals; a total is the sum of its rounded lines. `low` and `high` follow the hours' range."""

    lines: tuple[CostLine, ...]
    usd_per_run: float | None
    usd_per_month: float | None
    usd_over_horizon: float | None
    low_usd: float  # of the ranking total
    high_usd: float
    ranking_usd: float  # what the order is made by
    ranking_period: str  # "per_run", "per_month" or "over_horizon"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionVram:
    need_gib: float  # the safe value, per GPU
    point_gib: float
    usable_gib: float
    headroom_gib: float


@dataclass(slots=True, kw_only=True)
class OptionPrice:
    """Evidence of the price: what was read, where and when."""

    offer_id: str | None
    observed_at: datetime | None
    as_of: str | None
    source: str
    basis: str  # list, spot, bid_floor, negotiated, estimate, median_30d, own_hardware
    feed: str | None
    low_usd_per_hour: float | None = None
    high_usd_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDeadline:
    probability: str | None  # ">= 95 %", "80-95 %", "50-80 %", "< 50 %"; null without a deadline
    deadline_hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedSurcharge:
    """What a managed service costs over the plain machine of the same type, place and way of buying."""

    over: str  # who sells the plain machine
    usd_per_hour: float  # of the whole option
    fraction: float  # of the plain machine's price
    usd_per_run: float | None
    usd_per_month: float | None
    explained: str


@dataclass(slots=True)
class PlanOption:
    """One way to do the whole work."""

    rank: int
    kind: str  # cloud or on_prem
    provider: str
    tier: str
    instance_type: str | None
    gpu: str
    form_factor: str
    gpu_count: float  # of one machine
    nodes: int  # machines that work together, or replicas for inference
    region: str | None
    zone: str | None
    country: str | None
    capacity_type: str
    tenancy: str
    availability: str
    arch: str
    strategy: str
    vram: OptionVram
    hours: Range  # wall hours of one run (train, raw), or hours a month the service is up (infer)
    usd_per_hour: float  # of the whole option: all machines
    usd_per_gpu_hour: float
    cost: CostBreakdown
    usd_per_million_tokens: float | None
    deadline: OptionDeadline
    flags: tuple[str, ...]
    tie_group: int
    why: str
    price: OptionPrice
    market_tier: str = "own"  # hobbyist, engineer, enterprise; own is own hardware
    effort: str = "ssh"  # what starting takes: notebook, managed, ssh
    sessions: int = 1  # that a run is split into where the seller ends sessions after some hours
    managed_surcharge: ManagedSurcharge | None = None  # of a managed service, where the plain machine's price is known


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfMarketTier:
    """The cheapest option of one market tier, null with the reason. Its rank is 0 where it is not among the options."""

    market_tier: str
    option: PlanOption | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    rank: int | None
    reason: str | None  # why there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaders:
    cheapest_listed: Leader
    cheapest_obtainable: Leader


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Offers left out for one reason: how many, one of them, and the nearest miss."""

    reason: str  # a stable code
    count: int
    explained: str
    example: str | None = None
    nearest_miss: str | None = None
    would_admit: str | None = None  # the single change that would admit it


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementOn:
    """The need per GPU under one strategy, on the smallest group of one card that holds it."""

    gpu: str
    gpu_count: float
    nodes: int
    strategy: str
    fits: bool
    point_gib: float
    safe_gib: float
    usable_gib: float
    parts: tuple[VramPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """VRAM by part per strategy, and the sentence on what dominates."""

    model: str | None
    explained: str
    by_strategy: tuple[RequirementOn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySide:
    provider: str
    tier: str
    gpu: str
    usd_per_hour: float
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPrice:
    """What the data class costs: the best offer that policy blocks beside the best it allows."""

    best_blocked: PolicySide | None
    best_allowed: PolicySide | None
    usd_per_hour_difference: float | None
    reason: str
    policy_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedState:
    """Where the prices of one adapter stand."""

    name: str
    state: str  # ok, degraded, stale, failing, disabled, needs_key, never
    age_hours: float | None
    stale: bool
    offers: int
    truncated: bool
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPrices:
    snapshot_id: str
    as_of: datetime | None
    explained: str  # how old the prices are, in words
    providers: tuple[FeedState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPriced:
    name: str
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer to a PlanRequest."""

    plan_id: str
    summary: str
    evaluated_at: datetime
    requirement: Requirement
    options: tuple[PlanOption, ...]
    options_found: int  # before `limit`
    leaders: Leaders
    decision: Decision
    exclusions: tuple[Exclusion, ...]
    policy_price: PolicyPrice | None
    assumptions: tuple[Assumption, ...]
    not_priced: tuple[NotPriced, ...]
    prices: PlanPrices
    request_echo: dict[str, Any]
    solver_version: str
    best_by_market_tier: tuple[BestOfMarketTier, ...] = ()
