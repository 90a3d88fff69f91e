"""GET and DELETE /jobs/{job_id}: follow work that takes a while, or stop it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from service.api.context import context_of
from service.api.routing import operation, router_of
from service.flows.jobs import cancel_job, job_status

router = router_of("service")
JobId = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9._-]{1,64}$",
        description="`job_id` of the answer that started it",
        examples=["5f2c1f9be3a04b7e8d6a0c4de2b19a77"],
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """One job. `problem` says why it failed: {code, detail}; `result` is what it came to."""

    job_id: str
    kind: str
    subject: str
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    progress: float
    result: dict[str, Any] | None
    problem: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


_JOB = TypeAdapter(JobAnswer)


@router.get(
    "/jobs/{job_id}", response_model=JobAnswer, **operation("getJob", "Follow a job", problems=["not-found", "unavailable"])
)
def get_job(request: Request, job_id: JobId) -> Response:
    """The job as it stands. While it has not ended, Retry-After says when to ask again. Kept for a week."""
    return job_response(job_status(context_of(request).engine, job_id))


@router.delete(
    "/jobs/{job_id}", response_model=JobAnswer, **operation("cancelJob", "Cancel a job", problems=["not-found", "unavailable"])
)
def delete_job(request: Request, job_id: JobId) -> Response:
    """Cancels a job that has not ended; one that has ended stays as it is."""
    context = context_of(request)
    return job_response(cancel_job(context.engine, job_id, context.clock))


def job_response(job: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The job as an answer, with the header that says when to ask again."""
    waits = {"Retry-After": "1"} if job["status"] in ("queued", "running") else {}
    told = {"Cache-Control": "no-store", **waits, **(headers or {})}
    return Response(_JOB.dump_json(JobAnswer(**job)), status_code=status, media_type="application/json", headers=told)
