"""Discord: interactions signed with Ed25519; PING is answered, everything else is deferred and filled in later."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from service.chat.answer import Answer
from service.chat.core import Asker, ChatCore
from service.chat.platform import AllowList, Background, NotSigned, Once, Reply, Unreadable, header, require_recent
from service.chat.render import aligned, cut, inert, monospaced
from service.flows.watches import Target

API: Final = "https://discord.com/api/v10"
PING, COMMAND, COMPONENT = 1, 2, 3
PONG, MESSAGE, DEFERRED = 1, 4, 5
ONLY_FOR_THE_ASKER: Final = 64
_MOST_IN_MESSAGE: Final = 2000
_MOST_IN_EMBED: Final = 4000
_ID: Final = re.compile(r"\d{5,25}", re.ASCII)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.-]{10,500}", re.ASCII)
_FAILED: Final = Answer(title="The answer could not be made. It is logged; try again in a minute.", is_refusal=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discord:
    """The hook. `patch` fills in a deferred answer; `holds_negotiated` says so before the answer is made."""

    public_key: str  # hex, from the application's page
    core: ChatCore
    background: Background
    once: Once
    clock: Callable[[], datetime]
    patch: Callable[[str, Mapping[str, Any]], None]
    allowed: AllowList
    holds_negotiated: Callable[[], bool]
    can_alarm: bool = False

    def handle(self, raw: bytes, headers: Mapping[str, str]) -> Reply:
        """PONG, or a deferred answer.

        Raises:
            NotSigned: not signed by Discord for this application, or too old.
            Unreadable: another kind of interaction.
        """
        self._verify(raw, headers)
        try:
            found = json.loads(raw)
            kind = found["type"]
            if kind == PING:
                return Reply({"type": PONG})
            application, token = str(found["application_id"]), str(found["token"])
            who = (found.get("member") or found)["user"]["id"]
            channel, guild = str(found.get("channel_id", "")), str(found.get("guild_id", ""))
            text, delivery = _line(kind, found["data"]), str(found["id"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Unreadable("the interaction has another shape") from error
        if not (_ID.fullmatch(application) and _TOKEN.fullmatch(token)):
            raise Unreadable("the interaction's ids have another shape")
        if not self.allowed.allows(guild, channel):
            return _words("This server or channel is not on the list of those that may ask.")
        flags = ONLY_FOR_THE_ASKER if self.holds_negotiated() else 0
        deferred = Reply({"type": DEFERRED, "data": {"flags": flags}})
        if not self.once.is_first(f"discord:{delivery}"):
            return deferred
        target = Target(kind="discord", place=channel) if self.can_alarm else None
        asker = Asker(key=f"discord:{guild}:{channel}:{who}", target=target)
        address = f"{API}/webhooks/{application}/{token}/messages/@original"
        if self.background.run(lambda: self._answer(text, asker, address)) is None:
            return _words("Too many questions at once: try again in a minute.")
        return deferred

    def _verify(self, raw: bytes, headers: Mapping[str, str]) -> None:
        timestamp = header(headers, "X-Signature-Timestamp")
        require_recent(timestamp, self.clock())
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))
            key.verify(bytes.fromhex(header(headers, "X-Signature-Ed25519")), timestamp.encode() + raw)
        except (InvalidSignature, ValueError) as error:
            raise NotSigned("the signature is wrong") from error

    def _answer(self, text: str, asker: Asker, address: str) -> None:
        try:
            answer = self.core.answer(text, asker)
        except Exception:
            self.patch(address, discord_message(_FAILED))
            raise
        self.patch(address, discord_message(answer))


def discord_message(answer: Answer) -> dict[str, Any]:
    """Title as content, the rest as one embed; mentions do nothing."""
    parts = [f"Read as: {_escaped(answer.reading)}"] if answer.reading else []
    parts += [_escaped(line) for line in answer.lines]
    if answer.block:
        parts.append(f"```\n{monospaced(answer.block)}\n```")
    room = _MOST_IN_EMBED - sum(len(part) + 1 for part in parts) - 200
    for table in answer.tables:
        lines = [monospaced(line) for line in aligned(table)]
        while lines and sum(len(line) + 1 for line in lines) > max(0, room):
            lines.pop()
        if lines:
            parts.append("```\n{}\n```".format("\n".join(lines)))
            room -= sum(len(line) + 1 for line in lines) + 8
    parts += [_escaped(note) for note in answer.notes]
    if answer.link:
        parts.append(f"[All of it]({answer.link})")
    embed = {"description": cut("\n".join(parts), _MOST_IN_EMBED)}
    buttons = [{"type": 2, "style": 2, "label": cut(one.label, 80), "custom_id": one.line[:100]} for one in answer.buttons[:5]]
    return {
        "content": cut(_escaped(answer.title), _MOST_IN_MESSAGE),
        "embeds": [embed] if parts else [],
        "components": [{"type": 1, "components": buttons}] if buttons else [],
        "allowed_mentions": {"parse": []},
    }


def _line(kind: int, data: Mapping[str, Any]) -> str:
    """What a command's first option says, or a button."""
    if kind == COMPONENT:
        return str(data["custom_id"])
    if kind != COMMAND:
        raise ValueError("another kind of interaction")
    return next((str(option["value"]) for option in data.get("options") or ()), "")


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_~`|>\[\]])", r"\\\1", inert(text))


def _words(text: str) -> Reply:
    return Reply({"type": MESSAGE, "data": {"content": text, "flags": ONLY_FOR_THE_ASKER, "allowed_mentions": {"parse": []}}})
