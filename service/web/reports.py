"""Plans and reports: what was saved, newest first."""

from datetime import datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from service.flows.saved_plans import list_plans
from service.web.context import context_of
from service.web.refusals import PageRefusal
from service.web.render import page
from service.web.site import page_router

router = page_router()
PLANS_SHOWN: Final = 50


@router.get("/ui/reports")
def get_reports(request: Request) -> Response:
    """Saved plans, the newest first."""
    context = context_of(request)
    plans, more = list_plans(context.engine, owner=None, name=None, after=_after(request), limit=PLANS_SHOWN, now=context.clock())
    later = None if more is None else f"/ui/reports?before={more[0]:%Y-%m-%dT%H:%M:%S.%fZ}&id={more[1]}"
    return page(request, "reports.html", plans=plans, later=later, chosen=request.query_params.get("plan", ""))


def _after(request: Request) -> tuple[datetime, str] | None:
    before = request.query_params.get("before")
    if before is None:
        return None
    try:
        moment = datetime.fromisoformat(before)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise PageRefusal(422, "A value is refused", "The page begins at no known place.", ("/ui/reports", "Plans and reports"))
    return moment, request.query_params.get("id", "")[:100]
