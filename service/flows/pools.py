"""Pools: own hardware stored under a name, changed only by who has seen its present version."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256

from sqlalchemy import Engine

from providers.errors import InvalidInput, OptimizerError, UnknownGpu
from providers.gpus import select_gpus
from service.domain.request import OnPremPool
from service.store.engine import reading, writing
from service.store.errors import UnknownPool
from service.store.feeds import lock_market
from service.store.pools import delete_pool, pools_now, save_pool

RESERVED = "default"  # means the dated default box in a plan
ANY_VERSION = "*"


class PoolChanged(OptimizerError):
    """The stored pool is not the version that the caller has seen."""

    code = "pool-changed"


class VersionNotTold(OptimizerError):
    """The pool exists, and the caller did not say which version is to be replaced."""

    code = "version-not-told"


def version_of(pool: OnPremPool) -> str:
    """A name for exactly this content."""
    return sha256(pool.model_dump_json().encode()).hexdigest()[:32]


def read_pool(engine: Engine, name: str) -> OnPremPool:
    """The stored pool. Raises UnknownPool."""
    with reading(engine) as connection:
        return _found(pools_now(connection), name)


def put_pool(engine: Engine, pool: OnPremPool, *, seen: str | None, must_be_new: bool, now: datetime) -> bool:
    """Stores a pool under its name; True when there was none of that name.

    Args:
        seen: the version the caller has seen, "*" for any that exists; None: none.
        must_be_new: refuse to replace one.
    Raises:
        UnknownGpu: the card is not in the table.
        InvalidInput: the name is taken by something else.
        PoolChanged, VersionNotTold: see above.
    """
    if pool.name == RESERVED:
        raise InvalidInput(f'"{RESERVED}" means the default box: take another name', pointer="/name")
    _require_known_card(pool)
    with writing(engine) as connection:
        lock_market(connection)
        known = pools_now(connection).get(pool.name)
        _require_seen(known, seen, must_be_new=must_be_new)
        return save_pool(connection, pool, now=now)


def drop_pool(engine: Engine, name: str, *, seen: str | None, now: datetime) -> None:
    """Ends a pool; its past stays for `as_of`. Raises UnknownPool, PoolChanged, VersionNotTold."""
    with writing(engine) as connection:
        lock_market(connection)
        _require_seen(_found(pools_now(connection), name), seen, must_be_new=False)
        delete_pool(connection, name, now=now)


def _require_known_card(pool: OnPremPool) -> None:
    try:
        select_gpus(pool.gpu)
    except UnknownGpu as error:
        raise UnknownGpu(str(error), pointer="/gpu", allowed=error.allowed) from error


def _found(pools: Mapping[str, OnPremPool], name: str) -> OnPremPool:
    if name not in pools:
        raise UnknownPool("no stored pool has this name")
    return pools[name]


def _require_seen(known: OnPremPool | None, seen: str | None, *, must_be_new: bool) -> None:
    if known is None:
        if seen is not None:
            raise PoolChanged("there is no pool of this name")
        return
    if must_be_new or seen not in (None, ANY_VERSION, version_of(known)):
        raise PoolChanged("the stored pool is another version")
    if seen is None:
        raise VersionNotTold("say which version is to be replaced")
