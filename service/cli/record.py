"""`gpuplan record`: a scrubbed fixture from a live service, for a maintainer who has a key."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded


def record(
    provider: Annotated[str, typer.Argument(help="Which provider; its GPUPLAN_PROVIDERS__… settings hold address and key.")],
    output: Annotated[Path | None, typer.Option(help="Where to write it; default: PROVIDER_recorded.json here.")] = None,
    force: Annotated[bool, typer.Option(help="Write over a file that exists.")] = False,
) -> int:
    """Read a provider once and write its answer as a test fixture: ids, keys, people and addresses replaced, prices kept."""
    from providers.http import make_client
    from providers.registry import adapter_named
    from service.cli.settings import settings_with
    from service.flows.record import record as recorded
    from service.main import now_utc
    from service.settings import build_adapter

    kind = guarded(lambda: adapter_named(provider))
    target = output or Path(f"{kind.name}_recorded.json")
    if target.exists() and not force:
        raise CommandError(f"{target.name} exists already", code=USAGE, hint="--force writes over it, --output names another")
    adapter = guarded(lambda: build_adapter(settings_with(), kind))
    with make_client() as http:
        made = guarded(lambda: recorded(adapter, http, now_utc))
    try:
        target.write_text(made.text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{target.name} cannot be written: {type(error).__name__}") from error
    refused = ", ".join(f"{reason} {count}" for reason, count in made.rejected.items()) or "none"
    typer.echo(f"{target}: {made.offers} offers; rows that became none: {refused}")
    for scope, code in made.failed_scopes.items():
        typer.echo(f"  {scope} was not read: {code}")
    typer.echo("Look it through before it is shared: names of machines, cards and places are kept.")
    return FOUND
