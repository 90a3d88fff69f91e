"""POST /chat and the hooks of the chat platforms: a line of text in, the same answer as POST /plan out."""

from collections.abc import Callable, Mapping
from typing import Annotated, Protocol

from fastapi import Path
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service.api.body import read_bytes, read_json
from service.api.context import context_of
from service.api.problems import Refusal
from service.api.routing import operation, router_of
from service.chat.core import Asker
from service.chat.doors import ChatDoors
from service.chat.platform import ChatOff, Reply
from service.chat.render import chat_answer
from service.domain.access import ANYONE
from service.domain.chat import ChatAnswer, ChatRequest
from service.domain.plan import Plan
from service.domain.watch import PlanId

router = router_of("chat")
_ANSWER = TypeAdapter(ChatAnswer)
_PLAN = TypeAdapter(Plan)


@router.post(
    "/chat",
    response_model=ChatAnswer,
    **operation("makeChatAnswer", "Answer one line of text", problems=["no-prices"], body=ChatRequest),
)
async def post_chat(request: Request) -> Response:
    """For any bot: the line in, text and Markdown to show out, with the plan behind them.

    A line that is not understood is an answer too: it says where, and what would do. Nothing is dropped or guessed.
    """
    asked = await read_json(request, ChatRequest)
    context = context_of(request)
    context.require_market()
    answer = await run_in_threadpool(
        context.require_chat().core.answer, asked.text, Asker(key=caller_key(request)), plan_id=asked.plan_id
    )
    return _json(_ANSWER.dump_json(chat_answer(answer)))


def caller_key(request: Request) -> str:
    """Whose last plan and whose watches these are: those of the key that was sent, or everybody's where none is needed."""
    caller = request.scope.get("caller", ANYONE)
    return f"rest:{caller.key_id or caller.name}"


@router.get(
    "/chat/plans/{plan_id}",
    response_model=Plan,
    **operation("getChatPlan", "Read a plan that a chat was given", problems=["not-found"]),
)
async def get_chat_plan(
    request: Request, plan_id: Annotated[PlanId, Path(examples=["0e05709e57422fcc8e215f789954d87c"])]
) -> Response:
    """The whole plan behind an answer of the last 24 hours: what the link in a chat leads to."""
    found = context_of(request).require_chat().world.find(plan_id)
    if found is None:
        raise Refusal("not-found", "No plan of the last 24 hours has this id")
    return _json(_PLAN.dump_json(found))


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json", headers={"Cache-Control": "no-store"})


class _Hook(Protocol):
    """One platform's adapter."""

    def handle(self, raw: bytes, headers: Mapping[str, str]) -> Reply:
        """The immediate reply."""


async def _hooked(request: Request, hook: Callable[[ChatDoors], _Hook | None]) -> Response:
    """Verified over the raw bytes before anything is read out of them."""
    found = hook(context_of(request).require_chat())
    if found is None:
        raise ChatOff("this chat is off: its secret is not set")
    raw = await read_bytes(request)
    reply = await run_in_threadpool(found.handle, raw, dict(request.headers))
    return JSONResponse(dict(reply.body)) if reply.body else Response(status_code=200)


@router.post("/chat/slack", include_in_schema=False)
async def post_slack(request: Request) -> Response:
    """Slash commands and buttons."""
    return await _hooked(request, lambda doors: doors.slack)


@router.post("/chat/teams", include_in_schema=False)
async def post_teams(request: Request) -> Response:
    """An outgoing webhook."""
    return await _hooked(request, lambda doors: doors.teams)


@router.post("/chat/mattermost", include_in_schema=False)
async def post_mattermost(request: Request) -> Response:
    """A slash command."""
    return await _hooked(request, lambda doors: doors.mattermost)


@router.post("/chat/discord", include_in_schema=False)
async def post_discord(request: Request) -> Response:
    """Interactions."""
    return await _hooked(request, lambda doors: doors.discord)
