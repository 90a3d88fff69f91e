"""OffersQuery and OfferPage: which offers are wanted, and one page of them."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from providers.offer import Availability, CapacityType, Tenancy

_PLAIN = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def _plain_number(value: Any) -> Any:
    """A parameter is text: only plain decimal digits are a number (not 1_000, 1e9, nan or digits of other scripts)."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        raise ValueError("not a plain decimal number")
    return value


_Number = Annotated[float, BeforeValidator(_plain_number, json_schema_input_type=float), Field(ge=0, le=1e9)]
Whole = Annotated[int, BeforeValidator(_plain_number, json_schema_input_type=int)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]


class OfferSort(StrEnum):
    """What the offers are ordered by; a leading minus is from high to low. A suspect price never leads its order."""

    USD_PER_HOUR = "usd_per_hour"
    USD_PER_HOUR_DESCENDING = "-usd_per_hour"
    USD_PER_GPU_HOUR = "usd_per_gpu_hour"
    USD_PER_GPU_HOUR_DESCENDING = "-usd_per_gpu_hour"
    GPU_MEMORY_GB = "gpu_memory_gb"
    GPU_MEMORY_GB_DESCENDING = "-gpu_memory_gb"


class OffersQuery(BaseModel):
    """Which offers, in which order. A filter given several times takes offers that meet any of its values."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    gpu: list[Word] = Field(default=[], max_length=20, description="a card, or a family with all its variants", examples=["H100"])
    min_memory_gb: _Number | None = Field(default=None, description="nominal memory of one GPU, GB")
    count: _Number | None = Field(default=None, gt=0, description="GPUs of one machine, exactly; a fraction is part of a card")
    min_count: _Number | None = Field(default=None, description="GPUs of one machine, at least")
    max_count: _Number | None = Field(default=None, description="GPUs of one machine, at most")
    provider: list[Word] = Field(default=[], max_length=20, description="who sells it")
    country: list[_Country] = Field(default=[], max_length=50, description="ISO 3166 alpha-2, capital letters")
    region: list[Word] = Field(default=[], max_length=50, description="the provider's own name of the place")
    capacity_type: list[CapacityType] = Field(default=[], max_length=5)
    tenancy: list[Tenancy] = Field(default=[], max_length=4)
    availability: list[Availability] = Field(default=[], max_length=4)
    max_usd_per_hour: _Number | None = Field(default=None, description="of the whole machine")
    max_usd_per_gpu_hour: _Number | None = Field(default=None, description="of one whole GPU")
    sort: OfferSort = OfferSort.USD_PER_GPU_HOUR
    limit: Annotated[Whole, Field(ge=1, le=200)] = 50
    cursor: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        default=None, description="`next_cursor` of the page before: holds for the same filter, order and snapshot only"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOffer:
    """One offer. Null is unknown."""

    offer_id: str
    provider: str
    feed: str
    tier: str
    instance_type: str | None
    gpu: str
    gpu_count: float
    gpu_memory_gb: float
    form_factor: str
    interconnect: str
    arch: str
    vcpus: float | None
    memory_gib: float | None
    region: str | None
    zone: str | None
    country: str | None
    capacity_type: CapacityType
    tenancy: Tenancy
    availability: Availability
    usd_per_hour: float
    usd_per_gpu_hour: float
    price_basis: str
    upfront_usd: float | None
    term_months: float | None
    storage_usd_per_gb_month: float | None
    egress_usd_per_gb: float | None
    reliability_fraction: float | None
    suspect: bool
    observed_at: datetime  # when this price was first read
    last_seen_at: datetime | None  # when its feed last confirmed it
    as_of: date | None
    is_dated: bool
    source: str
    market_tier: str | None = None  # hobbyist, engineer, enterprise
    session_limit_hours: float | None = None  # a session is ended after so long; null: no such limit
    weekly_quota_hours: float | None = None  # hours of sessions in a week; null: no quota is known
    min_machines: int = 1  # sold only so many at once, as a cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBand:
    """What people quote for a card, of the year named, beside the median of today's offers of one whole GPU."""

    card: str
    capacity_type: CapacityType
    year: int
    low_usd_per_gpu_hour: float
    high_usd_per_gpu_hour: float
    offers: int
    median_usd_per_gpu_hour: float | None  # null: no offer
    difference_fraction: float | None  # against the nearer edge, 0 inside the band
    verdict: str  # below, inside, above, no prices


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferPage:
    """A part of the offers found, all of one snapshot."""

    offers: tuple[ListedOffer, ...]
    total: int
    next_cursor: str | None
    filters: dict[str, Any]  # in force, defaults included
    nearest_gpus: tuple[str, ...]  # where no offer of the asked cards exists: similar cards that are offered
    snapshot_id: str
    as_of: datetime | None
    price_bands: tuple[PriceBand, ...] = ()  # for the asked cards: the usual quotes beside all of today's offers
