"""Providers: where the prices come from, how each one stands, what to do about it, and reading one again."""

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from service.flows.jobs import enqueue_refresh
from service.solver.market import FeedStatus
from service.web.context import context_of
from service.web.refusals import PageRefusal
from service.web.render import page
from service.web.sent import read_form
from service.web.site import page_router

router = page_router()
SEE_OTHER: Final = 303
_BACK: Final = ("/ui/providers", "Providers")
_ADVICE: Final = {
    "ok": "",
    "degraded": "Part of the last answer was refused; the last good prices stay. Read it again, or look into the log.",
    "stale": "Three refreshes were missed. Is a refreshing process running (gpuplan serve, or gpuplan worker)?",
    "failing": "The last reading failed; the last good prices stay. It is tried again by itself.",
    "never": "It was not read yet. Read it now, or wait for the first refresh.",
}


@router.get("/ui/providers")
def get_providers(request: Request) -> Response:
    """Every registered provider, the disabled ones too."""
    context = context_of(request)
    asked = request.query_params.get("asked")
    statuses = context.statuses()
    return page(
        request,
        "providers.html",
        statuses=statuses,
        advice={status.name: advice_on(status) for status in statuses},
        now=context.clock(),
        asked=asked if asked in {status.name for status in statuses} else None,
    )


@router.post("/ui/providers/{name}/refresh")
async def post_refresh(request: Request, name: str) -> Response:
    """Puts a refresh in the queue of the refreshing process."""
    await read_form(request, writes=True)
    return await run_in_threadpool(_enqueue, request, name)


def _enqueue(request: Request, name: str) -> Response:
    context = context_of(request)
    status = next((one for one in context.statuses() if one.name == name), None)
    if status is None:
        raise PageRefusal(404, "Nothing is here", "No provider has this name.", _BACK)
    if not status.enabled or status.needs_key:
        raise PageRefusal(409, "This provider is off", advice_on(status), _BACK)
    enqueue_refresh(context.engine, name, context.clock)
    return RedirectResponse(f"/ui/providers?asked={name}", status_code=SEE_OTHER)


def advice_on(status: FeedStatus) -> str:
    """What to do about the state of a provider; empty where all is well."""
    prefix = f"GPUPLAN_PROVIDERS__{status.name.upper()}__"
    if not status.enabled:
        if status.name == "price_file":
            return f"Set {prefix}PATH to your own price list and start the service again."
        return f"Set {prefix}ENABLED=true and start the service again."
    if status.needs_key:
        return f"Set {prefix}API_KEY and start the service again."
    return _ADVICE.get(status.state, "")
