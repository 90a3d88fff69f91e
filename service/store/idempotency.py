"""Idempotency keys: what was answered to a request that may be sent twice, kept for 24 hours."""

from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import JSON, Column, Connection, Text, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Field, SQLModel

from service.store.types import UtcDateTime

KEPT: Final = timedelta(hours=24)
RUNS_AT_MOST: Final = timedelta(minutes=2)  # a process that dies while it answers: after this the key may be used again


def _json() -> Any:
    return JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


class IdempotencyKey(SQLModel, table=True):
    """One key of one route. `status` 0: the first request still runs."""

    __tablename__ = "idempotency_keys"

    scope: str = Field(primary_key=True)  # who asked and by which route
    key: str = Field(primary_key=True)
    body_hash: str
    status: int = 0
    headers: Any = Field(default=None, sa_column=Column(_json(), nullable=True))
    body: str | None = Field(default=None, sa_type=Text)
    created_at: datetime = Field(sa_type=UtcDateTime)


_KEYS: Any = IdempotencyKey.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes


def begin(connection: Connection, *, scope: str, key: str, body_hash: str, now: datetime) -> dict[str, Any] | None:
    """Takes the key for this request; else the row of the request that has it."""
    is_over = (_KEYS.c.created_at < now - KEPT) | ((_KEYS.c.status == 0) & (_KEYS.c.created_at < now - RUNS_AT_MOST))
    connection.execute(delete(_KEYS).where(is_over))
    is_row = (_KEYS.c.scope == scope) & (_KEYS.c.key == key)
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement: Any = insert(_KEYS).values(scope=scope, key=key, body_hash=body_hash, status=0, created_at=now)
    if connection.execute(statement.on_conflict_do_nothing().returning(_KEYS.c.key)).first() is not None:
        return None
    return dict(connection.execute(select(_KEYS).where(is_row)).one()._mapping)


def finish(connection: Connection, *, scope: str, key: str, status: int, headers: dict[str, str], body: str) -> None:
    """Keeps the answer."""
    is_row = (_KEYS.c.scope == scope) & (_KEYS.c.key == key)
    connection.execute(update(_KEYS).where(is_row).values(status=status, headers=headers, body=body))


def give_up(connection: Connection, *, scope: str, key: str) -> None:
    """Frees the key of a request that failed: it may be sent again."""
    connection.execute(delete(_KEYS).where(_KEYS.c.scope == scope, _KEYS.c.key == key, _KEYS.c.status == 0))
