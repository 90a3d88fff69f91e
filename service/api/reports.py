"""POST /reports and what comes of it: a budget review over plans, made in the background, in six formats."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from providers.errors import InvalidInput
from service.api.body import read_json
from service.api.chat import caller_key
from service.api.context import Context, context_of
from service.api.model_names import with_model
from service.api.once import KEY_PROBLEMS, IdempotencyKey, answered_once
from service.api.paging import cursor_for, digest_of, next_link, place_of
from service.api.plans import read_place, told, write_place
from service.api.routing import operation, router_of
from service.domain.report import ReportAccepted, ReportFormat, ReportList, ReportRequest
from service.flows.idempotency import Answered
from service.flows.plan import check_request
from service.flows.report_plans import Inline, plan_inline
from service.flows.reports import ask_report, list_reports, report_file, retry_report

router = router_of("reports")
_ACCEPTED, _PAGE = TypeAdapter(ReportAccepted), TypeAdapter(ReportList)
_TYPES: Final = {
    ReportFormat.HTML: "text/html; charset=utf-8",
    ReportFormat.PDF: "application/pdf",
    ReportFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ReportFormat.CSV: "text/csv; charset=utf-8; header=present",
    ReportFormat.MD: "text/markdown; charset=utf-8",
    ReportFormat.JSON: "application/json",
}
_CONTENT: Final = {
    kind: {"schema": {"type": "string", "contentMediaType": kind}} for kind in _TYPES.values() if "json" not in kind
}
_PAGE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
ReportId = Annotated[
    str, Path(pattern=r"^[0-9a-f]{32}$", description="`report_id` of the answer", examples=["7b1d0c4e9a2f4c6d8e5f3a1b2c4d6e8f"])
]


@router.post(
    "/reports",
    response_model=ReportAccepted,
    **operation(
        "makeReport",
        "Ask for a budget review",
        problems=["unknown-model", "unknown-gpu", "no-prices", *KEY_PROBLEMS, "unavailable"],
        body=ReportRequest,
        status=202,
    ),
)
async def post_report(request: Request, idempotency_key: IdempotencyKey = None) -> Response:
    """A report over saved plans, over requests that are planned now, or over both. 202: its job is at Location.

    Recommendation, options, cash flow, scenarios, risks, assumptions and price evidence. The same plans give the same
    report, but for the stamp of its making. Amounts are in `currency`, by the last rate of the European Central Bank.
    """
    context = context_of(request)
    asked = await read_json(request, ReportRequest)
    asked = asked.model_copy(update={"requests": tuple([await with_model(one, context) for one in asked.requests])})
    route = f"POST /reports {caller_key(request)}"  # another caller's key is another key
    return await run_in_threadpool(answered_once, context, route, idempotency_key, asked, partial(_ask, context, asked))


def _ask(context: Context, asked: ReportRequest) -> Answered:
    accepted = ask_report(context.engine, asked, _planned(context, asked), context.clock())
    return _accepted(accepted)


def _planned(context: Context, asked: ReportRequest) -> list[Inline]:
    if not asked.requests:
        return []
    now, market, found = context.clock(), context.require_market(), []
    for at, one in enumerate(asked.requests):
        try:
            check_request(one, now)
            found.append(
                plan_inline(one, market, pools=context.pools(), default_sensitivity=context.default_sensitivity, now=now)
            )
        except InvalidInput as error:
            error.pointer = f"/requests/{at}{error.pointer}"
            raise
    return found


def _accepted(accepted: ReportAccepted) -> Answered:
    headers = {"Location": f"/jobs/{accepted.job_id}", "Retry-After": "1"}
    return Answered(status=202, body=_ACCEPTED.dump_json(accepted).decode(), headers=headers)


@router.post(
    "/reports/{report_id}/retry",
    response_model=ReportAccepted,
    **operation("makeReportAgain", "Make a failed report again", problems=["not-found", "conflict", "unavailable"], status=202),
)
def post_retry(request: Request, report_id: ReportId) -> Response:
    """From the same inputs, by a new job. 409 for a report that has not failed."""
    context = context_of(request)
    answered = _accepted(retry_report(context.engine, report_id, context.clock()))
    return told(answered.body.encode(), status=202, headers=dict(answered.headers))


@router.get(
    "/reports", response_model=ReportList, **operation("listReports", "List reports", problems=["invalid-cursor", "unavailable"])
)
def get_reports(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=400, description="`next_cursor` of the page before")] = None,
) -> Response:
    """Every report with its state, the newest first."""
    binding = digest_of("reports", limit)
    after = None if cursor is None else place_of(cursor, binding, read_place)
    page, more = list_reports(context_of(request).engine, after=after, limit=limit)
    found, headers = ReportList(reports=page), {}
    if more is not None:
        found = replace(found, next_cursor=cursor_for(write_place(more), binding))
        headers["Link"] = next_link(request, found.next_cursor or "")
    return told(_PAGE.dump_json(found), headers=headers)


@router.get(
    "/reports/{report_id}.{format}",
    response_class=Response,
    **operation(
        "getReport",
        "Read a report",
        problems=["not-found", "report-failed", "unavailable"],
        also={
            200: {"description": "The report, its type by its format", "content": _CONTENT},
            202: {"description": "It is still being made: Retry-After says when to ask again"},
        },
    ),
)
def get_report(
    request: Request,
    report_id: ReportId,
    format: Annotated[ReportFormat, Path(description="html, pdf, xlsx, csv, md or json", examples=["md"])],
) -> Response:
    """The report in one format. 202 with Retry-After until it is made, 409 with the reason when that failed."""
    content = report_file(context_of(request).engine, report_id, format)
    if content is None:
        return Response(status_code=202, headers={"Retry-After": "1", "Cache-Control": "no-store"})
    shown = "inline" if format in (ReportFormat.HTML, ReportFormat.PDF, ReportFormat.JSON) else "attachment"
    name = f"gpuplan-estimate-{report_id[:8]}.{format.value}"
    headers = {"Content-Disposition": f'{shown}; filename="{name}"', "Cache-Control": "private, max-age=3600"}
    if format is ReportFormat.HTML:
        headers["Content-Security-Policy"] = _PAGE_POLICY
    return Response(content, media_type=_TYPES[format], headers=headers)
