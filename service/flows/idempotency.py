"""Idempotency: a request with a key is done once, however often it is sent within 24 hours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from sqlalchemy import Engine

from providers.errors import OptimizerError
from service.flows.jobs import Clock
from service.store import idempotency as rows
from service.store.engine import writing


class KeyReused(OptimizerError):
    """The key came with another body before."""

    code = "idempotency-key-reused"


class KeyRunning(OptimizerError):
    """The first request with this key is still being answered."""

    code = "idempotency-key-running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer as it is sent, and sent again."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
    is_replayed: bool = False


def once(engine: Engine, *, scope: str, key: str, body: str, clock: Clock, answer: Callable[[], Answered]) -> Answered:
    """The answer of the first request with this key; a request that fails frees it.

    Args:
        scope: who asks, and by which route: keys of others do not meet.
        body: what was asked, in one writing.
    Raises:
        KeyReused: the key was used for another body.
        KeyRunning: the first request is not answered yet.
    """
    asked = sha256(body.encode()).hexdigest()
    with writing(engine) as connection:
        known = rows.begin(connection, scope=scope, key=key, body_hash=asked, now=clock())
    if known is not None:
        if known["body_hash"] != asked:
            raise KeyReused("the key was used for another request")
        if known["status"] == 0:
            raise KeyRunning("the first request with this key is not answered yet")
        return Answered(status=known["status"], body=known["body"], headers=known["headers"], is_replayed=True)
    try:
        made = answer()
    except BaseException:
        with writing(engine) as connection:
            rows.give_up(connection, scope=scope, key=key)
        raise
    with writing(engine) as connection:
        rows.finish(connection, scope=scope, key=key, status=made.status, headers=dict(made.headers), body=made.body)
    return made
