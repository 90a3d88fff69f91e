"""`gpuplan refresh`: read the providers once, now, and show what changed."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, OUR_ERROR, USAGE, CommandError, guarded

if TYPE_CHECKING:
    from service.flows.refresh import RefreshResult

POLL_SECONDS = 0.5
GIVE_UP_SECONDS = 1800.0


def refresh(
    provider: Annotated[list[str] | None, typer.Argument(help="Which providers; none: every enabled one.")] = None,
    accept: Annotated[
        bool, typer.Option(help="Take a batch that the checks refuse (a real cut of all prices), but never an empty one.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="The results on stdout as JSON.")] = False,
) -> int:
    """Read prices once and store what changed; a failed provider keeps its last good prices."""
    if accept and not provider:
        raise CommandError("--accept names its providers: gpuplan refresh --accept NAME", code=USAGE)
    results = guarded(lambda: _refreshed(provider or [], accept=accept))
    if json_:
        import json
        import sys
        from dataclasses import asdict

        sys.stdout.write(json.dumps([{**asdict(one), "state": one.state} for one in results], indent=2) + "\n")
    else:
        _show(results)
    return FOUND if all(one.outcome in ("complete", "partial") for one in results) else OUR_ERROR


def _refreshed(names: list[str], *, accept: bool) -> "list[RefreshResult]":
    """One result per provider, in order, by this process, or by the one that refreshes already."""
    import logging

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from service.cli.settings import settings_with
    from service.logs import configure_logs
    from service.main import make_refresher, open_parts
    from service.settings import build_adapters

    settings = settings_with()
    enabled = [adapter.name for adapter in build_adapters(settings)]
    wanted = names or [name for name in enabled if not _lacks_key(settings, name)]
    if unknown := [name for name in wanted if name not in enabled]:
        raise CommandError(
            f"not enabled or not known: {len(unknown)} of the names", code=USAGE, hint=f"Enabled: {', '.join(enabled)}"
        )
    configure_logs(logging.WARNING)  # the table tells the rest
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with open_parts(settings) as parts, Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("refreshing", total=len(wanted))
        refresher = make_refresher(settings, parts)
        results = []
        for name in wanted:
            progress.update(bar, description=name)
            results.append(_by_us_or_the_leader(refresher, parts, name, accept=accept))
            progress.advance(bar)
        refresher.stop()
    return results


def _lacks_key(settings: Any, name: str) -> bool:
    from service.settings import build_adapters

    return any(adapter.name == name and adapter.missing_credentials() for adapter in build_adapters(settings))


def _by_us_or_the_leader(refresher: Any, parts: Any, name: str, *, accept: bool) -> "RefreshResult":
    from service.store.errors import LeaseLost

    try:
        result: RefreshResult = refresher.refresh_by_hand(name, accept)
        return result
    except LeaseLost:  # a server refreshes: it does the work, this command waits for it
        return _by_the_leader(parts, name, accept=accept)


def _by_the_leader(parts: Any, name: str, *, accept: bool) -> "RefreshResult":
    from service.flows.jobs import enqueue_refresh
    from service.flows.refresh import RefreshResult
    from service.main import now_utc

    job_id = enqueue_refresh(parts.engine, name, now_utc, accept=accept)
    for job in _followed(parts.engine, job_id):
        if job["status"] in ("succeeded", "failed", "cancelled"):
            if job["result"] is None:
                problem = job["problem"] or {}
                return RefreshResult(
                    feed=name, outcome="failed", error=problem.get("code", job["status"]), detail=problem.get("detail")
                )
            known = RefreshResult.__dataclass_fields__
            return RefreshResult(**{key: value for key, value in job["result"].items() if key in known})
    raise CommandError(f"{name}: the process that refreshes did not end the job in {GIVE_UP_SECONDS:.0f} s")


def _followed(engine: Any, job_id: str) -> Iterator[dict[str, Any]]:
    from service.flows.jobs import job_status

    for _ in range(int(GIVE_UP_SECONDS / POLL_SECONDS)):
        yield job_status(engine, job_id)
        time.sleep(POLL_SECONDS)


def _show(results: "list[RefreshResult]") -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    figures = ("NEW", "CHANGED", "GONE", "UNCHANGED", "OFFERS")
    made = table("PROVIDER", "STATE", *figures, "REJECTED ROWS", "WHY", right=figures)
    for one in results:
        rejected = ", ".join(f"{reason} {count}" for reason, count in sorted(one.rejected.items())) or "-"
        why = one.detail or one.error or ", ".join(f"{scope}: {code}" for scope, code in one.failed_scopes.items())
        counts = (f"{count:,}" for count in (one.new, one.changed, one.gone, one.unchanged, one.offers))
        made.add_row(one.feed, one.state, *counts, rejected, escape(why or ""))
    console().print(made)
