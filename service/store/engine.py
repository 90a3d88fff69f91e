"""Engines for SQLite and PostgreSQL: one file with many readers and one writer at a time, or a server."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.pool import QueuePool

BUSY_TIMEOUT_SECONDS = 30.0
_BEGIN = "gpuplan_begin"
# A cut network sends no word: without these a query would wait for hours, and with it a refresher that must give up.
_NOTICES_A_CUT = {
    "connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000,
}  # fmt: skip


def make_engine(database_url: str) -> Engine:
    """An engine with the pragmas and the pool that its database needs; it opens no connection yet."""
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        return _sqlite(database_url)
    # Prepared statements break behind a pooler that shares server sessions between transactions.
    connect = {"prepare_threshold": None, **_NOTICES_A_CUT}
    return create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20, pool_timeout=10, connect_args=connect)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One writing transaction: on SQLite it takes the write lock at once, so that it never fails half-way for a lock."""
    with engine.connect().execution_options(**{_BEGIN: "IMMEDIATE"}) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One reading transaction: all its queries see the same state."""
    level = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with engine.connect().execution_options(**level) as connection, connection.begin():
        yield connection


def _sqlite(database_url: str) -> Engine:
    path = make_url(database_url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        database_url,
        poolclass=QueuePool,
        pool_size=20,
        max_overflow=40,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_SECONDS},
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself: _begin says how
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = NORMAL")
    _use_wal(cursor)
    cursor.close()


def _use_wal(cursor: Any) -> None:
    """The first switch to WAL takes an exclusive lock for which SQLite does not wait by itself."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get(_BEGIN, 'DEFERRED')}")
