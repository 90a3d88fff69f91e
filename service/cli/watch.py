"""`gpuplan watch`: be told at a webhook when a price comes down, list watches, end them."""

import os
import secrets
from typing import Annotated, Any

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded

OWNER = "rest:anyone"  # whom a server that asks for no key sees


def watch(
    line: Annotated[
        list[str] | None, typer.Argument(help="What to wait for: h100 under '$2/gpu/h' in EU.", metavar="[LINE...]")
    ] = None,
    webhook: Annotated[str | None, typer.Option(help="https address that gets the alarm.")] = None,
    forget: Annotated[str | None, typer.Option(help="End the watch of this id.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="The answer on stdout as JSON.")] = False,
) -> int:
    """Keep a watch on a price; without a line, list the watches. A running server looks whenever prices change."""
    if forget is not None:
        _forget(forget)
        print(f"watch {forget} is ended")
        return FOUND
    if not line:
        return _show(_list(), as_json=json_)
    if webhook is None:
        raise CommandError("--webhook: where should the alarm go?", code=USAGE)
    made = _keep(" ".join(line), webhook)
    if json_:
        from service.cli.render import print_json

        print_json(made)
    else:
        print(f"watch {made.watch_id}: {made.state} now; alarms go to {made.target}")
        print(f"secret (told once, signs every alarm): {made.secret}")
    return FOUND


def _keep(text: str, webhook: str) -> Any:
    from service.chat.complaint import Complaint
    from service.chat.parse import parse
    from service.chat.reading import WatchReading
    from service.chat.watching import condition_of
    from service.domain.watch import Watch, WatchRequest

    try:
        reading = parse(text if text.startswith("watch ") else f"watch {text}")
    except Complaint as error:
        raise CommandError(f"{error}\n{error.caret}", code=USAGE, hint=error.advice) from error
    if not isinstance(reading, WatchReading):
        raise CommandError("this is no watch: h100 under $2/gpu/h in EU", code=USAGE)
    asked = guarded(lambda: WatchRequest(price=condition_of(reading), webhook_url=webhook))
    if url := os.environ.get("GPUPLAN_URL"):
        return _read(Watch, _remote(url).call("POST", "/watches", json=asked.model_dump(mode="json", exclude_none=True)))
    from service.chat.outgoing import checked_address
    from service.cli.local_chat import local_world
    from service.cli.market import is_absent
    from service.cli.settings import settings_with
    from service.flows.watches import Target, keep_watch

    if is_absent(settings_with().database_url):
        raise CommandError("there is no database yet to keep a watch in", hint="gpuplan refresh makes it and reads prices")
    allow_private = settings_with().chat.allow_private_webhooks
    guarded(lambda: checked_address(webhook, allow_private=allow_private))
    with local_world() as world:
        if (market := world.market()) is None:
            raise CommandError("there is no price yet", hint="gpuplan refresh reads prices")
        target = Target(kind="webhook", place=webhook, secret=secrets.token_urlsafe(32))
        return guarded(
            lambda: keep_watch(
                world.engine, asked.price, owner=OWNER, target=target, market=market, plan=world.plan, now=world.clock()
            )
        )


def _list() -> Any:
    from service.domain.watch import WatchList
    from service.flows.watches import watches

    if url := os.environ.get("GPUPLAN_URL"):
        return _read(WatchList, _remote(url).call("GET", "/watches"))
    from service.cli.local_chat import local_world

    with local_world() as world:
        return WatchList(watches=watches(world.engine, OWNER))


def _forget(watch_id: str) -> None:
    if url := os.environ.get("GPUPLAN_URL"):
        _remote(url).call("DELETE", f"/watches/{watch_id}")
        return
    from service.cli.local_chat import local_world
    from service.flows.watches import forget_watch

    with local_world() as world:
        guarded(lambda: forget_watch(world.engine, watch_id, OWNER))


def _show(found: Any, *, as_json: bool) -> int:
    from service.cli.render import console, print_json, table

    if as_json:
        print_json(found)
        return FOUND
    made = table("ID", "KIND", "STATE", "TO", "LAST ALARM")
    for one in found.watches:
        last = one.deliveries[0] if one.deliveries else None
        alarm = "-" if last is None else f"{last.status} {last.created_at:%Y-%m-%d %H:%M} {last.error or ''}".strip()
        made.add_row(one.watch_id, one.kind, one.state, one.target, alarm)
    console().print(made if found.watches else "No watches.")
    return FOUND


def _remote(url: str) -> Any:
    from service.cli.remote import RemoteMarket

    return RemoteMarket(url)


def _read(kind: Any, answer: Any) -> Any:
    import json

    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_json(json.dumps(answer))
