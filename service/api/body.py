"""Body: reads and checks the raw bytes of a request, then makes a strict request type of them.

What a JSON parser does not check comes first: size, declared type, encoding, depth, names that stand twice, numbers
out of range.
"""

import asyncio
import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from service.api.context import context_of
from service.api.faults import faults_of, pointer_of, shown
from service.api.problems import MAX_FAULTS, Refusal, fault

MAX_BODY_BYTES = 2**20
MAX_DEPTH = 64
_MAX_INT_DIGITS = 30  # far over any field's range; longer ones only cost time
_JSON_TYPE = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json", re.ASCII)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # possessive: linear on any bytes
_OPENING, _CLOSING = np.frombuffer(b"[{", dtype=np.uint8), np.frombuffer(b"]}", dtype=np.uint8)

Asked = TypeVar("Asked", bound=BaseModel)


async def read_json(request: Request, model: type[Asked]) -> Asked:
    """The body as `model`.

    Raises:
        Refusal: 413, 415, 400 (not JSON) or 422 (each fault with its pointer).
    """
    _require_json(request.headers.get("content-type", ""), request.headers.get("content-encoding", "identity"))
    return parse_json(await _read(request), model)


def parse_json(raw: bytes, model: type[Asked]) -> Asked:
    """Bytes as `model`; the same refusals as `read_json` but for the headers."""
    tree = _checked_tree(raw)
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        if any(one["type"] == "json_invalid" for one in error.errors(include_url=False, include_input=False)[:1]):
            raise Refusal("invalid-json") from None
        faults = faults_of(error, tree, model)
        raise Refusal("invalid-input", _summary(faults), faults) from None


def _summary(faults: list[dict[str, object]]) -> str:
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{first['pointer'] or 'the body'}: {first['message']}{more}"


def _require_json(content_type: str, content_encoding: str) -> None:
    kind, *parameters = (part.strip() for part in content_type.lower().split(";"))
    if not _JSON_TYPE.fullmatch(kind) or content_encoding.lower() not in ("", "identity"):
        raise Refusal("unsupported-media-type", headers={"Accept": "application/json"})
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise Refusal("unsupported-media-type", headers={"Accept": "application/json"})


async def _read(request: Request) -> bytes:
    """All bytes of the body, or 413 as soon as the limit is passed: a chunked body states no length."""
    declared = request.headers.get("content-length", "0")
    if not declared.isascii() or not declared.isdigit() or len(declared) > 15:
        raise Refusal("bad-request", "Content-Length is not a number")
    if int(declared) > MAX_BODY_BYTES:
        raise Refusal("payload-too-large", headers={"Connection": "close"})
    parts, size = [], 0
    try:
        async with asyncio.timeout(context_of(request).body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise Refusal("payload-too-large", headers={"Connection": "close"})
                parts.append(part)
    except TimeoutError:
        raise Refusal("request-timeout", headers={"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refusal("bad-request", "The body ends before its length") from None
    return b"".join(parts)


class _Doubled(dict[str, Any]):
    """An object of the body in which a name stands twice."""

    names: tuple[str, ...] = ()


class _Tree:
    """Makes the parsed tree and notes whether anything in it has to be refused."""

    def __init__(self) -> None:
        self.is_suspect = False

    def read_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        self.is_suspect = True
        seen: set[str] = set()
        doubled = _Doubled(made)
        doubled.names = tuple(dict.fromkeys(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]  # add returns None: the name is new
        return doubled

    def read_float(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            self.is_suspect = True
        return value

    def read_int(self, text: str) -> int | float:
        if len(text) <= _MAX_INT_DIGITS:
            return int(text)
        self.is_suspect = True
        return math.inf

    def read_constant(self, _name: str) -> float:
        self.is_suspect = True
        return math.nan


def _checked_tree(raw: bytes) -> Any:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise Refusal("invalid-json", "The body starts with a byte order mark: send UTF-8 without it")
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _depth(raw) > MAX_DEPTH:
        raise Refusal("invalid-json", f"The body is nested more than {MAX_DEPTH} levels deep")
    tree = _Tree()
    try:
        text = raw.decode()
        parsed = json.loads(
            text,
            object_pairs_hook=tree.read_object,
            parse_float=tree.read_float,
            parse_int=tree.read_int,
            parse_constant=tree.read_constant,
        )
    except UnicodeDecodeError as error:
        raise Refusal("invalid-json", f"The body is not UTF-8: byte {error.start} is broken") from None
    except json.JSONDecodeError as error:
        detail = (
            f"The body is not JSON: the fault is at line {error.lineno}, column {error.colno}" if raw else "The body is empty"
        )
        raise Refusal("invalid-json", detail, [fault("", "invalid_json", detail)]) from None
    if tree.is_suspect:
        faults = [entry for entry, _ in zip(_suspects(parsed, []), range(MAX_FAULTS), strict=False)]
        raise Refusal("invalid-input", _summary(faults), faults)
    return parsed


def _depth(raw: bytes) -> int:
    """The deepest nesting, counted without recursion; brackets inside strings do not count."""
    characters = np.frombuffer(_STRING.sub(b"", raw), dtype=np.uint8)
    steps = np.isin(characters, _OPENING).astype(np.int32) - np.isin(characters, _CLOSING)
    return int(np.cumsum(steps).max(initial=0))


def _suspects(node: Any, path: list[str | int]) -> Iterator[dict[str, object]]:
    """The faults of a parsed tree that pydantic would not see or would not place."""
    if isinstance(node, _Doubled):
        for name in node.names:
            yield fault(pointer_of([*path, name]), "duplicate_name", f"{shown(name)} stands twice in one object")
    if isinstance(node, float) and not math.isfinite(node):
        yield fault(pointer_of(path), "not_finite", "the number is not finite or too large")
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for part, child in children:
        yield from _suspects(child, [*path, part])


async def read_bytes(request: Request) -> bytes:
    """The body as it came, byte for byte: what a signature is over. Raises Refusal (413, 400)."""
    return await _read(request)
