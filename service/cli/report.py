"""`gpuplan report`: a budget review over saved plans, written as files."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.report import ReportRequest

PAUSE_SECONDS: Final = 0.3
GIVE_UP_AFTER_SECONDS: Final = 300.0


def report(
    plan_ids: Annotated[list[str] | None, typer.Argument(help="Saved plans by their ids.", metavar="[PLAN_ID...]")] = None,
    request: Annotated[
        list[str] | None, typer.Option("--request", help="A request as JSON that is planned now; may be repeated.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the report.")] = None,
    start: Annotated[str | None, typer.Option(help="First day of the budget period, YYYY-MM-DD.")] = None,
    end: Annotated[str | None, typer.Option(help="Its last day.")] = None,
    horizon_months: Annotated[int | None, typer.Option(help="Months of the cash flow.")] = None,
    currency: Annotated[str | None, typer.Option(help="EUR, GBP, JPY, ...; by the rate of the European Central Bank.")] = None,
    formats: Annotated[
        str, typer.Option("--format", help="Of html, pdf, xlsx, csv, md, json; by comma.")
    ] = "html,pdf,xlsx,csv,md,json",
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path(),
) -> int:
    """Write a budget review: recommendation, options, cash flow, scenarios, risks, assumptions and price evidence."""
    from service.cli.request import read_json, without_absent
    from service.domain.report import ReportFormat, ReportRequest

    wanted = [name.strip() for name in formats.split(",") if name.strip()]
    known = [one.value for one in ReportFormat]
    if unknown := [name for name in wanted if name not in known]:
        raise CommandError(f"--format: unknown {', '.join(unknown)}", code=USAGE, hint=f"One of {', '.join(known)}")
    if (start is None) != (end is None):
        raise CommandError("give --start and --end together", code=USAGE)
    body = without_absent(
        {
            "plan_ids": plan_ids,
            "requests": [read_json(path, "--request") for path in request or []],
            "title": title,
            "period": {"start": start, "end": end},
            "horizon_months": horizon_months,
            "currency": currency,
        }
    )
    asked = guarded(lambda: ReportRequest.model_validate_json(json.dumps(body)))
    files = _remote(asked, wanted) if os.environ.get("GPUPLAN_URL") else _local(asked, wanted)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files:
        (out / name).write_bytes(content)
        print(out / name)
    return FOUND


def _name(report_id: str, form: str) -> str:
    return f"gpuplan-estimate-{report_id[:8]}.{form}"


def _local(asked: "ReportRequest", wanted: list[str]) -> "list[tuple[str, bytes]]":
    from service.cli.saved import with_database
    from service.domain.report import ReportFormat
    from service.flows.reports import ask_report, report_file, run_next_report
    from service.reports.render import rendered

    def make(engine: Any) -> list[tuple[str, bytes]]:
        accepted = ask_report(engine, asked, _planned(asked), datetime.now(UTC))
        ended = time.monotonic() + GIVE_UP_AFTER_SECONDS
        forms = [ReportFormat(name) for name in wanted]
        while True:
            run_next_report(engine, holder=f"gpuplan report {os.getpid()}", clock=lambda: datetime.now(UTC), render=rendered)
            found = [(form, report_file(engine, accepted.report_id, form)) for form in forms]
            if all(content is not None for _, content in found):
                return [(_name(accepted.report_id, form.value), content or b"") for form, content in found]
            _wait(ended)  # a server on the same database makes it

    made: list[tuple[str, bytes]] = guarded(lambda: with_database(make))
    return made


def _planned(asked: "ReportRequest") -> Any:
    if not asked.requests:
        return []
    from service.cli.market import LocalMarket
    from service.cli.settings import settings_with
    from service.flows.report_plans import plan_inline

    snapshot, default = LocalMarket().snapshot, settings_with().default_sensitivity
    now = datetime.now(UTC)
    return [
        plan_inline(one, snapshot.market, pools=snapshot.pools, default_sensitivity=default, now=now) for one in asked.requests
    ]


def _remote(asked: "ReportRequest", wanted: list[str]) -> "Iterator[tuple[str, bytes]]":
    from service.cli.remote import RemoteMarket

    market = RemoteMarket(os.environ["GPUPLAN_URL"])
    body = asked.model_dump_json(exclude_unset=True)
    accepted = market.call("POST", "/reports", content=body, headers={"Content-Type": "application/json"})
    ended = time.monotonic() + GIVE_UP_AFTER_SECONDS
    while (job := market.call("GET", f"/jobs/{accepted['job_id']}"))["status"] in ("queued", "running"):
        _wait(ended)
    if job["status"] != "succeeded":
        problem = job["problem"] or {"detail": job["status"]}
        raise CommandError(f"the report could not be made: {problem['detail']}")
    for form in wanted:
        yield _name(accepted["report_id"], form), market.read("GET", f"/reports/{accepted['report_id']}.{form}")


def _wait(ended: float) -> None:
    if time.monotonic() > ended:
        raise CommandError("the report is not made after five minutes", hint="GET /jobs/{job_id} says how far it is")
    time.sleep(PAUSE_SECONDS)
