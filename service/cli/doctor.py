"""`gpuplan doctor`: checks settings, database, providers and credentials, and says what to do about each fault."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.exits import FOUND, OUR_ERROR, CommandError

if TYPE_CHECKING:
    from service.settings import Settings

GOOD, WARNING, FAULT = "good", "warning", "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `advice` is what to do; a credential's value is never part of any field."""

    what: str
    verdict: str
    found: str
    advice: str = ""


def doctor(
    json_: Annotated[bool, typer.Option("--json", help="The findings on stdout as JSON.")] = False,
    db: Annotated[bool, typer.Option("--db", help="Also read the whole database and check its invariants.")] = False,
) -> int:
    """Check settings, database, providers and credentials (which are never printed)."""
    findings = list(_findings(with_invariants=db))
    if json_:
        import json
        from dataclasses import asdict

        sys.stdout.write(json.dumps([asdict(one) for one in findings], indent=2) + "\n")
    else:
        _show(findings)
    return OUR_ERROR if any(one.verdict == FAULT for one in findings) else FOUND


def _findings(*, with_invariants: bool = False) -> Iterator[Finding]:
    from service.cli.settings import settings_with

    yield Finding("python", GOOD, sys.version.split()[0])
    try:
        settings = settings_with()
    except CommandError as error:
        yield Finding("settings", FAULT, str(error), "unset or rename the variable, then run gpuplan doctor again")
        return
    yield Finding("settings", GOOD, f"binds {settings.host}:{settings.port}, data class {settings.default_sensitivity}")
    yield from _database(settings)
    if with_invariants:
        yield from _invariants(settings)
    yield from _providers(settings)


def _database(settings: "Settings") -> Iterator[Finding]:
    from datetime import UTC, datetime

    from service.cli.market import is_absent
    from service.flows.snapshot import load_snapshot_cold
    from service.store.errors import SchemaOutdated, SchemaTooNew

    if is_absent(settings.database_url):
        yield Finding("database", WARNING, f"{settings.database_shown} does not exist yet", "gpuplan refresh makes it")
        return
    try:
        market = load_snapshot_cold(settings.database_url, now=datetime.now(UTC)).market
    except (SchemaOutdated, SchemaTooNew) as error:
        yield Finding("database", FAULT, str(error), "gpuplan refresh migrates an older one; a newer one needs a newer gpuplan")
        return
    except Exception as error:  # noqa: BLE001 - whatever the driver raises is the finding
        yield Finding(
            "database", FAULT, f"{settings.database_shown} cannot be read ({type(error).__name__})", "is it running and ours?"
        )
        return
    as_of = f"changed last {market.as_of:%Y-%m-%d %H:%M} UTC" if market.as_of else "no prices yet"
    verdict = GOOD if market.offers else WARNING
    yield Finding(
        "database",
        verdict,
        f"{settings.database_shown}: {market.offers:,} offers, {as_of}",
        "" if market.offers else "gpuplan refresh",
    )


def _invariants(settings: "Settings") -> Iterator[Finding]:
    from service.cli.market import is_absent
    from service.flows.invariants import broken_invariants
    from service.store.engine import make_engine

    if is_absent(settings.database_url):
        return
    engine = make_engine(settings.database_url)
    try:
        broken = broken_invariants(engine)
    except Exception as error:  # noqa: BLE001 - a file that is no database raises whatever the driver has
        yield Finding("invariants", FAULT, f"cannot be checked ({type(error).__name__})", "restore a backup: gpuplan restore")
        return
    finally:
        engine.dispose()
    for one in broken:
        yield Finding(
            "invariants",
            FAULT,
            f"{one.invariant}: broken {one.count:,} times, at {one.example}",
            "restore a backup: gpuplan restore",
        )
    if not broken:
        yield Finding("invariants", GOOD, "every interval, blob, count and version agrees")


def _providers(settings: "Settings") -> Iterator[Finding]:
    from service.settings import PREFIX, build_adapters, is_enabled

    for adapter in build_adapters(settings, all_registered=True):
        what = f"provider {adapter.name}"
        variable = f"{PREFIX}PROVIDERS__{adapter.name.upper()}__"
        missing = adapter.missing_credentials()
        if not is_enabled(settings, adapter):
            turned_on = "PATH=FILE.csv" if adapter.name == "price_file" else "ENABLED=true"
            yield Finding(what, GOOD, "disabled", f"{variable}{turned_on} turns it on")
        elif missing:
            yield Finding(what, WARNING, missing, f"set it under {variable}…, or {variable}ENABLED=false")
        else:
            yield Finding(what, GOOD, "can run" + (", credentials are set" if adapter.needs_key else ", needs no credentials"))


def _show(findings: list[Finding]) -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    made = table("CHECKED", "VERDICT", "FOUND", "WHAT TO DO")
    styles = {GOOD: None, WARNING: "yellow", FAULT: "bold red"}
    for one in findings:
        made.add_row(one.what, one.verdict, escape(one.found), escape(one.advice), style=styles[one.verdict])
    console().print(made)
