"""Faults: what pydantic found wrong, told with JSON pointers, our stable codes and what would be accepted."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from service.api.problems import MAX_FAULTS, fault

_CODES = {
    "extra_forbidden": "unknown_field",
    "missing": "missing",
    "finite_number": "not_finite",
    "enum": "not_allowed",
    "literal_error": "not_allowed",
    "value_error": "refused",
    "string_pattern_mismatch": "wrong_format",
}
_RANGE = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of"}
_LENGTH = {"too_short", "too_long", "string_too_short", "string_too_long"}
_QUOTED = re.compile(r"'([^']*)'")
_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]")
_MAX_NAME = 64


def faults_of(error: ValidationError, body: Any, model: type[BaseModel]) -> list[dict[str, object]]:
    """The entries of `errors`, at most MAX_FAULTS, one per pointer.

    `body` is the parsed body: pydantic writes the member of a union into its path, and what the body does not hold is left out.
    """
    return _entries(error.errors(include_url=False, include_input=False)[: 4 * MAX_FAULTS], body, model, "body")


def parameter_faults(errors: Sequence[Any]) -> list[dict[str, object]]:
    """The same for query and path parameters, from FastAPI's list."""
    entries = []
    for one in errors[:MAX_FAULTS]:
        place, *path = one["loc"]
        entries.append(
            fault(pointer_of(path), _code(one["type"]), _message(one), allowed=_allowed(one), place=str(place).split(".")[0])
        )
    return entries


def pointer_of(path: Iterable[str | int]) -> str:
    """RFC 6901. A name of the sender's is cut and cleared of what does not print."""
    return "".join("/" + shown(str(part)).replace("~", "~0").replace("/", "~1") for part in path)


def shown(name: str) -> str:
    """A name as it may appear in an answer: printable and short."""
    cut = _NOT_PRINTABLE.sub("?", name[:_MAX_NAME])
    return cut + "..." if len(name) > _MAX_NAME else cut


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that resemble `name`, best first."""
    from rapidfuzz import fuzz, process  # only a refused request needs it

    return [found for found, _, _ in process.extract(name[:_MAX_NAME], list(known), scorer=fuzz.ratio, limit=3, score_cutoff=55)]


def _entries(errors: Sequence[Any], body: Any, model: type[BaseModel], place: str) -> list[dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for one in errors:
        path = list(_real_path(one["loc"], body, keep_last=one["type"] in ("missing", "extra_forbidden")))
        pointer = pointer_of(path)
        if pointer in found:
            if _message(one) not in str(found[pointer]["message"]):
                found[pointer]["message"] = f"{found[pointer]['message']}, or: {_message(one)}"
            continue
        found[pointer] = _entry(one, path, model, place)
    deepest = [entry for at, entry in found.items() if not any(other.startswith(at + "/") for other in found)]
    return deepest[:MAX_FAULTS]


def _entry(one: Any, path: list[str | int], model: type[BaseModel], place: str) -> dict[str, object]:
    pointer = pointer_of(path)
    if one["type"] == "extra_forbidden":
        near = nearest(str(path[-1]), _fields_at(model, path[:-1]))
        message = "unknown field" + (f"; did you mean {near[0]}?" if near else "")
        return fault(pointer, "unknown_field", message, allowed=near, place=place)
    return fault(pointer, _code(one["type"]), _message(one), allowed=_allowed(one), place=place)


def _real_path(loc: Sequence[str | int], body: Any, *, keep_last: bool) -> Iterator[str | int]:
    """The parts of `loc` that the body holds: the names of union members are in it too."""
    here = body
    for index, part in enumerate(loc):
        is_last = index == len(loc) - 1
        in_list = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if in_list or (isinstance(here, dict) and part in here):
            here = here[part]
            yield part
        elif is_last and keep_last:
            yield part


def _fields_at(model: type[BaseModel], path: Sequence[str | int]) -> set[str]:
    """Names of the fields that the object at `path` takes."""
    models = {model}
    for part in path:
        if isinstance(part, str):
            fields = [one.model_fields[part].annotation for one in models if part in one.model_fields]
            models = {inner for annotation in fields for inner in _models_in(annotation)}
    return {name for one in models for name in one.model_fields}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _code(kind: str) -> str:
    if kind in _RANGE:
        return "out_of_range"
    if kind in _LENGTH:
        return "wrong_length"
    if kind in _CODES:
        return _CODES[kind]
    return "wrong_type" if kind.endswith("_type") else "wrong_format"


def _message(one: Any) -> str:
    return str(one["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _allowed(one: Any) -> list[str] | None:
    expected = (one.get("ctx") or {}).get("expected")
    return _QUOTED.findall(str(expected)) or None if expected else None
