"""What stands beside the prices: each change is a new version, so that `as_of` finds it as it was."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import JSON, Column, Connection, insert, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

from service.store.feeds import bump_market, change_instant, lock_market
from service.store.types import UtcDateTime

ACCEPTANCE: Final = "acceptance"
POLICY: Final = "policy"
MEASURED: Final = "measured"
Entry = tuple[str, str, Mapping[str, Any]]  # kind, name, content


class StandingRow(SQLModel, table=True):
    """A version of one entry; the one without `valid_to` is current."""

    __tablename__ = "standing"

    kind: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    valid_from: datetime = Field(sa_type=UtcDateTime, primary_key=True)
    valid_to: datetime | None = Field(default=None, sa_type=UtcDateTime)
    content: Any = Field(sa_column=Column(JSON().with_variant(JSONB(), "postgresql"), nullable=False))


_ROWS: Any = StandingRow.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes


def entries_now(connection: Connection, kind: str | None = None) -> list[Entry]:
    """The current entries, of one kind or of all."""
    query = select(_ROWS.c.kind, _ROWS.c.name, _ROWS.c.content).where(_ROWS.c.valid_to.is_(None))
    if kind is not None:
        query = query.where(_ROWS.c.kind == kind)
    return [tuple(row) for row in connection.execute(query.order_by(_ROWS.c.kind, _ROWS.c.name))]


def entries_at(connection: Connection, instant: datetime) -> list[Entry]:
    """The entries as they were at an instant."""
    held = (_ROWS.c.valid_from <= instant) & (_ROWS.c.valid_to.is_(None) | (_ROWS.c.valid_to > instant))
    query = select(_ROWS.c.kind, _ROWS.c.name, _ROWS.c.content).where(held).order_by(_ROWS.c.kind, _ROWS.c.name)
    return [tuple(row) for row in connection.execute(query)]


def put_entry(connection: Connection, kind: str, name: str, content: Mapping[str, Any] | None, *, now: datetime) -> bool:
    """Stores an entry, or ends it with None; True when there was none. The same content again changes nothing."""
    market = lock_market(connection)
    is_current = (_ROWS.c.kind == kind) & (_ROWS.c.name == name) & _ROWS.c.valid_to.is_(None)
    known = connection.execute(select(_ROWS.c.content).where(is_current)).scalar_one_or_none()
    if known == content:
        return False
    at = change_instant(market, now)
    connection.execute(update(_ROWS).where(is_current).values(valid_to=at))
    if content is not None:
        connection.execute(insert(_ROWS).values(kind=kind, name=name, valid_from=at, valid_to=None, content=dict(content)))
    bump_market(connection, market, at=at)
    return known is None
