"""Refresh jobs: enqueue one, follow it, cancel it, and run what waits."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine

from providers.errors import OptimizerError
from service.flows.storing import RefreshResult
from service.store import jobs
from service.store.engine import reading, writing
from service.store.errors import LeaseLost
from service.store.lease import HeldLease, check_fence

REFRESH: Final = "refresh"
Clock = Callable[[], datetime]


def enqueue_refresh(engine: Engine, feed: str, clock: Clock, *, accept: bool = False) -> str:
    """Asks the refreshing process for a refresh; the job's id."""
    with writing(engine) as connection:
        return jobs.enqueue(connection, kind=REFRESH, subject=feed, now=clock(), accept=accept)


def job_status(engine: Engine, job_id: str) -> dict[str, Any]:
    """The job for a client: {job_id, kind, subject, status, progress, result, problem, times}. Raises UnknownJob."""
    with reading(engine) as connection:
        return _shown(jobs.job(connection, job_id))


def cancel_job(engine: Engine, job_id: str, clock: Clock) -> dict[str, Any]:
    """Cancels a job that has not ended. Raises UnknownJob."""
    with writing(engine) as connection:
        return _shown(jobs.cancel(connection, job_id, now=clock()))


def take_over_jobs(engine: Engine, lease: HeldLease, clock: Clock) -> int:
    """Fails what earlier leaders left running, and forgets jobs that ended long ago."""
    with writing(engine) as connection:
        check_fence(connection, lease)
        jobs.forget_old(connection, now=clock())
        return jobs.fail_abandoned(connection, kind=REFRESH, holder=_holder(lease), now=clock())


def run_next_job(engine: Engine, lease: HeldLease, clock: Clock, refresh: Callable[[str, bool], RefreshResult]) -> str | None:
    """Runs the oldest waiting job by `refresh(feed, accept)`; its id, None when nothing waits.

    Raises:
        LeaseLost: another process leads now; it fails what is left running.
    """
    with writing(engine) as connection:
        check_fence(connection, lease)
        claimed = jobs.claim_next(connection, kind=REFRESH, holder=_holder(lease), now=clock())
    if claimed is None:
        return None
    ended: dict[str, Any]
    try:
        result = refresh(claimed["subject"], claimed["accept"])
        good = result.outcome in ("complete", "partial")
        problem = None if good else {"code": result.error, "detail": result.detail}
        ended = {"status": jobs.SUCCEEDED if good else jobs.FAILED, "result": result_shown(result), "problem": problem}
    except LeaseLost:
        raise
    except OptimizerError as error:
        ended = {"status": jobs.FAILED, "problem": {"code": error.code, "detail": str(error)}}
    except Exception:
        with writing(engine) as connection:
            jobs.finish(connection, claimed["job_id"], status=jobs.FAILED, now=clock(), problem={"code": "internal"})
        raise
    with writing(engine) as connection:
        jobs.finish(connection, claimed["job_id"], now=clock(), **ended)
    return str(claimed["job_id"])


def result_shown(result: RefreshResult) -> dict[str, Any]:
    """A refresh result as plain values."""
    return {**asdict(result), "state": result.state}


def _holder(lease: HeldLease) -> str:
    return f"{lease.holder}#{lease.fence}"


def _shown(job: Mapping[str, Any]) -> dict[str, Any]:
    names = ("job_id", "kind", "subject", "status", "progress", "result", "problem", "created_at", "started_at", "finished_at")
    return {name: job[name] for name in names}
