"""Stored on-premises pools: each change is a new version, so that `as_of` finds the pool as it was."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from service.domain.request import OnPremPool
from service.store.errors import UnknownPool
from service.store.feeds import bump_market, change_instant, lock_market
from service.store.tables import OnPremPoolRow

_POOLS: Any = OnPremPoolRow.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes


def save_pool(connection: Connection, pool: OnPremPool, *, now: datetime) -> bool:
    """Stores a pool under its name; True when there was none of that name. The same pool again changes nothing."""
    known = pools_now(connection).get(pool.name)
    if known != pool:
        _replace(connection, pool.name, pool, now)
    return known is None


def delete_pool(connection: Connection, name: str, *, now: datetime) -> None:
    """Ends a pool; its past stays. Raises UnknownPool."""
    if name not in pools_now(connection):
        raise UnknownPool("no stored pool has this name")
    _replace(connection, name, None, now)


def pools_now(connection: Connection) -> dict[str, OnPremPool]:
    """The current pools by name."""
    query = select(_POOLS.c.name, _POOLS.c.pool).where(_POOLS.c.valid_to.is_(None)).order_by(_POOLS.c.name)
    return {name: OnPremPool.model_validate(pool, strict=False) for name, pool in connection.execute(query)}


def pools_at(connection: Connection, instant: datetime) -> dict[str, OnPremPool]:
    """The pools as they were at an instant."""
    held = (_POOLS.c.valid_from <= instant) & (_POOLS.c.valid_to.is_(None) | (_POOLS.c.valid_to > instant))
    query = select(_POOLS.c.name, _POOLS.c.pool).where(held).order_by(_POOLS.c.name)
    return {name: OnPremPool.model_validate(pool, strict=False) for name, pool in connection.execute(query)}


def _replace(connection: Connection, name: str, pool: OnPremPool | None, now: datetime) -> None:
    market = lock_market(connection)
    at = change_instant(market, now)
    connection.execute(update(_POOLS).where(_POOLS.c.name == name, _POOLS.c.valid_to.is_(None)).values(valid_to=at))
    if pool is not None:
        values = pool.model_dump(mode="json", exclude_unset=True)
        connection.execute(insert(_POOLS).values(name=name, valid_from=at, valid_to=None, pool={**values, "name": name}))
    bump_market(connection, market, at=at)
