"""`gpuplan accept`: register, list and end the documents on file that admit a provider's tier."""

import os
import sys
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

app = typer.Typer(help="Documents on file (reports, contracts) that admit a provider's tier.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The name by which requests count on it (constraints.accept).")]
AsJson = Annotated[bool, typer.Option("--json", help="On stdout as JSON.")]


@app.command("add")
def add(
    name: Name,
    provider: Annotated[str, typer.Option(help="As in the evidence: runpod, aws, ...")],
    tier: Annotated[str, typer.Option(help="As in the evidence: secure, ec2, ...")],
    attestation: Annotated[
        str, typer.Option(help="soc2_type2, iso27001, msa, hipaa_baa, pci_dss, gdpr_dpa, fedramp or export_review.")
    ],
    document: Annotated[str, typer.Option(help="Where the signed document or report is filed.")],
    approver: Annotated[str, typer.Option(help="Who answers for it.")],
    expires: Annotated[str, typer.Option(help="Its last day, YYYY-MM-DD.")],
    accepted: Annotated[str | None, typer.Option(help="Its first day; today unless said.")] = None,
    isolation: Annotated[str | None, typer.Option(help="What it promises: vm, single_tenant or confidential_vm.")] = None,
    note: Annotated[str, typer.Option()] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace the one of this name.")] = False,
) -> int:
    """Register a document for one tier. It counts between its two days, and only for requests that name it."""
    from service.cli.request import without_absent
    from service.domain.acceptance import Acceptance
    from service.flows.acceptances import put_acceptance
    from service.flows.pools import ANY_VERSION, VersionNotTold

    _only_here()
    body = without_absent(
        {
            "name": name, "provider": provider, "tier": tier, "attestation": attestation, "document": document, "note": note,
            "approver": approver, "expires_on": _day(expires, "--expires"), "isolation": isolation,
            "accepted_on": datetime.now(UTC).date() if accepted is None else _day(accepted, "--accepted"),
        }
    )  # fmt: skip
    asked = guarded(lambda: Acceptance.model_validate(body, strict=False))
    seen = ANY_VERSION if replace else None

    def put(engine: "Engine") -> bool:
        return put_acceptance(engine, asked, seen=seen, must_be_new=False, now=datetime.now(UTC))

    try:
        guarded(lambda: _with_database(put), passing=VersionNotTold)
    except VersionNotTold as error:
        raise CommandError("an acceptance of this name is registered", code=USAGE, hint="--replace replaces it") from error
    print(f"{name}: registered for {provider} {tier} until {asked.expires_on}", file=sys.stderr)
    return FOUND


@app.command("list")
def list_(json_: AsJson = False) -> int:
    """List every acceptance with its state."""
    from service.flows.acceptances import list_acceptances

    _only_here()
    today = datetime.now(UTC).date()
    found = guarded(lambda: _with_database(list_acceptances))
    rows = [{**one.model_dump(mode="json"), "counts_today": one.counts(today)} for one in found]
    if json_:
        import json

        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return FOUND
    from rich.markup import escape

    from service.cli.render import console, table

    made = table("NAME", "PROVIDER", "TIER", "ATTESTATION", "FROM", "UNTIL", "COUNTS", "APPROVER", "DOCUMENT")
    for row in rows:
        cells = [row[key] for key in ("name", "provider", "tier", "attestation", "accepted_on", "expires_on")]
        made.add_row(
            *map(escape, cells), "yes" if row["counts_today"] else "NO", escape(row["approver"]), escape(row["document"])
        )
    console().print(made)
    return FOUND


@app.command("remove")
def remove(name: Name) -> int:
    """End an acceptance from now on; plans of the past still find it."""
    from service.flows.acceptances import drop_acceptance
    from service.flows.pools import ANY_VERSION

    _only_here()
    guarded(lambda: _with_database(lambda engine: drop_acceptance(engine, name, seen=ANY_VERSION, now=datetime.now(UTC))))
    print(f"{name}: ended", file=sys.stderr)
    return FOUND


def _only_here() -> None:
    """Acceptances of a server are changed through its REST door, where the key is checked and the change audited."""
    if os.environ.get("GPUPLAN_URL"):
        raise CommandError("GPUPLAN_URL is set: use PUT /acceptances/{name} of that server", code=USAGE)


def _day(text: str, option: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{option} is a day, YYYY-MM-DD", code=USAGE) from None


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
