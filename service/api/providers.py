"""GET /providers and POST /providers/{name}/refresh: where prices come from, and asking to read one of them again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from service.api.context import Context, context_of
from service.api.faults import nearest
from service.api.jobs import JobAnswer, job_response
from service.api.problems import Refusal, fault
from service.api.routing import operation, router_of
from service.flows.jobs import enqueue_refresh, job_status
from service.solver.market import FeedStatus

router = router_of("providers")
ProviderName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="a name of GET /providers", examples=["reference"])
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where the prices of one adapter stand. `state`: ok, degraded, stale, failing, disabled, needs_key or never."""

    name: str
    enabled: bool
    needs_key: bool  # it reads nothing until credentials are set
    state: str
    last_success_at: datetime | None
    offers: int
    rejected: int
    error: str | None  # the class of the last failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderList:
    """Every registered adapter, the disabled ones too."""

    providers: tuple[Provider, ...]


@router.get("/providers", response_model=ProviderList, **operation("listProviders", "List the providers and their state"))
async def list_providers(request: Request) -> ProviderList:
    """Every adapter, whether it is enabled, when it was last read, and what came of it.

    A failed, partial or absurd refresh leaves the last good prices in use; the state then says so.
    """
    return ProviderList(providers=tuple(_shown(status) for status in context_of(request).statuses()))


@router.post(
    "/providers/{name}/refresh",
    response_model=JobAnswer,
    **operation(
        "refreshProvider",
        "Read a provider again",
        problems=["not-found", "provider-disabled", "provider-needs-key", "unavailable"],
        status=202,
    ),
)
def refresh_provider(request: Request, name: ProviderName) -> Response:
    """Puts a refresh in the queue of the refreshing process; Location names the job to follow.

    A refresh of the same provider that already waits is shared. Prices are replaced only by a batch that passes the gates.
    """
    context = context_of(request)
    _require_ready(context, name)
    job_id = enqueue_refresh(context.engine, name, context.clock)
    return job_response(job_status(context.engine, job_id), status=202, headers={"Location": f"/jobs/{job_id}"})


def _require_ready(context: Context, name: str) -> None:
    by_name = {status.name: status for status in context.statuses()}
    status = by_name.get(name)
    if status is None:
        near = nearest(name, by_name)
        raise Refusal(
            "not-found", "No provider has this name", [fault("/name", "not_found", "unknown", allowed=near, place="path")]
        )
    if not status.enabled:
        raise Refusal("provider-disabled")
    if status.needs_key:
        raise Refusal("provider-needs-key")


def _shown(status: FeedStatus) -> Provider:
    return Provider(
        name=status.name,
        enabled=status.enabled,
        needs_key=status.needs_key,
        state=status.state,
        last_success_at=status.last_success_at,
        offers=status.offers,
        rejected=status.rejected,
        error=status.error,
    )
