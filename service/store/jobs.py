"""Jobs: work that a door asked for, picked up by the process that refreshes, followed by a client."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, delete, func, insert, select, update

from service.store.errors import UnknownJob
from service.store.tables import Job

QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED = "queued", "running", "succeeded", "failed", "cancelled"
FINISHED: Final = (SUCCEEDED, FAILED, CANCELLED)
KEPT: Final = timedelta(days=7)
_JOBS: Any = Job.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes


def enqueue(connection: Connection, *, kind: str, subject: str, now: datetime, accept: bool = False) -> str:
    """The id of a queued job; one that already waits for the same is shared."""
    same = (_JOBS.c.kind == kind) & (_JOBS.c.subject == subject) & (_JOBS.c.accept == accept)
    waiting = connection.execute(select(_JOBS.c.job_id).where(same, _JOBS.c.status == QUEUED)).scalar()
    if waiting is not None:
        return str(waiting)
    job_id = uuid4().hex
    connection.execute(
        insert(_JOBS).values(
            job_id=job_id, kind=kind, subject=subject, accept=accept, status=QUEUED, progress=0.0, attempts=0, created_at=now
        )
    )
    return job_id


def job(connection: Connection, job_id: str) -> dict[str, Any]:
    """One job as it stands. Raises UnknownJob."""
    row = connection.execute(select(_JOBS).where(_JOBS.c.job_id == job_id)).first()
    if row is None:
        raise UnknownJob("no job has this id")
    return dict(row._mapping)


def claim_next(connection: Connection, *, kind: str, holder: str, now: datetime) -> dict[str, Any] | None:
    """The oldest queued job, now running for `holder`; None when nothing waits. No other process gets the same one."""
    query = select(_JOBS.c.job_id).where(_JOBS.c.kind == kind, _JOBS.c.status == QUEUED)
    query = query.order_by(_JOBS.c.created_at, _JOBS.c.job_id).limit(1)
    if connection.dialect.name == "postgresql":
        query = query.with_for_update(skip_locked=True)
    job_id = connection.execute(query).scalar()
    if job_id is None:
        return None
    started = {"status": RUNNING, "holder": holder, "started_at": now, "beat_at": now, "attempts": _JOBS.c.attempts + 1}
    connection.execute(update(_JOBS).where(_JOBS.c.job_id == job_id).values(**started))
    return job(connection, job_id)


def finish(connection: Connection, job_id: str, *, status: str, now: datetime, result: Any = None, problem: Any = None) -> None:
    """Ends a running job; one that was cancelled meanwhile stays cancelled."""
    connection.execute(
        update(_JOBS)
        .where(_JOBS.c.job_id == job_id, _JOBS.c.status == RUNNING)
        .values(status=status, progress=1.0, result=result, problem=problem, finished_at=now)
    )


def beat(connection: Connection, job_id: str, *, progress: float, now: datetime) -> bool:
    """Says that the job's holder lives and how far it is; False when the job is no longer to be done."""
    is_running = (_JOBS.c.job_id == job_id) & (_JOBS.c.status == RUNNING)
    return bool(connection.execute(update(_JOBS).where(is_running).values(progress=progress, beat_at=now)).rowcount)


def has_open(connection: Connection, *, kind: str) -> bool:
    """Whether any job of this kind waits or runs: a reading, so that who asks often blocks nobody."""
    is_open = (_JOBS.c.kind == kind) & _JOBS.c.status.in_([QUEUED, RUNNING])
    return connection.execute(select(_JOBS.c.job_id).where(is_open).limit(1)).first() is not None


def take_back(connection: Connection, *, kind: str, silent_since: datetime, most_attempts: int, now: datetime) -> list[str]:
    """Queues the running jobs whose holder fell silent again; fails those that were tried too often. Returns the failed."""
    silent = (_JOBS.c.kind == kind) & (_JOBS.c.status == RUNNING) & (_JOBS.c.beat_at < silent_since)
    given_up = silent & (_JOBS.c.attempts >= most_attempts)
    failed = [str(one) for one in connection.execute(select(_JOBS.c.job_id).where(given_up)).scalars()]
    problem = {"code": "interrupted", "detail": f"each of {most_attempts} processes that ran it stopped"}
    connection.execute(update(_JOBS).where(given_up).values(status=FAILED, problem=problem, finished_at=now))
    connection.execute(update(_JOBS).where(silent).values(status=QUEUED, progress=0.0, holder=None))
    return failed


def cancel(connection: Connection, job_id: str, *, now: datetime) -> dict[str, Any]:
    """Cancels a job that has not ended; an ended one stays as it is. Raises UnknownJob."""
    is_open = _JOBS.c.status.in_([QUEUED, RUNNING])
    connection.execute(update(_JOBS).where(_JOBS.c.job_id == job_id, is_open).values(status=CANCELLED, finished_at=now))
    return job(connection, job_id)


def fail_abandoned(connection: Connection, *, kind: str, holder: str, now: datetime) -> int:
    """Fails the running jobs of every other holder: the new leader knows that those processes are gone or fenced off."""
    abandoned = (_JOBS.c.kind == kind) & (_JOBS.c.status == RUNNING) & (_JOBS.c.holder != holder)
    problem = {"code": "interrupted", "detail": "the process that ran it stopped"}
    done = update(_JOBS).where(abandoned).values(status=FAILED, problem=problem, finished_at=now)
    return int(connection.execute(done).rowcount)


def open_jobs(connection: Connection) -> dict[str, int]:
    """How many jobs wait and run, by status."""
    is_open = _JOBS.c.status.in_([QUEUED, RUNNING])
    query = select(_JOBS.c.status, func.count()).where(is_open).group_by(_JOBS.c.status)
    return {str(row[0]): int(row[1]) for row in connection.execute(query)}


def forget_old(connection: Connection, *, now: datetime) -> int:
    """Drops jobs that ended a week ago."""
    is_old = _JOBS.c.status.in_(FINISHED) & (_JOBS.c.finished_at < now - KEPT)
    return int(connection.execute(delete(_JOBS).where(is_old)).rowcount)
