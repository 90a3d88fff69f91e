"""SavedPlan: a plan kept with its snapshot and hashes, its approval, how it changed since, and its read-only links."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from service.domain.base import Name, PositiveUsd, Request
from service.domain.plan import Plan


class PlanState(StrEnum):
    """Where a saved plan stands. Expired is an approval whose time is over."""

    DRAFT = "draft"
    PROPOSED = "proposed"
    APPROVED = "approved"
    EXPIRED = "expired"


class PlanStateChange(Request):
    """The body of `PUT /plans/{plan_id}/state`. An approval says who, up to which total, until when, and how far it may drift."""

    state: PlanState
    by: Name
    limit_usd: PositiveUsd | None = Field(
        default=None, description="approved: the most that the plan's total may be, of its ranking period"
    )
    valid_until: AwareDatetime | None = Field(default=None, description="approved: the approval ends then")
    allowed_drift_fraction: Annotated[float, Field(ge=0, le=10)] | None = Field(
        default=None, description="approved: a refresh that finds a total further off than this, up or down, reopens the plan"
    )
    note: Annotated[str, StringConstraints(max_length=4000)] = ""

    @model_validator(mode="after")
    def _approval_is_whole(self) -> Self:
        parts = ("limit_usd", "valid_until", "allowed_drift_fraction")
        given = [name for name in parts if getattr(self, name) is not None]
        if self.state is PlanState.APPROVED and len(given) < len(parts):
            raise ValueError(f"an approval needs {', '.join(name for name in parts if name not in given)}")
        if self.state is not PlanState.APPROVED and given:
            raise ValueError(f"only an approval holds {', '.join(given)}")
        return self


class ShareRequest(Request):
    """The body of `POST /plans/{plan_id}/share`."""

    valid_hours: Annotated[float, Field(gt=0, le=8760)] = 168.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Who approved what, up to which total of the ranking period, until when."""

    by: str
    at: datetime
    limit_usd: float
    valid_until: datetime
    allowed_drift_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHashes:
    """What decided the answer, as hashes: equal hashes give an equal answer."""

    request: str
    snapshot_id: str
    pools: str
    evidence: str
    policy: str
    tables: str  # cards, models and constants that are shipped
    calibration: str  # of the user's own factors; "" when there are none
    answer: str
    input: str  # all of these but the answer, and the solver's version


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlanSummary:
    """A saved plan without its answer. Amounts are of the first option and of `ranking_period`; null: nothing fits."""

    plan_id: str
    name: str
    owner: str
    note: str
    state: PlanState
    approval: Approval | None
    reopened: str | None  # why an approval ended before its time
    verdict: str
    sentence: str
    recommended: str | None
    ranking_usd: float | None
    ranking_period: str | None
    drift_fraction: float | None  # at the last refresh; null: never refreshed, or nothing to compare
    created_at: datetime
    changed_at: datetime
    refreshed_at: datetime | None
    evaluated_at: datetime
    as_of: datetime | None
    solver_version: str
    hashes: PlanHashes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEvent:
    """One thing that happened to a saved plan."""

    at: datetime
    event: str  # saved, renamed, draft, proposed, approved, expired, reopened, shared, revoked
    by: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan(SavedPlanSummary):
    """A saved plan whole. `answer` is what was answered, to the last digit; `request` makes it again."""

    request: dict[str, Any]
    events: tuple[PlanEvent, ...]
    answer: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlanList:
    """One page, the newest first."""

    plans: tuple[SavedPlanSummary, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """What the first option costs before and after, in USD of `period`, split into three effects that add up exactly.

    Volume: other hours, at the old price of the old option. Price: the old option's new cost for these hours. Mix: another
    option is first now. Null amounts: not comparable, `explained` says why.
    """

    period: str
    before: str | None  # the first option
    after: str | None
    before_usd: float | None
    after_usd: float | None
    difference_usd: float | None
    difference_fraction: float | None
    price_usd: float | None
    volume_usd: float | None
    mix_usd: float | None
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The saved request solved again at its own snapshot: null parts with the reason when its prices are not at hand."""

    is_equal: bool | None  # to the last digit
    plan: Plan | None  # null where it is equal
    change: CostChange | None
    explained: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedPlan:
    """A saved plan beside what it would be now."""

    plan_id: str
    state: PlanState
    reopened: str | None  # what ended the approval just now or before
    saved_solver_version: str
    solver_version: str
    saved: Plan
    at_snapshot: Resolved
    now: Plan
    change: CostChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A read-only link. `url` is told once, when it is made: only its hash is kept."""

    share_id: str
    plan_id: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareList:
    """Every link of a plan, the newest first."""

    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlan:
    """What a link shows. Negotiated prices and every figure that could tell them are null; `hidden` says so."""

    name: str
    state: PlanState
    created_at: datetime
    expires_at: datetime
    hidden: tuple[str, ...]
    plan: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnHardwareInputs:
    """A pool of a saved plan with what it cost then: figures, defaults included, as they decided the answer."""

    pool: dict[str, Any]
    cost: dict[str, Any]  # the fields of PoolCost
    figures: dict[str, float] = field(default_factory=dict)  # residual, discount rate and the like, defaults filled in
