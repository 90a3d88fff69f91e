"""From command-line options to the body of `POST /plan`: the same names, the same checks."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.cli.exits import USAGE, CommandError, guarded
from service.domain.request import PlanRequest


def read_json(path: str, option: str) -> Any:
    """The JSON in a file, or on standard input for "-"."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        return json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{option}: the file cannot be read ({type(error).__name__})", code=USAGE) from error
    except json.JSONDecodeError as error:
        raise CommandError(f"{option}: not JSON, line {error.lineno} column {error.colno}", code=USAGE) from error


def on_prem_entries(values: list[str]) -> list[Any]:
    """`--on-prem` takes "default", a stored pool's name, or a JSON object or @FILE with the pool's fields."""
    entries: list[Any] = []
    for value in values:
        if value.startswith("@"):
            entries.append(read_json(value[1:], "--on-prem"))
        elif value.lstrip().startswith("{"):
            try:
                entries.append(json.loads(value))
            except json.JSONDecodeError as error:
                raise CommandError(f"--on-prem: not JSON, column {error.colno}", code=USAGE) from error
        else:
            entries.append(value)
    return entries


def without_absent(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same without absent values and empty parts: an option not given is a field not sent."""
    kept: dict[str, Any] = {}
    for name, value in body.items():
        inner = without_absent(value) if isinstance(value, Mapping) else value
        if inner is not None and inner != {} and inner != []:
            kept[name] = inner
    return kept


def plan_request(body: Mapping[str, Any]) -> PlanRequest:
    """The checked request. Raises CommandError (usage) that names each refused field."""
    text = json.dumps(body, allow_nan=False)
    checked: PlanRequest = guarded(lambda: PlanRequest.model_validate_json(text))
    return checked
