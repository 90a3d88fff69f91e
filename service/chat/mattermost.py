"""Mattermost: a slash command with a shared token; the answer goes back at once as Markdown."""

from collections.abc import Mapping
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from service.chat.answer import Answer
from service.chat.core import Asker, ChatCore
from service.chat.platform import AllowList, Background, NotSigned, Reply, Unreadable, header, require_same
from service.chat.render import markdown_of
from service.flows.watches import Target

WAIT_SECONDS: Final = 20.0  # Mattermost gives up after 30
_MOST: Final = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mattermost:
    """The hook."""

    token: str
    core: ChatCore
    background: Background
    allowed: AllowList
    can_alarm: bool = False
    wait_seconds: float = WAIT_SECONDS

    def handle(self, raw: bytes, headers: Mapping[str, str]) -> Reply:
        """The answer, or the word that it takes longer.

        Raises:
            NotSigned: the token is missing or wrong.
            Unreadable: no slash command.
        """
        try:
            form = {
                name: values[0] for name, values in parse_qs(raw.decode(), keep_blank_values=True, max_num_fields=100).items()
            }
        except ValueError as error:
            raise Unreadable("the body is no form") from error
        sent = header(headers, "Authorization").removeprefix("Token ") or form.get("token", "")
        if not sent:
            raise NotSigned("the token is missing")
        require_same(sent, self.token)
        if "command" not in form:
            raise Unreadable("no slash command")
        channel, user = form.get("channel_id", ""), form.get("user_id", "")
        if not self.allowed.allows(form.get("team_id", ""), channel):
            return _words("This team or channel is not on the list of those that may ask.")
        target = Target(kind="mattermost", place=channel) if self.can_alarm else None
        asker = Asker(key=f"mattermost:{channel}:{user}", target=target)
        future = self.background.run(lambda: self.core.answer(form.get("text", ""), asker))
        if future is None:
            return _words("Too many questions at once: try again in a minute.")
        try:
            answer: Answer = future.result(timeout=self.wait_seconds)
        except TookTooLong:
            return _words("This takes longer than Mattermost waits. Send the same line again in a minute.")
        return Reply(mattermost_message(answer))


def mattermost_message(answer: Answer) -> dict[str, Any]:
    """The answer as Markdown; for the asker alone where it must be."""
    is_private = answer.is_private or answer.is_refusal
    return {"response_type": "ephemeral" if is_private else "in_channel", "text": markdown_of(answer, most=_MOST)}


def _words(text: str) -> Reply:
    return Reply({"response_type": "ephemeral", "text": text})
