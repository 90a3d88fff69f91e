"""ReportRequest and what a report is made from: plans as they were answered, the hardware behind them, and one exchange rate."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import Field, StringConstraints, model_validator

from service.domain.base import Name, Request
from service.domain.plan import Plan
from service.domain.request import PlanRequest
from service.domain.saved import Approval, OwnHardwareInputs, PlanHashes
from service.domain.watch import PlanId

MOST_PLANS: Final = 20
FIRST_YEAR, LAST_YEAR = 2000, 2199
CurrencyCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class ReportFormat(StrEnum):
    """In which forms a report is written."""

    HTML = "html"
    PDF = "pdf"
    XLSX = "xlsx"
    CSV = "csv"
    MD = "md"
    JSON = "json"


class ReportPeriod(Request):
    """The budget period, both days included."""

    start: date
    end: date

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not all(FIRST_YEAR <= day.year <= LAST_YEAR for day in (self.start, self.end)):
            raise ValueError(f"the years must be from {FIRST_YEAR} to {LAST_YEAR}")
        if self.end < self.start:
            raise ValueError("the period ends before it starts")
        return self


class ReportRequest(Request):
    """The body of `POST /reports`: saved plans by their ids, requests that are planned now, or both."""

    plan_ids: Annotated[tuple[PlanId, ...], Field(max_length=MOST_PLANS)] = ()
    requests: Annotated[tuple[PlanRequest, ...], Field(max_length=MOST_PLANS)] = ()
    title: Name = "GPU budget review"
    period: ReportPeriod | None = Field(default=None, description="absent: the twelve months after the newest plan")
    horizon_months: Annotated[int, Field(ge=1, le=120)] | None = Field(
        default=None, description="months of the cash flow, from the period's first month on; absent: the longest of the plans"
    )
    currency: CurrencyCode = Field(
        default="USD", description="in which amounts are shown, by the rate of the European Central Bank"
    )

    @model_validator(mode="after")
    def _has_a_plan(self) -> Self:
        if not self.plan_ids and not self.requests:
            raise ValueError("give plan_ids, requests or both")
        if len(self.plan_ids) + len(self.requests) > MOST_PLANS:
            raise ValueError(f"a report is over {MOST_PLANS} plans at most")
        if len(set(self.plan_ids)) < len(self.plan_ids):
            raise ValueError("a plan stands twice in plan_ids")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRate:
    """How many units of a currency one US dollar was worth on a day."""

    currency: str
    per_usd: float
    day: date | None  # null: the dollar itself
    source: str
    warning: str | None = None  # the rate is older than it should be


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan:
    """One plan of a report as it was answered, with the pools that it was reckoned with."""

    plan_id: str
    name: str
    owner: str
    note: str
    state: str  # draft, proposed, approved, expired, or unsaved
    approval: Approval | None
    plan: Plan
    own: tuple[OwnHardwareInputs, ...]
    hashes: PlanHashes
    before: Plan | None = None  # what the last review of the same name and owner was about
    before_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInputs:
    """All that a report is made from: the same inputs make the same report, but for the stamp of its making."""

    title: str
    plans: tuple[ReportPlan, ...]
    period: tuple[date, date]
    horizon_months: int
    rate: ExchangeRate
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportAccepted:
    """Where the report will be, and the job that makes it."""

    report_id: str
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """One report as a list shows it. `problem` says why it failed: {code, detail}."""

    report_id: str
    job_id: str
    title: str
    status: str  # queued, ready, failed
    problem: dict[str, Any] | None
    plan_ids: tuple[str, ...]
    created_at: datetime
    finished_at: datetime | None
    formats: tuple[ReportFormat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportList:
    """One page, the newest first."""

    reports: tuple[ReportSummary, ...]
    next_cursor: str | None = None
