"""Backup: a whole copy of an SQLite database while it is in use, and a copy taken back after it was checked."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from providers.errors import OptimizerError
from service.store.errors import SchemaTooNew
from service.store.revision import HEAD_REVISION, KNOWN_REVISIONS
from service.store.snapshot_rows import SQLITE_PREFIX

PAGES_PER_STEP = 1024  # between two steps writers go on
WAIT_SECONDS = 30.0


class NotABackup(OptimizerError):
    """The file is no whole database of this command."""

    code = "not-a-backup"


class CannotBackUp(OptimizerError):
    """This database is copied by its own tools, or the place is taken."""

    code = "cannot-back-up"


class InUse(OptimizerError):
    """A process refreshes prices in the database that would be replaced."""

    code = "database-in-use"


def backup_database(database_url: str, target: Path, *, replace: bool = False) -> int:
    """Copies the database to a file that appears whole or not at all; its size in bytes.

    Raises:
        CannotBackUp: the database is no SQLite file, there is none, or the target exists.
    """
    source = _file_of(database_url)
    if not source.is_file():
        raise CannotBackUp("there is no database yet")
    if target.exists() and not replace:
        raise CannotBackUp("the target exists: name another, or allow to replace it")
    if target.exists() and target.samefile(source):
        raise CannotBackUp("the target is the database itself")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _copy(source, unfinished)
        _check(unfinished)
        with unfinished.open("rb+") as written:
            os.fsync(written.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target.stat().st_size


def restore_database(backup: Path, database_url: str, *, replace: bool = False) -> str:
    """Puts a checked copy in the place of the database, in one transaction; the schema revision it has.

    Raises:
        NotABackup: it is damaged or no database of this command.
        SchemaTooNew: a newer version wrote it.
        CannotBackUp: there is a database already, and `replace` is False.
        InUse: a process refreshes prices in it.
    """
    target = _file_of(database_url)
    revision = _check(backup)
    if target.exists():
        if not replace:
            raise CannotBackUp("there is a database already: allow to replace it")
        _refuse_in_use(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _copy(backup, target)
    return revision


def _file_of(database_url: str) -> Path:
    if not database_url.startswith(SQLITE_PREFIX):
        raise CannotBackUp("PostgreSQL is copied by its own tools: pg_dump and pg_restore, see deploy/OPERATIONS.md")
    return Path(unquote(database_url.removeprefix(SQLITE_PREFIX).partition("?")[0]))


def _copy(source: Path, target: Path) -> None:
    with _opened(source) as origin, closing(sqlite3.connect(target, timeout=WAIT_SECONDS)) as copy:
        origin.backup(copy, pages=PAGES_PER_STEP)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=WAIT_SECONDS)
    except sqlite3.OperationalError as error:
        raise NotABackup("the file cannot be opened") from error
    with closing(connection):
        yield connection


def _check(path: Path) -> str:
    """The schema revision of a whole database of ours."""
    try:
        with _opened(path) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise NotABackup("the file is no database of this command") from error
    if found != [("ok",)] or row is None:
        raise NotABackup("the file is damaged")
    if row[0] not in KNOWN_REVISIONS:
        raise SchemaTooNew(f"the copy has schema {row[0]}, this command knows up to {HEAD_REVISION}: update the command")
    return str(row[0])


def _refuse_in_use(path: Path) -> None:
    try:
        with _opened(path) as connection:
            rows = connection.execute("SELECT expires_at FROM leases").fetchall()
    except (sqlite3.DatabaseError, NotABackup):
        return  # what is there is damaged: that is why it is replaced
    now = datetime.now(UTC).replace(tzinfo=None)
    if any(datetime.fromisoformat(expires) > now for (expires,) in rows):
        raise InUse("a service refreshes prices in this database: stop it first")
