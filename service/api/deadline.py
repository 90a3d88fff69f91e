"""Deadline: answers 503 when an operation takes longer than it may; what it still sends then is dropped."""

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.problems import Refusal, problem_response

RETRY_SECONDS: Final = "5"


class Deadline:
    """ASGI middleware inside the Gate. An answer that has begun is left alone: a long download is no slow operation."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = is_over = False
        telling: asyncio.Task[None] | None = None

        async def send_in_time(message: Message) -> None:
            nonlocal has_begun
            if not is_over:
                has_begun = True
                await send(message)

        def end() -> None:
            nonlocal is_over, telling
            if not has_begun:
                is_over = True
                refusal = Refusal("timed-out", headers={"Retry-After": RETRY_SECONDS})
                telling = asyncio.ensure_future(problem_response(refusal, scope["request_id"])(scope, receive, send))

        timer = asyncio.get_running_loop().call_later(self._seconds, end)
        try:
            await self.app(scope, receive, send_in_time)
        except Exception:
            if not is_over:
                raise
        finally:
            timer.cancel()
            if telling is not None:
                await telling
