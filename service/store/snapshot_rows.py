"""What a snapshot is made of, read through the plain driver: a cold command imports no ORM for it."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast
from urllib.parse import unquote

from service.domain.access import ApiKey, Scope
from service.store.errors import SchemaOutdated, SchemaTooNew
from service.store.revision import HEAD_REVISION, KNOWN_REVISIONS

SQLITE_PREFIX: Final = "sqlite:///"
_STATE_FIELDS: Final = (
    "feed", "scope", "last_seen_at", "last_success_at", "last_attempt_at", "consecutive_failures", "outcome", "error",
    "detail", "offers", "rejected", "is_truncated", "interval_seconds", "refused_times",
)  # fmt: skip
_TIMES: Final = {"last_seen_at", "last_success_at", "last_attempt_at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """The row that readers poll."""

    version: int
    status_version: int
    changed_at: datetime | None
    medians_for: datetime | None
    access_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMarket:
    """All rows of one moment. `packed` holds only the blobs that the reader did not have yet."""

    at: StoredVersion
    states: tuple[Mapping[str, Any], ...]
    packed_versions: Mapping[str, int]
    packed: Mapping[str, bytes]
    medians: tuple[tuple[Any, ...], ...]  # provider, gpu, capacity type, region class, USD, low, high, days
    pools: Mapping[str, Mapping[str, Any]]
    standing: tuple[tuple[str, str, Mapping[str, Any]], ...]  # kind, name, content
    keys: Mapping[str, ApiKey]  # every API key by its public part


@contextmanager
def cold_connection(database_url: str) -> Iterator[Any]:
    """A driver connection without an engine, for one reading; the schema is checked.

    Raises:
        SchemaTooNew, SchemaOutdated: another version of this command wrote the database, or nobody yet.
    """
    if database_url.startswith(SQLITE_PREFIX):
        path = unquote(database_url.removeprefix(SQLITE_PREFIX).partition("?")[0])
        try:
            connection: Any = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=30.0, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise SchemaOutdated("there is no database yet: refresh or serve once") from error
    else:
        import psycopg

        connection = psycopg.connect(database_url.replace("postgresql+psycopg://", "postgresql://", 1))
    try:
        _check_schema(connection)
        yield connection
    finally:
        connection.close()


def read_version(connection: Any) -> StoredVersion:
    """The version row alone."""
    cursor = connection.cursor()
    cursor.execute("SELECT version, status_version, changed_at, medians_for, access_version FROM market_version WHERE id = 1")
    version, status_version, changed_at, medians_for, access_version = cursor.fetchone()
    return StoredVersion(
        version=version,
        status_version=status_version,
        changed_at=_moment(changed_at),
        medians_for=_moment(medians_for),
        access_version=access_version,
    )


def read_market(connection: Any, known: Mapping[str, int]) -> StoredMarket:
    """All rows of one moment, without the blobs whose version is `known`."""
    is_sqlite = isinstance(_driver(connection), sqlite3.Connection)
    cursor = connection.cursor()
    if is_sqlite:
        cursor.execute("BEGIN")
    else:
        connection.rollback()
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    try:
        return _read(connection, cursor, known, "?" if is_sqlite else "%s")
    finally:
        connection.rollback()


def _read(connection: Any, cursor: Any, known: Mapping[str, int], mark: str) -> StoredMarket:
    at = read_version(connection)
    cursor.execute(f"SELECT {', '.join(_STATE_FIELDS)} FROM feed_states")
    states = tuple(_state(row) for row in cursor.fetchall())
    cursor.execute("SELECT feed, version FROM packed_feeds")
    versions = dict(cursor.fetchall())
    packed: dict[str, bytes] = {}
    for feed, version in versions.items():
        if known.get(feed) != version:
            cursor.execute(f"SELECT columns FROM packed_feeds WHERE feed = {mark}", (feed,))
            packed[feed] = bytes(cursor.fetchone()[0])
    cursor.execute(
        "SELECT provider, gpu, capacity_type, region_class, usd_per_gpu_hour, low_usd_per_gpu_hour, high_usd_per_gpu_hour, days "
        "FROM price_medians"
    )
    medians = tuple(tuple(row) for row in cursor.fetchall())
    cursor.execute("SELECT name, pool FROM on_prem_pools WHERE valid_to IS NULL")
    pools = {name: _json(pool) for name, pool in cursor.fetchall()}
    cursor.execute("SELECT kind, name, content FROM standing WHERE valid_to IS NULL ORDER BY kind, name")
    standing = tuple((kind, name, _json(content)) for kind, name, content in cursor.fetchall())
    return StoredMarket(
        at=at, states=states, packed_versions=versions, packed=packed, medians=medians, pools=pools, standing=standing,
        keys=_keys(cursor),
    )  # fmt: skip


def _keys(cursor: Any) -> dict[str, ApiKey]:
    cursor.execute("SELECT key_id, name, scope, digest, created_at, expires_at, revoked_at FROM api_keys")
    found = {}
    for key_id, name, scope, digest, created_at, expires_at, revoked_at in cursor.fetchall():
        found[key_id] = ApiKey(
            key_id=key_id,
            name=name,
            scope=Scope(scope),
            digest=digest,
            created_at=cast(datetime, _moment(created_at)),
            expires_at=_moment(expires_at),
            revoked_at=_moment(revoked_at),
        )
    return found


def _check_schema(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(
        "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
        if isinstance(connection, sqlite3.Connection)
        else "SELECT to_regclass('alembic_version')"
    )
    row = cursor.fetchone()
    if row is None or row[0] is None:
        raise SchemaOutdated("the database is empty: refresh or serve once")
    cursor.execute("SELECT version_num FROM alembic_version")
    row = cursor.fetchone()
    revision = row and row[0]
    if revision not in KNOWN_REVISIONS:
        raise SchemaTooNew(f"the database has schema {revision}, this command knows up to {HEAD_REVISION}: update the command")
    if revision != HEAD_REVISION:
        raise SchemaOutdated(f"the database has schema {revision}, this command needs {HEAD_REVISION}: migrate it first")


def _driver(connection: Any) -> Any:
    """The driver's own connection inside a pool's proxy."""
    return getattr(connection, "driver_connection", connection)


def _state(row: Any) -> dict[str, Any]:
    state = dict(zip(_STATE_FIELDS, row, strict=True))
    state["rejected"] = _json(state["rejected"])
    state["is_truncated"] = bool(state["is_truncated"])
    return {name: _moment(value) if name in _TIMES else value for name, value in state.items()}


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str | bytes) else value


def _moment(value: Any) -> datetime | None:
    """SQLite keeps text without a zone, which is UTC."""
    if value is None:
        return None
    found: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
