"""Making, migrating and checking the schema: by code, under a lock, in one transaction."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from service.store.engine import writing
from service.store.errors import SchemaOutdated, SchemaTooNew
from service.store.revision import HEAD_REVISION, KNOWN_REVISIONS

if TYPE_CHECKING:  # a database of this version is opened without the migration library
    from alembic.config import Config

_ADVISORY_LOCK = 0x67707570  # "gpup": any number that nobody else takes in this database


def prepare_database(engine: Engine, *, migrate: bool = True) -> bool:
    """Brings the schema to this version; True when something was done. Processes that start at once migrate once.

    An empty database is always made. With `migrate` False an older one is refused.

    Raises:
        SchemaTooNew: a newer version wrote this database.
        SchemaOutdated: it is older, and `migrate` is False.
    """
    with writing(engine) as connection:
        _lock(connection)
        found = current_revision(connection)
        if found == HEAD_REVISION:
            return False
        if found is not None and not migrate:
            raise SchemaOutdated(f"the database has schema {found}, this command needs {HEAD_REVISION}: migrate it first")
        from alembic import command

        command.upgrade(_config(connection), "head")
        return True


def downgrade_database(engine: Engine, revision: str) -> None:
    """Takes the schema back to `revision` ("base" drops everything)."""
    with writing(engine) as connection:
        _lock(connection)
        current_revision(connection)
        from alembic import command

        command.downgrade(_config(connection), revision)


def current_revision(connection: Connection) -> str | None:
    """The revision of the database; None when it is empty. Raises SchemaTooNew for one that we do not know."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is not None and found not in KNOWN_REVISIONS:
        raise SchemaTooNew(f"the database has schema {found}, this command knows up to {HEAD_REVISION}: update the command")
    return found


def _lock(connection: Connection) -> None:
    """On SQLite the write lock of the transaction is enough."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})


def _config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "service.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
