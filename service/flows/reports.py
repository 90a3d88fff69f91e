"""Reports: ask for one, make it in the background, and hand it out; a process that dies while it works loses nothing."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine

from providers.errors import InvalidInput, OptimizerError
from service.domain.report import (
    ExchangeRate,
    ReportAccepted,
    ReportFormat,
    ReportInputs,
    ReportRequest,
    ReportSummary,
)
from service.flows.jobs import Clock
from service.flows.rates import rate_for
from service.flows.report_plans import Inline, month_of, plans_of
from service.store import jobs, plans
from service.store import reports as rows
from service.store.engine import reading, writing
from service.store.errors import UnknownJob

KIND: Final = "report"
SILENT_AFTER: Final = timedelta(seconds=60)  # a process that makes a report says that it lives after every format
MOST_ATTEMPTS: Final = 3
QUEUED, READY, FAILED = "queued", "ready", "failed"
_RATE = TypeAdapter(ExchangeRate)
Render = Callable[[ReportInputs], Iterable[tuple[ReportFormat, bytes]]]


class ReportFailed(OptimizerError):
    """The report could not be made; the message says why."""

    code = "report-failed"


class ReportConflict(OptimizerError):
    """The report is not in a state for this."""

    code = "report-conflict"


def ask_report(engine: Engine, asked: ReportRequest, inline: list[Inline], now: datetime) -> ReportAccepted:
    """Notes a report that a runner will make.

    Args:
        inline: the requests of the body as they were just planned.
    Raises:
        InvalidInput: a plan is not saved, or no rate of the currency is known.
    """
    with reading(engine) as connection:
        found = [_evaluated(connection, plan_id, at) for at, plan_id in enumerate(asked.plan_ids)]
    moments = [row["evaluated_at"] for row in found] + [one.plan.evaluated_at for one in inline]
    months = [_horizon(row) for row in found] + [one.horizon_months for one in inline]
    newest = max(moments)
    spec = {
        "title": asked.title,
        "plan_ids": list(asked.plan_ids),
        "inline": [one.kept for one in inline],
        "period": [day.isoformat() for day in _period(asked, newest)],
        "horizon_months": asked.horizon_months or max(months),
        "rate": _RATE.dump_python(rate_for(engine, asked.currency, newest.date()), mode="json"),
    }
    report_id = uuid4().hex
    with writing(engine) as connection:
        job_id = jobs.enqueue(connection, kind=KIND, subject=report_id, now=now)
        values = {"report_id": report_id, "job_id": job_id, "title": asked.title, "spec": json.dumps(spec), "status": QUEUED}
        rows.add_report(connection, {**values, "created_at": now})
    return ReportAccepted(report_id=report_id, job_id=job_id)


def _evaluated(connection: Connection, plan_id: str, at: int) -> dict[str, Any]:
    if not plans.has_plan(connection, plan_id):
        raise InvalidInput("no saved plan has this id", pointer=f"/plan_ids/{at}")
    return plans.plan_row(connection, plan_id)


def _horizon(row: Mapping[str, Any]) -> int:
    return int(json.loads(row["answer"])["request_echo"]["usage"]["horizon_months"])


def _period(asked: ReportRequest, newest: datetime) -> tuple[date, date]:
    """As asked; else the twelve months that begin after the newest plan."""
    if asked.period is not None:
        return asked.period.start, asked.period.end
    first = month_of(newest.date(), 1)
    return first, month_of(first, 12) - timedelta(days=1)


def inputs_of(engine: Engine, row: Mapping[str, Any]) -> ReportInputs:
    """What a noted report is made from: the same at every try."""
    spec = json.loads(row["spec"])
    return ReportInputs(
        title=spec["title"],
        plans=plans_of(engine, spec["plan_ids"], spec["inline"], row["created_at"]),
        period=(date.fromisoformat(spec["period"][0]), date.fromisoformat(spec["period"][1])),
        horizon_months=spec["horizon_months"],
        rate=_RATE.validate_python(spec["rate"]),
        created_at=row["created_at"],
    )


def run_next_report(engine: Engine, *, holder: str, clock: Clock, render: Render) -> str | None:
    """Makes the oldest report that waits; its job's id, None when nothing waits. A failure is told in job and report.

    What another process began and dropped is taken up again, three times at most.
    """
    with reading(engine) as connection:
        if not jobs.has_open(connection, kind=KIND):
            return None
    with writing(engine) as connection:
        now = clock()
        given_up = jobs.take_back(connection, kind=KIND, silent_since=now - SILENT_AFTER, most_attempts=MOST_ATTEMPTS, now=now)
        for job_id in given_up:
            failed = jobs.job(connection, job_id)
            rows.change_report(
                connection, failed["subject"], {"status": FAILED, "problem": failed["problem"], "finished_at": now}
            )
        claimed = jobs.claim_next(connection, kind=KIND, holder=holder, now=now)
    if claimed is None:
        return None
    job_id, report_id = str(claimed["job_id"]), str(claimed["subject"])
    try:
        done = _make(engine, job_id, report_id, clock, render)
    except OptimizerError as error:
        _end(engine, job_id, report_id, clock, problem={"code": error.code, "detail": str(error)})
    except Exception as error:
        detail = f"{type(error).__name__}: the log of the service has the rest"
        _end(engine, job_id, report_id, clock, problem={"code": "internal", "detail": detail})
        raise
    else:
        _end(engine, job_id, report_id, clock, problem=None if done else {"code": "cancelled", "detail": "the job was cancelled"})
    return job_id


def _make(engine: Engine, job_id: str, report_id: str, clock: Clock, render: Render) -> bool:
    """Writes every format; False when the job was cancelled meanwhile."""
    with reading(engine) as connection:
        row = rows.report_row(connection, report_id)
    for made, (format_, content) in enumerate(render(inputs_of(engine, row)), 1):
        with writing(engine) as connection:
            if not jobs.beat(connection, job_id, progress=made / (len(ReportFormat) + 1), now=clock()):
                return False
            rows.save_file(connection, report_id, format_.value, content)
    return True


def _end(engine: Engine, job_id: str, report_id: str, clock: Clock, *, problem: dict[str, str] | None) -> None:
    status = jobs.SUCCEEDED if problem is None else jobs.FAILED
    result = {"report_id": report_id, "formats": [one.value for one in ReportFormat]} if problem is None else None
    with writing(engine) as connection:
        now = clock()
        jobs.finish(connection, job_id, status=status, now=now, result=result, problem=problem)
        values = {"status": READY if problem is None else FAILED, "problem": problem, "finished_at": now}
        rows.change_report(connection, report_id, values)


def retry_report(engine: Engine, report_id: str, now: datetime) -> ReportAccepted:
    """Asks again for a report that failed, from the same inputs. Raises UnknownReport, ReportConflict."""
    with writing(engine) as connection:
        status, _ = _standing(connection, rows.report_row(connection, report_id))
        if status != FAILED:
            raise ReportConflict(f"the report is {status}: only one that failed is made again")
        job_id = jobs.enqueue(connection, kind=KIND, subject=report_id, now=now)
        rows.change_report(connection, report_id, {"status": QUEUED, "problem": None, "job_id": job_id, "finished_at": None})
    return ReportAccepted(report_id=report_id, job_id=job_id)


def report_file(engine: Engine, report_id: str, format_: ReportFormat) -> bytes | None:
    """A finished file; None while it is being made. Raises UnknownReport, ReportFailed."""
    with reading(engine) as connection:
        status, problem = _standing(connection, rows.report_row(connection, report_id))
        content = rows.file_of(connection, report_id, format_.value)
    if content is None and status != QUEUED:
        told = problem or {"code": "internal", "detail": "the file is missing"}
        raise ReportFailed(f"{told['detail']} ({told['code']})")
    return content


def _standing(connection: Connection, row: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Status and problem; a report whose job was cancelled before it began has failed."""
    if row["status"] != QUEUED:
        return row["status"], row["problem"]
    try:
        job = jobs.job(connection, row["job_id"])
    except UnknownJob:
        return FAILED, {"code": "interrupted", "detail": "its job is not known any more"}
    if job["status"] in (jobs.FAILED, jobs.CANCELLED):
        return FAILED, job["problem"] or {"code": "cancelled", "detail": "the job was cancelled"}
    return QUEUED, None


def list_reports(
    engine: Engine, *, after: tuple[datetime, str] | None, limit: int
) -> tuple[tuple[ReportSummary, ...], tuple[datetime, str] | None]:
    """A page of reports, the newest first, and the key that the next one begins behind."""
    with reading(engine) as connection:
        found = rows.reports_page(connection, after=after, limit=limit + 1)
        standing = [_standing(connection, row) for row in found]
    page = [{**row, "status": status, "problem": problem} for row, (status, problem) in zip(found, standing, strict=True)][:limit]
    more = (page[-1]["created_at"], page[-1]["report_id"]) if len(found) > limit else None
    return tuple(_summary(row) for row in page), more


def _summary(row: Mapping[str, Any]) -> ReportSummary:
    names = ("report_id", "job_id", "title", "status", "problem", "created_at", "finished_at")
    spec = json.loads(row["spec"])
    ids = (*spec["plan_ids"], *(one["plan_id"] for one in spec["inline"]))
    formats = tuple(ReportFormat) if row["status"] == READY else ()
    return ReportSummary(**{name: row[name] for name in names}, plan_ids=ids, formats=formats)
