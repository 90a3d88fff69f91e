"""API keys: their digests, never the keys. A row is never deleted, so that a revoked key stays known."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, or_, select, update
from sqlmodel import Field, SQLModel

from service.domain.access import ApiKey, Scope
from service.store.errors import UnknownKey
from service.store.tables import MARKET_ROW, MarketVersion
from service.store.types import UtcDateTime


class ApiKeyRow(SQLModel, table=True):
    """One key by its public part."""

    __tablename__ = "api_keys"

    key_id: str = Field(primary_key=True)
    name: str
    scope: str
    digest: str
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


_KEYS: Any = ApiKeyRow.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_MARKET: Any = MarketVersion.__table__  # type: ignore[attr-defined]  # the same


def add_key(connection: Connection, key: ApiKey) -> None:
    """Stores a new key; every process sees it at its next poll."""
    values = {name: getattr(key, name) for name in ApiKeyRow.model_fields}
    connection.execute(insert(_KEYS).values(**{**values, "scope": key.scope.value}))
    _tell(connection)


def all_keys(connection: Connection) -> list[ApiKey]:
    """Every key, the revoked ones too, oldest first."""
    query = select(_KEYS).order_by(_KEYS.c.created_at, _KEYS.c.key_id)
    return [_key(dict(row._mapping)) for row in connection.execute(query)]


def revoke_key(connection: Connection, key_id: str, now: datetime) -> ApiKey:
    """Ends a key; one that was revoked before keeps its time. Raises UnknownKey."""
    query = select(_KEYS).where(_KEYS.c.key_id == key_id)
    if connection.execute(query).first() is None:
        raise UnknownKey("no API key has this id")
    is_open = (_KEYS.c.key_id == key_id) & _KEYS.c.revoked_at.is_(None)
    connection.execute(update(_KEYS).where(is_open).values(revoked_at=now))
    _tell(connection)
    return _key(dict(connection.execute(query).one()._mapping))


def note_uses(connection: Connection, uses: Mapping[str, datetime]) -> None:
    """Moves the time of last use forward. Readers need not be told."""
    for key_id, at in sorted(uses.items()):
        is_older = or_(_KEYS.c.last_used_at.is_(None), _KEYS.c.last_used_at < at)
        connection.execute(update(_KEYS).where(_KEYS.c.key_id == key_id, is_older).values(last_used_at=at))


def _tell(connection: Connection) -> None:
    """Moves the number that every process polls."""
    is_row = _MARKET.c.id == MARKET_ROW
    connection.execute(update(_MARKET).where(is_row).values(access_version=_MARKET.c.access_version + 1))


def _key(row: Mapping[str, Any]) -> ApiKey:
    return ApiKey(**{**row, "scope": Scope(row["scope"])})
