"""Plans and reports: what was saved and what was made of it, newest first, and asking for a report over some plans."""

from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from providers.errors import InvalidInput
from service.domain.report import ReportRequest
from service.flows.reports import ask_report, list_reports, retry_report
from service.flows.saved_plans import list_plans
from service.web.context import WebContext, context_of
from service.web.refusals import PageRefusal
from service.web.render import page
from service.web.sent import Sent, first, read_form
from service.web.site import page_router

router = page_router()
PLANS_SHOWN: Final = 50
REPORTS_SHOWN: Final = 20
SEE_OTHER: Final = 303
CURRENCIES: Final = ("USD", "EUR", "GBP", "CHF", "JPY", "CAD", "AUD", "INR")
_BACK: Final = ("/ui/reports", "Plans and reports")
_ADVICE: Final = {
    "title": "A title has 1 to 200 characters.",
    "period": "A period has two days, the first before the last, from 2000 to 2199.",
    "plan_ids": "Choose 1 to 20 saved plans.",
    "currency": "A currency has three capital letters, as EUR.",
}


@router.get("/ui/reports")
def get_reports(request: Request) -> Response:
    """Saved plans and reports, the newest first."""
    context = context_of(request)
    plans, more = list_plans(context.engine, owner=None, name=None, after=_after(request), limit=PLANS_SHOWN, now=context.clock())
    reports, _ = list_reports(context.engine, after=None, limit=REPORTS_SHOWN)
    later = None if more is None else f"/ui/reports?before={more[0]:%Y-%m-%dT%H:%M:%S.%fZ}&id={more[1]}"
    return page(
        request,
        "reports.html",
        plans=plans,
        later=later,
        chosen=request.query_params.get("plan", ""),
        reports=reports,
        is_waiting=any(one.status == "queued" for one in reports),
        currencies=CURRENCIES,
    )


@router.post("/ui/reports")
async def post_report(request: Request) -> Response:
    """Asks for a report over the plans that were ticked."""
    sent = await read_form(request, writes=True)
    await run_in_threadpool(_ask, context_of(request), sent)
    return RedirectResponse("/ui/reports#reports", status_code=SEE_OTHER)


@router.post("/ui/reports/{report_id}/retry")
async def post_retry(request: Request, report_id: str) -> Response:
    """Asks again for a report that failed."""
    await read_form(request, writes=True)
    context = context_of(request)
    await run_in_threadpool(retry_report, context.engine, report_id[:100], context.clock())
    return RedirectResponse("/ui/reports#reports", status_code=SEE_OTHER)


def _ask(context: WebContext, sent: Sent) -> None:
    start, end = first(sent, "start"), first(sent, "end")
    asked: dict[str, Any] = {"plan_ids": sent.get("plan_ids", []), "currency": first(sent, "currency") or "USD"}
    if title := first(sent, "title"):
        asked["title"] = title
    if start or end:
        asked["period"] = {"start": start, "end": end}
    try:
        report = ReportRequest.model_validate_json(to_json(asked))
    except ValidationError as error:
        names = {str(one["loc"][0]) if one["loc"] else "plan_ids" for one in error.errors(include_url=False, include_input=False)}
        detail = " ".join(_ADVICE.get(name, "") for name in sorted(names)).strip()
        raise PageRefusal(422, "The report was not asked for", detail or "A value is refused.", _BACK) from None
    try:
        ask_report(context.engine, report, [], context.clock())
    except InvalidInput as error:
        raise PageRefusal(422, "The report was not asked for", f"{str(error)[:1].upper()}{str(error)[1:]}.", _BACK) from error


def _after(request: Request) -> tuple[datetime, str] | None:
    before = request.query_params.get("before")
    if before is None:
        return None
    try:
        moment = datetime.fromisoformat(before)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise PageRefusal(422, "A value is refused", "The page begins at no known place.", _BACK)
    return moment, request.query_params.get("id", "")[:100]
