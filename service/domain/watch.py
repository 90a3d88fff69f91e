"""WatchRequest and Watch: a condition on prices or on a verdict, and whom to tell when it comes true."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from providers.offer import CapacityType
from service.domain.base import Name, PositiveUsd, Request
from service.domain.request import PlanRequest

PlanId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{4,64}$")]
WebhookUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s@\x00-\x20]{3,2000}$")]


class PriceCondition(Request):
    """An offer of this card at or under a cap: read live, not suspect, not sold out."""

    gpu: Name = Field(description="a card, or a family with all its variants", examples=["H100"])
    gpu_count: Annotated[int, Field(ge=1, le=1024)] | None = None
    max_usd_per_gpu_hour: PositiveUsd | None = None
    max_usd_per_hour: PositiveUsd | None = Field(default=None, description="of the whole machine")
    capacity_types: tuple[CapacityType, ...] = Field(default=(), max_length=5)
    residency: tuple[Name, ...] = Field(default=(), max_length=20, description="country codes, EU, EEA, EUROPE or region names")
    providers: tuple[Name, ...] = Field(default=(), max_length=20)
    available_only: bool = Field(default=False, description="only what the provider says is in stock")

    @model_validator(mode="after")
    def _one_cap(self) -> Self:
        if (self.max_usd_per_gpu_hour is None) == (self.max_usd_per_hour is None):
            raise ValueError("give exactly one of max_usd_per_gpu_hour and max_usd_per_hour")
        return self


class WatchRequest(Request):
    """The body of `POST /watches`: exactly one of `price`, `plan_id` (a plan's verdict flips) and `plan`."""

    price: PriceCondition | None = None
    plan_id: PlanId | None = Field(default=None, description="a plan that is stored, or was answered in the last 24 hours")
    plan: PlanRequest | None = Field(default=None, description="a request whose verdict is watched")
    webhook_url: WebhookUrl = Field(description="https; no private address")

    @model_validator(mode="after")
    def _one_condition(self) -> Self:
        if sum(one is not None for one in (self.price, self.plan_id, self.plan)) != 1:
            raise ValueError("give exactly one of price, plan_id and plan")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One alarm on its way to where it goes."""

    delivery_id: str
    status: str  # pending, delivered, given_up
    attempts: int
    text: str
    created_at: datetime
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    error: str | None  # of the last attempt: a class or a status, never an answer's words


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A stored condition. `state` is met or unmet, or the last verdict."""

    watch_id: str
    kind: str  # price or verdict
    condition: PriceCondition | PlanRequest
    target: str  # where alarms go, without what is secret in it
    state: str
    created_at: datetime
    checked_at: datetime | None
    deliveries: tuple[Delivery, ...] = ()
    secret: str | None = None  # told once, when the watch is made: signs the webhook's bodies


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchList:
    """All watches of the asker, newest first."""

    watches: tuple[Watch, ...]
