"""`gpuplan policy report`: which class of data each provider's tier may hold, with evidence, ages and the policy's hash."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from service.cli.exits import FOUND, USAGE, CommandError

app = typer.Typer(help="The policy table and what it admits.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Commands about the policy."""


@app.command("report")
def report(json_: Annotated[bool, typer.Option("--json", help="On stdout as JSON.")] = False) -> int:
    """Print tiers by classes: what each may hold, what it lacks, and how old its evidence is."""
    from service.cli.market import LocalMarket, open_market
    from service.solver.policy_report import policy_report

    market = open_market()
    if not isinstance(market, LocalMarket):
        raise CommandError("GPUPLAN_URL is set: run this where the service's database is", code=USAGE)
    found = policy_report(market.snapshot.market.standing, datetime.now(UTC).date())
    if json_:
        from service.cli.render import print_json

        print_json(found)
    else:
        _show(found)
    return FOUND


def _show(found: Any) -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    out = console()
    classes = list(found.tiers[0].classes)
    made = table("PROVIDER", "TIER", "ISOLATION", *(name.upper() for name in classes), "READ ON", "AGE", "PROOFS (WORDING, AGE)")
    for one in found.tiers:
        cells = [_cell(one.classes[name], one.classes_with_acceptances[name]) for name in classes]
        proofs = "; ".join(f"{proof.name} ({proof.wording}, {proof.age})" for proof in one.proofs) or "none"
        made.add_row(one.provider, one.tier, one.isolation, *cells, str(one.read_on), one.age, escape(proofs))
    out.print(made)
    out.print('"yes*": with the acceptances that are registered, where a request names them. Every class also asks for')
    out.print("what the offer itself must show (host, country); a tier that is not here holds public data only.")
    out.print(
        f"Policy {escape(found.policy)} {found.policy_version}, reviewed {found.reviewed_on}; evidence {found.evidence_version}."
    )


def _cell(alone: str, accepted: str) -> str:
    return "yes" if alone == "yes" else "yes*" if accepted == "yes" else "-"
