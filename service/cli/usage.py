"""`gpuplan usage`: measure how much own pools are used, import it from a file, list what is known."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

app = typer.Typer(help="Measured use of own pools: what jobs hold, and what engines do.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="On stdout as JSON.")]


@app.command("measure")
def measure_(pool: Annotated[str, typer.Argument(help="The pool's name.")], json_: AsJson = False) -> int:
    """Measure one pool now on the Prometheus server of the settings, and keep it."""
    from providers.http import make_client
    from service.cli.settings import settings_with
    from service.flows.usage import keep_use, measure

    now, settings = datetime.now(UTC), settings_with().prometheus
    with make_client() as http:
        use = guarded(lambda: measure(http, settings, pool, now=now))
    guarded(lambda: _with_database(lambda engine: keep_use(engine, use, now=now)))
    return _told([use], json_)


@app.command("import")
def import_(
    file: Annotated[str, typer.Argument(help="CSV: pool, window_start, window_end, allocated_fraction, active_fraction, gpus.")],
    json_: AsJson = False,
) -> int:
    """Import measured shares; of each pool the newest window counts."""
    from service.cli.evaluate import rows_of
    from service.flows.usage import COLUMNS, keep_use, uses_of_rows

    now = datetime.now(UTC)
    rows = rows_of(file, needed=COLUMNS)
    name = "standard input" if file == "-" else Path(file).name
    uses = guarded(lambda: uses_of_rows(rows, source=f"file {name}"[:200], now=now))
    kept = guarded(lambda: _with_database(lambda engine: [use for use in uses if keep_use(engine, use, now=now)]))
    if len(kept) < len(uses):
        print(f"{len(uses) - len(kept)} older than what is known: left out", file=sys.stderr)
    return _told(kept, json_)


@app.command("list")
def list_(json_: AsJson = False) -> int:
    """List the newest measurement of every pool."""
    from service.flows.usage import list_uses

    return _told(guarded(lambda: _with_database(list_uses)), json_)


def _told(uses: list[Any], as_json: bool) -> int:
    if as_json:
        import json

        sys.stdout.write(json.dumps([use.model_dump(mode="json") for use in uses], indent=2) + "\n")
        return FOUND
    from rich.markup import escape

    from service.cli.render import console, table

    figures = ("ALLOCATED %", "ACTIVE %", "GPUS")
    made = table("POOL", *figures, "FROM", "TO", "SOURCE", right=figures)
    for use in uses:
        shares = ("-" if one is None else f"{100 * one:.1f}" for one in (use.allocated_fraction, use.active_fraction))
        window = (f"{one:%Y-%m-%d %H:%M}" for one in (use.window_start, use.window_end))
        made.add_row(use.pool, *shares, str(use.gpus or "-"), *window, escape(use.source))
    console().print(made)
    return FOUND


def _with_database(work: "Callable[[Engine], Any]") -> Any:
    from service.cli.settings import settings_with
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    engine = make_engine(settings_with().database_url)
    try:
        prepare_database(engine)
        return work(engine)
    finally:
        engine.dispose()
