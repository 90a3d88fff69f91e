"""HistoryQuery and HistoryPage: what was charged for a card, as closed and open intervals of time."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from providers.offer import CapacityType, Tenancy
from service.domain.offers import Whole, Word

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})")
FIRST_YEAR, LAST_YEAR = 2000, 2199


def _instant(value: Any) -> Any:
    """A day (its midnight in UTC) or an instant with its offset; never a bare number."""
    if isinstance(value, str):
        if not (_DAY.fullmatch(value) or _INSTANT.fullmatch(value)):
            raise ValueError("write a day (2026-03-01) or an instant (2026-03-01T12:00:00Z, a plus sign as %2B)")
        if not FIRST_YEAR <= int(value[:4]) <= LAST_YEAR:
            raise ValueError(f"the year must be from {FIRST_YEAR} to {LAST_YEAR}")
        return f"{value}T00:00:00Z" if _DAY.fullmatch(value) else value
    return value


Instant = Annotated[AwareDatetime, BeforeValidator(_instant)]


class HistoryQuery(BaseModel):
    """Which prices, and over which time."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    gpu: list[Word] = Field(
        min_length=1, max_length=20, description="a card, or a family with all its variants", examples=["H100"]
    )
    provider: list[Word] = Field(default=[], max_length=20, description="who sells it")
    capacity_type: list[CapacityType] = Field(default=[], max_length=5)
    since: Instant | None = Field(default=None, alias="from", description="included; a day or an instant; 30 days before `to`")
    until: Instant | None = Field(default=None, alias="to", description="not included; absent: now")
    limit: Annotated[Whole, Field(ge=1, le=1000)] = 200
    cursor: Annotated[str, StringConstraints(max_length=400)] | None = Field(
        default=None, description="`next_cursor` of the page before: holds for the same query only"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceInterval:
    """One offer at one price: from `valid_from` (included) to `valid_to` (not included; null: it still holds)."""

    offer_id: str
    feed: str
    provider: str
    gpu: str
    gpu_count: float
    capacity_type: CapacityType
    tenancy: Tenancy
    country: str | None
    region: str | None
    usd_per_hour: float
    usd_per_gpu_hour: float
    valid_from: datetime
    valid_to: datetime | None

    @property
    def key(self) -> tuple[datetime, str, str]:
        """Its place in the order of a listing: no two intervals share one."""
        return self.valid_from, self.feed, self.offer_id


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """The intervals that overlap the time asked for, oldest first."""

    intervals: tuple[PriceInterval, ...]
    since: datetime
    until: datetime
    next_cursor: str | None


def utc(moment: datetime) -> datetime:
    """The same instant in UTC; both ends of the years above are far from what datetime can hold."""
    return moment.astimezone(UTC)
