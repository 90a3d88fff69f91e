"""Saved plans with their events and links: the request, the exact answer, and all that it takes to solve it again."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Column, Connection, Float, Index, Text, func, insert, literal, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from service.store.errors import UnknownPlan, UnknownShare
from service.store.types import UtcDateTime


def _json() -> Any:
    return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class SavedPlanRow(SQLModel, table=True):
    """One saved plan. `request` and `answer` are text, byte for byte; `market` holds feeds and their states as then."""

    __tablename__ = "saved_plans"
    __table_args__: Any = (Index("ix_saved_plans_created", "created_at", "plan_id"), Index("ix_saved_plans_as_of", "as_of"))

    plan_id: str = Field(primary_key=True)
    name: str
    owner: str
    note: str = Field(sa_type=Text)
    state: str
    approval: Any = Field(default=None, sa_column=Column(_json(), nullable=True))
    reopened: str | None = None
    request: str = Field(sa_type=Text)
    answer: str = Field(sa_type=Text)
    hashes: Any = Field(sa_column=Column(_json(), nullable=False))
    market: Any = Field(sa_column=Column(_json(), nullable=False))
    own: Any = Field(sa_column=Column(_json(), nullable=False))  # pools as they were, with their cost
    told: Any = Field(sa_column=Column(_json(), nullable=False))  # verdict, sentence, first option: what a list shows
    solver_version: str
    evaluated_at: datetime = Field(sa_type=UtcDateTime)
    as_of: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)
    changed_at: datetime = Field(sa_type=UtcDateTime)
    refreshed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    drift_fraction: float | None = Field(default=None, sa_type=Float)


class PlanEventRow(SQLModel, table=True):
    """What happened to a plan, in order."""

    __tablename__ = "plan_events"

    plan_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    at: datetime = Field(sa_type=UtcDateTime)
    event: str
    by: str
    detail: str = Field(sa_type=Text)


class PlanShareRow(SQLModel, table=True):
    """A read-only link; its token is kept as a hash only."""

    __tablename__ = "plan_shares"
    __table_args__: Any = (Index("ix_plan_shares_plan", "plan_id", "created_at"),)

    share_id: str = Field(primary_key=True)
    plan_id: str
    token_hash: str = Field(unique=True)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


_PLANS: Any = SavedPlanRow.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_EVENTS: Any = PlanEventRow.__table__  # type: ignore[attr-defined]  # the same
_SHARES: Any = PlanShareRow.__table__  # type: ignore[attr-defined]  # the same
_LISTED = tuple(column for column in _PLANS.c if column.name not in ("request", "answer", "market", "own"))


def add_plan(connection: Connection, values: Mapping[str, Any]) -> bool:
    """Stores a plan; False when it is there, also when another process stores it at the same time."""
    insert_once = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement: Any = insert_once(_PLANS).values(**values)
    kept = statement.on_conflict_do_nothing(index_elements=["plan_id"]).returning(_PLANS.c.plan_id)
    return connection.execute(kept).first() is not None


def plan_row(connection: Connection, plan_id: str, *, lock: bool = False) -> dict[str, Any]:
    """One plan whole; `lock` holds it until the commit. Raises UnknownPlan."""
    query = select(_PLANS).where(_PLANS.c.plan_id == plan_id)
    if lock and connection.dialect.name == "postgresql":
        query = query.with_for_update()
    row = connection.execute(query).first()
    if row is None:
        raise UnknownPlan("no saved plan has this id")
    return dict(row._mapping)


def has_plan(connection: Connection, plan_id: str) -> bool:
    """Whether a plan of this id is saved."""
    return connection.execute(select(_PLANS.c.plan_id).where(_PLANS.c.plan_id == plan_id)).first() is not None


def change_plan(connection: Connection, plan_id: str, values: Mapping[str, Any]) -> None:
    """Changes fields of a plan."""
    connection.execute(update(_PLANS).where(_PLANS.c.plan_id == plan_id).values(**values))


def plans_page(
    connection: Connection, *, owner: str | None, name: str | None, after: tuple[datetime, str] | None, limit: int
) -> list[dict[str, Any]]:
    """Plans without request and answer, the newest first, behind the key `after`."""
    created, plan_id = _PLANS.c.created_at, _PLANS.c.plan_id
    query = select(*_LISTED).order_by(created.desc(), plan_id.desc()).limit(limit)
    if owner is not None:
        query = query.where(_PLANS.c.owner == owner)
    if name is not None:
        query = query.where(_PLANS.c.name == name)
    if after is not None:
        query = query.where(tuple_(created, plan_id) < tuple_(literal(after[0], created.type), literal(after[1], plan_id.type)))
    return [dict(row._mapping) for row in connection.execute(query)]


def plan_before(connection: Connection, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The plan of the same name and owner that was saved last before this one: what the last review was about."""
    same = (_PLANS.c.name == row["name"]) & (_PLANS.c.owner == row["owner"])
    earlier = same & (_PLANS.c.created_at < row["created_at"]) & (_PLANS.c.plan_id != row["plan_id"])
    found = connection.execute(select(_PLANS).where(earlier).order_by(_PLANS.c.created_at.desc()).limit(1)).first()
    return None if found is None else dict(found._mapping)


def oldest_as_of(connection: Connection) -> datetime | None:
    """The earliest instant whose prices a saved plan used; None when none is saved."""
    found: datetime | None = connection.execute(select(func.min(_PLANS.c.as_of))).scalar()
    return found


def add_event(connection: Connection, plan_id: str, *, event: str, by: str, at: datetime, detail: str = "") -> None:
    """Notes what happened; the plan's row is locked by the caller."""
    last = connection.execute(select(func.max(_EVENTS.c.number)).where(_EVENTS.c.plan_id == plan_id)).scalar()
    values = {"plan_id": plan_id, "number": (last or 0) + 1, "at": at, "event": event, "by": by, "detail": detail}
    connection.execute(insert(_EVENTS).values(**values))


def events_of(connection: Connection, plan_id: str) -> list[dict[str, Any]]:
    """The events of a plan, the first first."""
    query = select(_EVENTS).where(_EVENTS.c.plan_id == plan_id).order_by(_EVENTS.c.number)
    return [dict(row._mapping) for row in connection.execute(query)]


def add_share(connection: Connection, values: Mapping[str, Any]) -> None:
    """Stores a link."""
    connection.execute(insert(_SHARES).values(**values))


def shares_of(connection: Connection, plan_id: str) -> list[dict[str, Any]]:
    """The links of a plan, the newest first."""
    query = select(_SHARES).where(_SHARES.c.plan_id == plan_id).order_by(_SHARES.c.created_at.desc(), _SHARES.c.share_id)
    return [dict(row._mapping) for row in connection.execute(query)]


def revoke_share(connection: Connection, plan_id: str, share_id: str, *, at: datetime) -> None:
    """Ends a link now. Raises UnknownShare."""
    is_one = (_SHARES.c.plan_id == plan_id) & (_SHARES.c.share_id == share_id)
    if connection.execute(select(_SHARES.c.share_id).where(is_one)).first() is None:
        raise UnknownShare("the plan has no link of this id")
    connection.execute(update(_SHARES).where(is_one, _SHARES.c.revoked_at.is_(None)).values(revoked_at=at))


def share_by_token(connection: Connection, token_hash: str, *, at: datetime) -> dict[str, Any]:
    """The link of this token, if it still holds. Raises UnknownShare, whatever is wrong with it."""
    row = connection.execute(select(_SHARES).where(_SHARES.c.token_hash == token_hash)).first()
    if row is None or row.revoked_at is not None or row.expires_at <= at:
        raise UnknownShare("the link is not known, is over, or was revoked")
    return dict(row._mapping)
