"""`gpuplan plans`: list saved plans, read one, and solve it again on the prices of now."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, CommandError, guarded

if TYPE_CHECKING:
    from sqlalchemy import Engine

app = typer.Typer(help="Plans that are kept: list, read, solve again and compare.", no_args_is_help=True)
PlanId = Annotated[str, typer.Argument(help="plan_id of the answer.")]
AsJson = Annotated[bool, typer.Option("--json", help="The answer of the REST door, as JSON on stdout.")]


@app.command("list")
def list_(
    owner: Annotated[str | None, typer.Option(help="Only of this owner.")] = None,
    limit: Annotated[int, typer.Option(help="How many, 1 to 200.", min=1, max=200)] = 50,
    json_: AsJson = False,
) -> int:
    """Saved plans, the newest first."""
    from service.domain.saved import SavedPlanList

    def local(engine: "Engine") -> SavedPlanList:
        from service.flows.saved_plans import list_plans

        page, _ = list_plans(engine, owner=owner, name=None, after=None, limit=limit, now=datetime.now(UTC))
        return SavedPlanList(plans=page)

    query = {"limit": str(limit), **({"owner": owner} if owner else {})}
    found: SavedPlanList = _asked("GET", "/plans", SavedPlanList, local, params=query)
    if json_:
        return _json(found)
    from rich.markup import escape

    from service.cli.render import about, console, table

    made = table("PLAN", "NAME", "OWNER", "STATE", "SAVED", "RECOMMENDED", "USD", "DRIFT", right=("USD", "DRIFT"))
    for one in found.plans:
        total = "" if one.ranking_usd is None else f"{about(one.ranking_usd)} {(one.ranking_period or '').replace('_', ' ')}"
        drift = "" if one.drift_fraction is None else f"{one.drift_fraction:+.1%}"
        cells = (one.plan_id, escape(one.name), escape(one.owner), one.state.value, f"{one.created_at:%Y-%m-%d %H:%M}")
        made.add_row(*cells, escape(one.recommended or "nothing fits"), total, drift)
    console().print(made)
    return FOUND


@app.command("show")
def show(plan_id: PlanId, json_: AsJson = False) -> int:
    """The plan as it was answered, with its approval and what happened to it."""
    from service.domain.saved import SavedPlan
    from service.flows.saved_plans import read_plan

    path = f"/plans/{_id(plan_id)}"
    found: SavedPlan = _asked("GET", path, SavedPlan, lambda engine: read_plan(engine, plan_id, datetime.now(UTC)))
    if json_:
        return _json(found)
    from rich.markup import escape

    from service.cli.plan_view import show_plan
    from service.cli.render import console

    out = console()
    out.print(f"[bold]{escape(found.name)}[/bold] ({escape(found.owner)}): {found.state.value}")
    if found.note:
        out.print(escape(found.note))
    if found.approval is not None:
        given = found.approval
        out.print(f"approved by {escape(given.by)} up to ${given.limit_usd:,.2f} until {given.valid_until:%Y-%m-%d}")
    if found.reopened:
        out.print(f"reopened: {escape(found.reopened)}")
    show_plan(found.answer)
    for event in found.events:
        out.print(f"{event.at:%Y-%m-%d %H:%M} {event.event} {escape(event.by)} {escape(event.detail)}", style="dim")
    return FOUND


@app.command("refresh")
def refresh(plan_id: PlanId, json_: AsJson = False) -> int:
    """Solve it again, at its own snapshot and on the prices of now, and say what changed."""
    from service.domain.saved import RefreshedPlan

    found: RefreshedPlan = _asked("POST", f"/plans/{_id(plan_id)}/refresh", RefreshedPlan, lambda engine: _again(engine, plan_id))
    if json_:
        return _json(found)
    from rich.markup import escape

    from service.cli.render import console, usd

    out, change = console(), found.change
    out.print(escape(f"At its own snapshot: {found.at_snapshot.explained}"))
    out.print(escape(f"On the prices of now: {change.explained}"))
    if change.difference_usd is not None:
        parts = (("price", change.price_usd), ("volume", change.volume_usd), ("mix", change.mix_usd))
        out.print(", ".join(f"{name} {usd(amount or 0.0)}" for name, amount in parts) + f" ({change.period.replace('_', ' ')})")
    out.print(f"{found.state.value}{f': reopened. {escape(found.reopened)}' if found.reopened else ''}")
    return FOUND


def _again(engine: "Engine", plan_id: str) -> Any:
    from service.cli.market import LocalMarket
    from service.flows.plan_refresh import Today, refresh_plan

    snapshot = LocalMarket().snapshot
    return refresh_plan(engine, plan_id, Today(market=snapshot.market, pools=snapshot.pools), datetime.now(UTC))


def _asked(method: str, path: str, kind: type, local: Callable[["Engine"], Any], **how: Any) -> Any:
    """The answer of the server that GPUPLAN_URL names, else of the database of this machine."""
    if url := os.environ.get("GPUPLAN_URL"):
        from pydantic import TypeAdapter

        from service.cli.remote import RemoteMarket

        return TypeAdapter(kind).validate_python(RemoteMarket(url).call(method, path, **how))
    return guarded(lambda: with_database(local))


def with_database(work: Callable[["Engine"], Any]) -> Any:
    """What `work` returns on the database of this machine. Raises CommandError when there is none yet."""
    from service.cli.market import is_absent
    from service.cli.settings import settings_with
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    url = settings_with().database_url
    if is_absent(url):
        raise CommandError("there is no database yet to keep plans in", hint="gpuplan refresh makes it and reads prices")
    engine = make_engine(url)
    try:
        prepare_database(engine)
        return work(engine)
    finally:
        engine.dispose()


def _id(text: str) -> str:
    """A plan's id as it may stand in a path."""
    return "".join(character for character in text if character.isalnum() or character in "-_")[:64]


def _json(answer: Any) -> int:
    from service.cli.render import print_json

    print_json(answer)
    return FOUND
