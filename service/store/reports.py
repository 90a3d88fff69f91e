"""Reports: what was asked, how far it is, and the finished files; and exchange rates, each with its day."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from sqlalchemy import JSON, Column, Connection, Date, Float, Index, LargeBinary, Text, insert, literal, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Field, SQLModel

from service.store.errors import UnknownReport
from service.store.types import UtcDateTime


def _json() -> Any:
    return JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


class ReportRow(SQLModel, table=True):
    """One report. `spec` is what was asked, with the plans' ids settled."""

    __tablename__ = "reports"
    __table_args__: Any = (Index("ix_reports_created", "created_at", "report_id"),)

    report_id: str = Field(primary_key=True)
    job_id: str  # of the last try
    title: str = Field(sa_type=Text)
    spec: str = Field(sa_type=Text)
    status: str = "queued"  # queued, ready, failed
    problem: Any = Field(default=None, sa_column=Column(_json(), nullable=True))
    created_at: datetime = Field(sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class ReportFileRow(SQLModel, table=True):
    """A finished report in one format."""

    __tablename__ = "report_files"

    report_id: str = Field(primary_key=True)
    format: str = Field(primary_key=True)
    content: bytes = Field(sa_type=LargeBinary)


class ExchangeRateRow(SQLModel, table=True):
    """What one euro was worth on a day, as the European Central Bank published it."""

    __tablename__ = "exchange_rates"

    currency: str = Field(primary_key=True)
    day: date = Field(sa_type=Date, primary_key=True)
    per_euro: float = Field(sa_type=Float)


_REPORTS: Any = ReportRow.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_FILES: Any = ReportFileRow.__table__  # type: ignore[attr-defined]  # the same
_RATES: Any = ExchangeRateRow.__table__  # type: ignore[attr-defined]  # the same


def add_report(connection: Connection, values: Mapping[str, Any]) -> None:
    """Stores a report that is asked for."""
    connection.execute(insert(_REPORTS).values(**values))


def report_row(connection: Connection, report_id: str) -> dict[str, Any]:
    """One report. Raises UnknownReport."""
    row = connection.execute(select(_REPORTS).where(_REPORTS.c.report_id == report_id)).first()
    if row is None:
        raise UnknownReport("no report has this id")
    return dict(row._mapping)


def change_report(connection: Connection, report_id: str, values: Mapping[str, Any]) -> None:
    """Changes fields of a report."""
    connection.execute(update(_REPORTS).where(_REPORTS.c.report_id == report_id).values(**values))


def reports_page(connection: Connection, *, after: tuple[datetime, str] | None, limit: int) -> list[dict[str, Any]]:
    """Reports, the newest first, behind the key `after`."""
    created, report_id = _REPORTS.c.created_at, _REPORTS.c.report_id
    query = select(_REPORTS).order_by(created.desc(), report_id.desc()).limit(limit)
    if after is not None:
        key = tuple_(literal(after[0], created.type), literal(after[1], report_id.type))
        query = query.where(tuple_(created, report_id) < key)
    return [dict(row._mapping) for row in connection.execute(query)]


def save_file(connection: Connection, report_id: str, format_: str, content: bytes) -> None:
    """Stores a finished file; a second try replaces it."""
    insert_or_update = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement: Any = insert_or_update(_FILES).values(report_id=report_id, format=format_, content=content)
    connection.execute(statement.on_conflict_do_update(index_elements=["report_id", "format"], set_={"content": content}))


def file_of(connection: Connection, report_id: str, format_: str) -> bytes | None:
    """A finished file; None when it is not there."""
    is_file = (_FILES.c.report_id == report_id) & (_FILES.c.format == format_)
    found = connection.execute(select(_FILES.c.content).where(is_file)).scalar()
    return None if found is None else bytes(found)


def save_rates(connection: Connection, day: date, per_euro: Mapping[str, float]) -> None:
    """Stores the rates of a day; a second reading replaces them."""
    insert_or_update = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    for currency, rate in sorted(per_euro.items()):
        statement: Any = insert_or_update(_RATES).values(currency=currency, day=day, per_euro=rate)
        connection.execute(statement.on_conflict_do_update(index_elements=["currency", "day"], set_={"per_euro": rate}))


def rate_on(connection: Connection, currency: str, day: date) -> tuple[date, float] | None:
    """The last stored rate of a currency on or before a day."""
    query = select(_RATES.c.day, _RATES.c.per_euro).where(_RATES.c.currency == currency, _RATES.c.day <= day)
    row = connection.execute(query.order_by(_RATES.c.day.desc()).limit(1)).first()
    return None if row is None else (row.day, float(row.per_euro))
