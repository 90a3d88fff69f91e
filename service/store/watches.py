"""Watches and their deliveries: kept across restarts, each crossing noted once by whichever process sees it first."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import JSON, Column, Connection, Index, Text, delete, insert, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from service.store.types import UtcDateTime

PENDING, DELIVERED, GIVEN_UP = "pending", "delivered", "given_up"
CLAIMED_FOR: Final = timedelta(minutes=2)  # a process that dies while it sends: another tries again after this
SHOWN: Final = 20  # deliveries of a watch


def _json() -> Any:
    return JSON().with_variant(JSONB(), "postgresql")


class WatchRow(SQLModel, table=True):
    """One condition with the state at its last check."""

    __tablename__ = "watches"
    __table_args__: Any = (Index("ix_watches_owner", "owner", "created_at"),)

    watch_id: str = Field(primary_key=True)
    owner: str
    kind: str
    condition: Any = Field(sa_column=Column(_json(), nullable=False))
    target: Any = Field(sa_column=Column(_json(), nullable=False))
    state: str
    created_at: datetime = Field(sa_type=UtcDateTime)
    checked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class DeliveryRow(SQLModel, table=True):
    """One alarm. A pending one is tried again at `next_attempt_at`."""

    __tablename__ = "watch_deliveries"
    __table_args__: Any = (
        Index("ix_watch_deliveries_watch", "watch_id", "created_at"),
        Index("ix_watch_deliveries_due", "status", "next_attempt_at"),
    )

    delivery_id: str = Field(primary_key=True)
    watch_id: str
    text: str = Field(sa_type=Text)
    event: Any = Field(sa_column=Column(_json(), nullable=False))
    status: str = PENDING
    attempts: int = 0
    created_at: datetime = Field(sa_type=UtcDateTime)
    next_attempt_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    delivered_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    error: str | None = None


_WATCHES: Any = WatchRow.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_DELIVERIES: Any = DeliveryRow.__table__  # type: ignore[attr-defined]  # the same


def add_watch(connection: Connection, *, owner: str, kind: str, condition: Any, target: Any, state: str, now: datetime) -> str:
    """The id of a new watch."""
    watch_id = uuid4().hex[:16]
    values = {"owner": owner, "kind": kind, "condition": condition, "target": target, "state": state}
    connection.execute(insert(_WATCHES).values(watch_id=watch_id, created_at=now, checked_at=now, **values))
    return watch_id


def watches_of(connection: Connection, owner: str | None = None) -> list[dict[str, Any]]:
    """The owner's watches, newest first; all of them without an owner."""
    query = select(_WATCHES).order_by(_WATCHES.c.created_at.desc(), _WATCHES.c.watch_id)
    if owner is not None:
        query = query.where(_WATCHES.c.owner == owner)
    return [dict(row._mapping) for row in connection.execute(query)]


def deliveries_of(connection: Connection, watch_id: str) -> list[dict[str, Any]]:
    """The last alarms of a watch, newest first."""
    query = select(_DELIVERIES).where(_DELIVERIES.c.watch_id == watch_id)
    query = query.order_by(_DELIVERIES.c.created_at.desc(), _DELIVERIES.c.delivery_id).limit(SHOWN)
    return [dict(row._mapping) for row in connection.execute(query)]


def drop_watch(connection: Connection, watch_id: str, owner: str) -> bool:
    """Forgets a watch with its deliveries; False when the owner has none of this id."""
    gone = connection.execute(delete(_WATCHES).where(_WATCHES.c.watch_id == watch_id, _WATCHES.c.owner == owner)).rowcount
    if gone:
        connection.execute(delete(_DELIVERIES).where(_DELIVERIES.c.watch_id == watch_id))
    return bool(gone)


def note_state(
    connection: Connection, watch_id: str, *, before: str, after: str, now: datetime, alarm: tuple[str, Any] | None
) -> bool:
    """Moves a watch on, with its alarm; False when another process was first, and then nothing is written."""
    held = (_WATCHES.c.watch_id == watch_id) & (_WATCHES.c.state == before)
    if not connection.execute(update(_WATCHES).where(held).values(state=after, checked_at=now)).rowcount:
        return False
    if alarm is not None:
        text, event = alarm
        values = {"watch_id": watch_id, "text": text, "event": event, "status": PENDING, "attempts": 0}
        connection.execute(insert(_DELIVERIES).values(delivery_id=uuid4().hex, created_at=now, next_attempt_at=now, **values))
    return True


def claim_due(connection: Connection, *, now: datetime, most: int) -> list[dict[str, Any]]:
    """Pending alarms whose time has come, with their watch's target; nobody else gets the same ones meanwhile."""
    due = (_DELIVERIES.c.status == PENDING) & (_DELIVERIES.c.next_attempt_at <= now)
    query = select(_DELIVERIES, _WATCHES.c.target).join(_WATCHES, _WATCHES.c.watch_id == _DELIVERIES.c.watch_id).where(due)
    query = query.order_by(_DELIVERIES.c.next_attempt_at, _DELIVERIES.c.delivery_id).limit(most)
    claimed = []
    for row in connection.execute(query).all():
        found = dict(row._mapping)
        mine = due & (_DELIVERIES.c.delivery_id == found["delivery_id"])
        values = {"next_attempt_at": now + CLAIMED_FOR, "attempts": found["attempts"] + 1}
        if connection.execute(update(_DELIVERIES).where(mine).values(**values)).rowcount:
            claimed.append({**found, **values})
    return claimed


def end_attempt(
    connection: Connection, delivery_id: str, *, status: str, now: datetime, error: str | None, next_attempt_at: datetime | None
) -> None:
    """What came of an attempt."""
    done = now if status == DELIVERED else None
    values = {"status": status, "error": error, "next_attempt_at": next_attempt_at, "delivered_at": done}
    connection.execute(update(_DELIVERIES).where(_DELIVERIES.c.delivery_id == delivery_id).values(**values))
