"""Slack: slash commands and buttons; signed by Slack over the raw bytes, answered at once, the result posted later."""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from service.chat.answer import Answer
from service.chat.blocks import escaped, slack_message
from service.chat.core import Asker, ChatCore
from service.chat.platform import (
    AllowList,
    Background,
    NotSigned,
    Once,
    Reply,
    Unreadable,
    header,
    require_recent,
    require_same,
)
from service.flows.watches import Target

HOST: Final = "hooks.slack.com"
_FAILED: Final = Answer(title="The answer could not be made. It is logged; try again in a minute.", is_refusal=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    text: str
    user: str
    team: str
    channel: str
    response_url: str
    delivery: str  # the same when Slack sends the same thing again


@dataclass(frozen=True, slots=True, kw_only=True)
class Slack:
    """The hook. `post` sends JSON to an address and retries by itself; `can_alarm`: a bot token is set."""

    signing_secret: str
    core: ChatCore
    background: Background
    once: Once
    clock: Callable[[], datetime]
    post: Callable[[str, Mapping[str, Any]], None]
    allowed: AllowList
    can_alarm: bool = False

    def handle(self, raw: bytes, headers: Mapping[str, str]) -> Reply:
        """The reply within Slack's time; the work goes on behind it.

        Raises:
            NotSigned: not from Slack, or too old.
            Unreadable: no slash command and no button, or an answer is wanted elsewhere than at Slack.
        """
        self._verify(raw, headers)
        said = _said(raw)
        if said is None:
            return Reply()  # Slack only looks whether the address answers
        if not self.allowed.allows(said.team, said.channel):
            return _ephemeral("This workspace or channel is not on the list of those that may ask.")
        if not _is_slack_address(said.response_url):
            raise Unreadable("response_url is not an https address of Slack's own host")
        if not self.once.is_first(f"slack:{said.delivery}"):
            return Reply()
        if self.background.run(lambda: self._answer(said)) is None:
            return _ephemeral("Too many questions at once: try again in a minute.")
        return _ephemeral(f"Working on: {escaped(said.text[:200]) or 'help'}")

    def _verify(self, raw: bytes, headers: Mapping[str, str]) -> None:
        timestamp = header(headers, "X-Slack-Request-Timestamp")
        require_recent(timestamp, self.clock())
        base = b"v0:" + timestamp.encode() + b":" + raw
        expected = hmac.new(self.signing_secret.encode(), base, sha256).hexdigest()
        given = header(headers, "X-Slack-Signature")
        if not given:
            raise NotSigned("the signature is missing")
        require_same(given, f"v0={expected}")

    def _answer(self, said: _Said) -> None:
        target = Target(kind="slack", place=said.channel) if self.can_alarm else None
        asker = Asker(key=f"slack:{said.team}:{said.channel}:{said.user}", target=target)
        try:
            answer = self.core.answer(said.text, asker)
        except Exception:
            self.post(said.response_url, {"response_type": "ephemeral", **slack_message(_FAILED)})
            raise
        is_private = answer.is_private or answer.is_refusal
        kind = "ephemeral" if is_private else "in_channel"
        self.post(said.response_url, {"response_type": kind, "replace_original": False, **slack_message(answer)})


def _said(raw: bytes) -> _Said | None:
    form = _form(raw)
    if "ssl_check" in form:
        return None
    if "payload" in form:
        return _pressed(form["payload"], raw)
    if "command" not in form:
        raise Unreadable("neither a slash command nor a button")
    return _Said(
        text=form.get("text", ""),
        user=form.get("user_id", ""),
        team=form.get("team_id", ""),
        channel=form.get("channel_id", ""),
        response_url=form.get("response_url", ""),
        delivery=form.get("trigger_id") or sha256(raw).hexdigest(),
    )


def _pressed(payload: str, raw: bytes) -> _Said:
    try:
        found = json.loads(payload)
        (action, *_) = found["actions"]
        return _Said(
            text=str(action["value"]),
            user=str(found["user"]["id"]),
            team=str(found["team"]["id"]),
            channel=str(found["channel"]["id"]),
            response_url=str(found["response_url"]),
            delivery=str(found.get("trigger_id") or sha256(raw).hexdigest()),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unreadable("the button's payload has another shape") from error


def _form(raw: bytes) -> dict[str, str]:
    try:
        fields = parse_qs(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Unreadable("the body is no form") from error
    return {name: values[0] for name, values in fields.items()}


def _is_slack_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_plain = parts.username is None and parts.port in (None, 443) and "\\" not in url and url.isprintable()
        return parts.scheme == "https" and parts.hostname == HOST and is_plain
    except ValueError:
        return False


def _ephemeral(text: str) -> Reply:
    return Reply({"response_type": "ephemeral", "text": text})
