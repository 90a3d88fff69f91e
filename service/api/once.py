"""Once: the header Idempotency-Key of operations that change something, and the answer that was given the first time."""

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import Header
from pydantic import BaseModel
from starlette.responses import Response

from service.api.context import Context
from service.flows.idempotency import Answered, once

KEY_PROBLEMS: Final = ("idempotency-key-reused", "idempotency-key-running")
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="any word of yours: the same request sent again with it within 24 hours is answered from the first time",
    ),
]


def answered_once(context: Context, route: str, key: str | None, asked: BaseModel, answer: Callable[[], Answered]) -> Response:
    """The answer as it was given to the first request with this key; without a key, a new one.

    Raises:
        KeyReused, KeyRunning: see their names.
    """
    if key is None:
        return _response(answer())
    body = asked.model_dump_json(exclude_unset=True)
    return _response(once(context.engine, scope=route, key=key, body=body, clock=context.clock, answer=answer))


def _response(answered: Answered) -> Response:
    replayed = {"Idempotency-Replayed": "true"} if answered.is_replayed else {}
    headers = {"Cache-Control": "no-store", **answered.headers, **replayed}
    return Response(answered.body, status_code=answered.status, media_type="application/json", headers=headers)
