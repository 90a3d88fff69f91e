"""Teams: an outgoing webhook; its HMAC is over the raw bytes, and the Adaptive Card goes back in the same answer."""

import base64
import binascii
import hmac
import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from service.chat.answer import Answer
from service.chat.core import Asker, ChatCore
from service.chat.platform import (
    WINDOW_SECONDS,
    AllowList,
    Background,
    NotSigned,
    Reply,
    Unreadable,
    header,
    require_same,
)
from service.chat.render import aligned, cut, fitting, inert
from service.flows.watches import Target

WAIT_SECONDS: Final = 4.0  # Teams gives up after 5
CARD: Final = "application/vnd.microsoft.card.adaptive"
_MOST_IN_CARD: Final = 12_000
_MENTION: Final = re.compile(r"<at[^>]{0,200}>[^<]{0,200}</at>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?(?:p|div|span|br)\s?/?>|&nbsp;", re.IGNORECASE)
_TOO_LONG: Final = "This takes longer than Teams waits. Send the same line again in a minute."
_PRIVATE: Final = (
    "This answer holds negotiated prices, and everybody in a channel would see it: ask by POST /chat or in a terminal."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams:
    """The hook. `secret` is the base64 text that Teams shows once."""

    secret: str
    core: ChatCore
    background: Background
    clock: Callable[[], datetime]
    allowed: AllowList
    can_alarm: bool = False
    wait_seconds: float = WAIT_SECONDS

    def handle(self, raw: bytes, headers: Mapping[str, str]) -> Reply:
        """The answer as a card, or the word that it takes longer.

        Raises:
            NotSigned: not from the team's webhook, or too old.
            Unreadable: no message.
        """
        self._verify(raw, headers)
        try:
            message = json.loads(raw)
            text, user = str(message["text"]), str(message["from"]["id"])
            channel = str(message["conversation"]["id"]).split(";")[0]
            tenant = str(((message.get("channelData") or {}).get("tenant") or {}).get("id", ""))
            sent = message.get("timestamp")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Unreadable("the message has another shape") from error
        self._require_recent(sent)
        if not self.allowed.allows(tenant, channel):
            return _words("This tenant or channel is not on the list of those that may ask.")
        line = _TAG.sub(" ", _MENTION.sub(" ", text)).strip()
        asker = Asker(key=f"teams:{channel}:{user}", target=Target(kind="teams", place=channel) if self.can_alarm else None)
        future = self.background.run(lambda: self.core.answer(line, asker))
        if future is None:
            return _words("Too many questions at once: try again in a minute.")
        try:
            answer: Answer = future.result(timeout=self.wait_seconds)
        except TookTooLong:
            return _words(_TOO_LONG)
        return _words(_PRIVATE) if answer.is_private else Reply(teams_message(answer))

    def _verify(self, raw: bytes, headers: Mapping[str, str]) -> None:
        given = header(headers, "Authorization")
        if not given.startswith("HMAC "):
            raise NotSigned("the signature is missing")
        try:
            key = base64.b64decode(self.secret, validate=True)
        except binascii.Error as error:
            raise NotSigned("the webhook's secret is no base64 text") from error
        require_same(given, "HMAC " + base64.b64encode(hmac.new(key, raw, sha256).digest()).decode())

    def _require_recent(self, sent: Any) -> None:
        """The signature covers this time, so that an old message cannot be sent again."""
        try:
            moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(sent)))
            seconds = abs((self.clock() - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))).total_seconds())
        except (ValueError, OverflowError) as error:
            raise NotSigned("the message has no time") from error
        if seconds > WINDOW_SECONDS:
            raise NotSigned("the message is more than five minutes old")


def teams_message(answer: Answer) -> dict[str, Any]:
    """A message with one card."""
    return {"type": "message", "text": inert(answer.title), "attachments": [{"contentType": CARD, "content": card_of(answer)}]}


def card_of(answer: Answer) -> dict[str, Any]:
    """The answer as an Adaptive Card; tables as monospaced text, since older clients show no others."""
    parts = [f"Read as: {answer.reading}"] if answer.reading else []
    body: list[dict[str, Any]] = [_block(answer.title, weight="Bolder", size="Medium")]
    body += [_block(line) for line in fitting([*parts, *answer.lines], _MOST_IN_CARD // 3)]
    grid = answer.block.split("\n") if answer.block else []
    grid += [line for table in answer.tables for line in aligned(table)]
    body += [_block(line, fontType="Monospace", wrap=False, spacing="None") for line in fitting(grid, _MOST_IN_CARD // 2)]
    body += [_block(note, isSubtle=True, size="Small") for note in fitting(answer.notes, _MOST_IN_CARD // 6)]
    card: dict[str, Any] = {"type": "AdaptiveCard", "version": "1.4", "body": body}
    if answer.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "All of it", "url": answer.link}]
    return card


def _block(text: str, **style: Any) -> dict[str, Any]:
    """A text that Teams' Markdown leaves as it is."""
    safe = re.sub(r"([\\*_\[\]`])", r"\\\1", inert(cut(text, 2000)))
    return {"type": "TextBlock", "text": safe.replace("<", "‹").replace(">", "›"), "wrap": True, **style}


def _words(text: str) -> Reply:
    return Reply({"type": "message", "text": text})
