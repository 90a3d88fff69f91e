"""Readiness: can the database be read."""

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.store.engine import reading


def database_answers(engine: Engine) -> bool:
    """True when a query comes back."""
    try:
        with reading(engine) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True
