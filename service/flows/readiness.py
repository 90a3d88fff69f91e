"""Readiness: can the database be read, is somebody refreshing, and what waits."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.store.engine import reading
from service.store.jobs import open_jobs
from service.store.lease import is_held


@dataclass(frozen=True, slots=True)
class Backlog:
    """Open jobs by their status, and whether any process holds the refresher's lease."""

    jobs: dict[str, int]
    is_led: bool


def database_answers(engine: Engine) -> bool:
    """True when a query comes back."""
    try:
        with reading(engine) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True


def backlog(engine: Engine, now: datetime) -> Backlog | None:
    """What waits and who works; None when the database does not answer."""
    try:
        with reading(engine) as connection:
            return Backlog(open_jobs(connection), is_held(connection, now))
    except SQLAlchemyError:
        return None
