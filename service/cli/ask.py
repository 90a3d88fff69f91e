"""`gpuplan ask`: one line in the words of the chats, answered here or by the server."""

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, NOTHING_FITS, USAGE, CommandError

if TYPE_CHECKING:
    from service.domain.chat import ChatAnswer


def ask(
    line: Annotated[list[str], typer.Argument(help="The line; quote what holds a $, as in 'under $3/h'.", metavar="LINE...")],
    json_: Annotated[bool, typer.Option("--json", help="The answer of POST /chat on stdout.")] = False,
) -> int:
    """Answer one line of text: cheapest 70b qlora under '$3/h' in EU; explain 2; compare, breakeven, history, providers, help.

    explain, excluded, more and why not are about the last plan on this machine, for 24 hours.
    """
    from service.cli.last_plan import keep_plan

    text = " ".join(line)
    answer = _remote(url, text) if (url := os.environ.get("GPUPLAN_URL")) else _local(text)
    if answer.plan is not None:
        keep_plan(answer.plan)
    if json_:
        from service.cli.render import print_json

        print_json(answer)
    elif not answer.understood:
        raise CommandError(answer.text, code=USAGE)
    else:
        sys.stdout.write(answer.text + "\n")
    if not answer.understood:
        return USAGE
    return NOTHING_FITS if answer.plan is not None and not answer.plan.options else FOUND


def _local(text: str) -> "ChatAnswer":
    from service.chat.core import Asker, ChatCore
    from service.chat.render import chat_answer
    from service.cli.last_plan import last_plan
    from service.cli.local_chat import local_world

    with local_world() as world:
        before = last_plan()
        if before is not None:
            world.last_plans.keep("cli", before, request_of(before))
        return chat_answer(ChatCore(world).answer(text, Asker(key="cli")))


def request_of(plan: Any) -> Any:
    """The request that a plan answers."""
    from service.domain.request import PlanRequest

    return PlanRequest.model_validate(plan.request_echo, strict=False)


def _remote(url: str, text: str) -> "ChatAnswer":
    from pydantic import TypeAdapter

    from service.cli.last_plan import last_plan
    from service.cli.remote import RemoteMarket
    from service.domain.chat import ChatAnswer

    before = last_plan()
    body: dict[str, Any] = {"text": text} if before is None else {"text": text, "plan_id": before.plan_id}
    found: ChatAnswer = TypeAdapter(ChatAnswer).validate_json(json.dumps(RemoteMarket(url).call("POST", "/chat", json=body)))
    return found
