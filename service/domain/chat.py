"""ChatRequest and ChatAnswer: one line of text, and what to show for it."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from service.domain.base import Request
from service.domain.plan import Plan
from service.domain.watch import PlanId

MAX_TEXT: Final = 5000  # a line has 500 characters; a longer one is told so in words up to here


class ChatRequest(Request):
    """The body of `POST /chat`."""

    text: Annotated[str, StringConstraints(max_length=MAX_TEXT)] = Field(
        description="one line of at most 500 characters, as in: cheapest 70b qlora under $3/h in EU; help lists what can be asked"
    )
    plan_id: PlanId | None = Field(
        default=None, description="the plan that explain, excluded, more and why not are about: that of an answer before"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """A line of chat, answered. `understood` false: `text` says where the line goes wrong, with a caret under it."""

    text: str
    markdown: str
    plan: Plan | None
    understood: bool
    private: bool  # holds negotiated prices: show it to the asker alone
