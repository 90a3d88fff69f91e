"""The tables. `valid_from` is included in an interval, `valid_to` is not; money is whole micro-dollars."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Float, Index, LargeBinary, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from service.store.types import UtcDateTime

MARKET_ROW = 1


def _json(*, none_as_null: bool = False) -> Any:
    return JSON(none_as_null=none_as_null).with_variant(JSONB(none_as_null=none_as_null), "postgresql")


class _PriceFields(SQLModel):
    """What a current price and a past one have in common; `payload` is the whole offer."""

    provider: str
    gpu: str
    gpu_count: float = Field(sa_type=Float)
    capacity_type: str
    tenancy: str
    country: str | None = None
    region: str | None = None
    scope: str
    micro_usd_per_hour: int = Field(sa_type=BigInteger)
    content_hash: str
    payload: str = Field(sa_type=Text)


class CurrentPrice(_PriceFields, table=True):
    """One row per offer that its feed still lists."""

    __tablename__ = "current_prices"

    feed: str = Field(primary_key=True)
    offer_id: str = Field(primary_key=True)
    valid_from: datetime = Field(sa_type=UtcDateTime)


class PriceHistory(_PriceFields, table=True):
    """A closed interval in which an offer was sold like this; partitioned by month of `valid_to` on PostgreSQL."""

    __tablename__ = "price_history"
    __table_args__: Any = (
        Index("ix_price_history_market", "gpu", "capacity_type", "valid_to"),
        {"postgresql_partition_by": "RANGE (valid_to)"},
    )

    feed: str = Field(primary_key=True)
    offer_id: str = Field(primary_key=True)
    valid_from: datetime = Field(sa_type=UtcDateTime, primary_key=True)
    valid_to: datetime = Field(sa_type=UtcDateTime, primary_key=True)


class FeedState(SQLModel, table=True):
    """How reading one feed goes; scope "" is the whole feed, others are its failure domains (an AWS region)."""

    __tablename__ = "feed_states"

    feed: str = Field(primary_key=True)
    scope: str = Field(primary_key=True, default="")
    last_seen_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # its stored prices were confirmed
    last_success_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_attempt_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    consecutive_failures: int = 0
    outcome: str = "never"  # of the last attempt: complete, partial, refused, failed
    error: str | None = None  # its error class
    detail: str | None = Field(default=None, sa_type=Text)
    offers: int = 0
    rejected: Any = Field(default_factory=dict, sa_column=Column(_json(), nullable=False))  # count by reason
    is_truncated: bool = False  # the provider gave less than it has
    interval_seconds: int = 300
    profile: Any = Field(default=None, sa_column=Column(_json(none_as_null=True), nullable=True))  # what the gates compare with
    refused_profile: Any = Field(default=None, sa_column=Column(_json(none_as_null=True), nullable=True))
    refused_times: int = 0  # consecutive refused batches that agree
    done_window: int | None = Field(default=None, sa_type=BigInteger)  # the last interval whose refresh is done


class FeedSighting(SQLModel, table=True):
    """A span in which a feed's prices were confirmed again and again without a gap that made them stale."""

    __tablename__ = "feed_sightings"

    feed: str = Field(primary_key=True)
    scope: str = Field(primary_key=True, default="")
    seen_from: datetime = Field(sa_type=UtcDateTime, primary_key=True)
    seen_to: datetime = Field(sa_type=UtcDateTime)


class MarketVersion(SQLModel, table=True):
    """The one row that readers poll."""

    __tablename__ = "market_version"

    id: int = Field(default=MARKET_ROW, primary_key=True)
    version: int = Field(default=0, sa_type=BigInteger)  # prices, medians or pools changed
    status_version: int = Field(default=0, sa_type=BigInteger)  # some feed was tried
    changed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    medians_for: datetime | None = Field(default=None, sa_type=UtcDateTime)  # the midnight that the medians end at
    access_version: int = Field(default=0, sa_type=BigInteger)  # API keys changed


class MarketChange(SQLModel, table=True):
    """When each version of the market began: finds the snapshot of an `as_of`."""

    __tablename__ = "market_changes"

    version: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    changed_at: datetime = Field(sa_type=UtcDateTime, unique=True)
    medians_for: datetime | None = Field(default=None, sa_type=UtcDateTime)


class PackedFeed(SQLModel, table=True):
    """A feed's current offers as one blob of columns."""

    __tablename__ = "packed_feeds"

    feed: str = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger)
    offers: int
    columns: bytes = Field(sa_type=LargeBinary)


class PriceMedianRow(SQLModel, table=True):
    """The 30-day time-weighted median and middle half of one GPU's price for an hour, where enough history exists."""

    __tablename__ = "price_medians"

    provider: str = Field(primary_key=True)
    gpu: str = Field(primary_key=True)
    capacity_type: str = Field(primary_key=True)
    region_class: str = Field(primary_key=True)
    usd_per_gpu_hour: float = Field(sa_type=Float)
    low_usd_per_gpu_hour: float = Field(sa_type=Float)
    high_usd_per_gpu_hour: float = Field(sa_type=Float)
    days: float = Field(sa_type=Float)


class Lease(SQLModel, table=True):
    """Who may write, until when, and the number that fences older holders off."""

    __tablename__ = "leases"

    name: str = Field(primary_key=True)
    holder: str
    fence: int = Field(sa_type=BigInteger)
    expires_at: datetime = Field(sa_type=UtcDateTime)


class Job(SQLModel, table=True):
    """Work that a door asked for and that a client follows."""

    __tablename__ = "jobs"
    __table_args__: Any = (Index("ix_jobs_status", "status", "created_at"),)

    job_id: str = Field(primary_key=True)
    kind: str
    subject: str
    accept: bool = False
    status: str = "queued"  # queued, running, succeeded, failed, cancelled
    progress: float = Field(default=0.0, sa_type=Float)
    result: Any = Field(default=None, sa_column=Column(_json(none_as_null=True), nullable=True))
    problem: Any = Field(default=None, sa_column=Column(_json(none_as_null=True), nullable=True))
    holder: str | None = None
    beat_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # its holder lived
    attempts: int = 0
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class OnPremPoolRow(SQLModel, table=True):
    """A version of a stored pool; the one without `valid_to` is current, older ones answer `as_of`."""

    __tablename__ = "on_prem_pools"

    name: str = Field(primary_key=True)
    valid_from: datetime = Field(sa_type=UtcDateTime, primary_key=True)
    valid_to: datetime | None = Field(default=None, sa_type=UtcDateTime)
    pool: Any = Field(sa_column=Column(_json(), nullable=False))
