"""`gpuplan keys`: make, list and revoke the API keys of the service."""

import re
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded
from service.domain.access import ApiKey, Scope

if TYPE_CHECKING:
    from sqlalchemy import Engine

app = typer.Typer(help="API keys: make, list and revoke them.", no_args_is_help=True)
_DURATION = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_DEFAULT_EXPIRES = "365d"


@app.command("create")
def create(
    name: Annotated[str, typer.Option(help="Whose key it is: shown in lists and in the audit log.")],
    scope: Annotated[Scope, typer.Option(help="read looks, plan also plans, admin also changes what others see.")] = Scope.PLAN,
    expires: Annotated[
        str, typer.Option(help="A time from now (12h, 90d, 8w), a date (2027-06-30) or never.")
    ] = _DEFAULT_EXPIRES,
    json_: Annotated[bool, typer.Option("--json", help="Key and record on stdout as JSON.")] = False,
) -> int:
    """Make a key and show it once: only its digest is stored."""
    from service.flows.keys import create_key

    now = datetime.now(UTC)
    ends = _expiry(expires, now)
    plain, stored = guarded(
        lambda: _with_database(lambda engine: create_key(engine, name=name, scope=scope, expires_at=ends, now=now))
    )
    if json_:
        _print_json({"key": plain, **_shown(stored, now)})
    else:
        until = "does not expire" if ends is None else f"expires {ends:%Y-%m-%d %H:%M} UTC"
        print(f"Key {stored.key_id} ({name}, scope {scope}, {until}). It is shown this once:", file=sys.stderr)
        sys.stdout.write(plain + "\n")
    return FOUND


@app.command("list")
def list_(json_: Annotated[bool, typer.Option("--json", help="The keys on stdout as JSON.")] = False) -> int:
    """List every key with its scope, state and last use; no key itself is ever shown."""
    from service.flows.keys import list_keys

    now = datetime.now(UTC)
    found = [_shown(key, now) for key in guarded(lambda: _with_database(list_keys))]
    if json_:
        _print_json(found)
        return FOUND
    from rich.markup import escape

    from service.cli.render import console, table

    made = table("ID", "NAME", "SCOPE", "STATE", "CREATED", "EXPIRES", "LAST USED")
    for one in found:
        times = (str(one[name] or "-")[:16] for name in ("created_at", "expires_at", "last_used_at"))
        made.add_row(one["key_id"], escape(one["name"]), one["scope"], one["state"], *times)
    console().print(made)
    return FOUND


@app.command("revoke")
def revoke(key_id: Annotated[str, typer.Argument(help="The id that `gpuplan keys list` shows.")]) -> int:
    """End a key at once; running services refuse it within a second or two."""
    from service.flows.keys import revoke_key

    ended: ApiKey = guarded(lambda: _with_database(lambda engine: revoke_key(engine, key_id, datetime.now(UTC))))
    print(f"Key {ended.key_id} ({ended.name}) is revoked.", file=sys.stderr)
    return FOUND


def _with_database(action: Any) -> Any:
    from service.cli.settings import settings_with
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    engine: Engine = make_engine(settings_with().database_url)
    try:
        prepare_database(engine)
        return action(engine)
    finally:
        engine.dispose()


def _expiry(text: str, now: datetime) -> datetime | None:
    if text == "never":
        return None
    if duration := _DURATION.fullmatch(text):
        return now + timedelta(**{_UNITS[duration[2]]: int(duration[1])})
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError("--expires is a time from now (12h, 90d, 8w), a date (2027-06-30) or never", code=USAGE) from None
    return day.replace(tzinfo=UTC) if day.tzinfo is None else day


def _shown(key: ApiKey, now: datetime) -> dict[str, Any]:
    state = "revoked" if key.revoked_at is not None else "valid" if key.is_valid(now) else "expired"
    times = {name: getattr(key, name) for name in ("created_at", "expires_at", "revoked_at", "last_used_at")}
    told = {name: at.isoformat(timespec="seconds") if at else None for name, at in times.items()}
    return {"key_id": key.key_id, "name": key.name, "scope": key.scope.value, "state": state, **told}


def _print_json(value: Any) -> None:
    import json

    sys.stdout.write(json.dumps(value, indent=2) + "\n")
