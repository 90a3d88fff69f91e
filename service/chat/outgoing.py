"""Outgoing: what this service sends by itself: answers to a platform's address, alarms to chats and signed webhooks.

A webhook's address is data from outside: only https, only public addresses unless a setting allows others, and the
address that was checked is the one that is called, whatever the name's next look-up would say.
"""

import hmac
import ipaddress
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from providers.errors import InvalidInput
from service.chat.blocks import escaped
from service.chat.render import inert
from service.flows.watches import Target, UndeliverableAlarm

TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
TRIES: Final = 3
_SLACK_API: Final = "https://slack.com/api/chat.postMessage"
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
Resolve = Callable[[str, int], Sequence[str]]


def make_chat_client(*, transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """A client that follows no redirect: an answer may not be led elsewhere."""
    return httpx.Client(transport=transport, timeout=TIMEOUT, follow_redirects=False, headers={"User-Agent": "gpuplan-chat/0.1"})


@dataclass(frozen=True, slots=True)
class Poster:
    """Sends JSON, and again after a second or two where that can help."""

    http: httpx.Client
    sleep: Callable[[float], None] = time.sleep

    def post(self, url: str, body: Mapping[str, Any]) -> None:
        """Raises UndeliverableAlarm after the last try."""
        self._send("POST", url, body)

    def patch(self, url: str, body: Mapping[str, Any]) -> None:
        """The same as `post`, for what is there already."""
        self._send("PATCH", url, body)

    def _send(self, method: str, url: str, body: Mapping[str, Any]) -> None:
        problem = ""
        for tried in range(TRIES):
            if tried:
                self.sleep(2.0**tried)
            try:
                answer = self.http.request(method, url, json=body)
            except httpx.HTTPError as error:
                problem = type(error).__name__
                continue
            if answer.is_success:
                return
            problem = f"status {answer.status_code}"
            if answer.status_code < 500 and answer.status_code != 429:
                break
        raise UndeliverableAlarm(problem)


def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a host."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """Carries alarms to webhooks, and to the chats whose outgoing address is set."""

    http: httpx.Client
    clock: Callable[[], datetime]
    slack_bot_token: str | None = None
    chat_webhooks: Mapping[str, str] = field(default_factory=dict)  # of teams, mattermost and discord
    allow_private: bool = False
    resolve: Resolve = resolved

    def send(self, target: Target, delivery_id: str, text: str, event: Mapping[str, Any]) -> None:
        """Raises UndeliverableAlarm: refused, unreachable, or an address that may not be called."""
        words = inert(text)
        if target.kind == "webhook":
            self._to_webhook(target, delivery_id, event)
        elif target.kind == "slack" and self.slack_bot_token is not None:
            headers = {"Authorization": f"Bearer {self.slack_bot_token}"}
            answer = self._call(
                "POST", _SLACK_API, {"channel": target.place, "text": escaped(text), "link_names": False}, headers
            )
            if not _json(answer).get("ok"):
                raise UndeliverableAlarm("Slack did not take it")
        elif target.kind in self.chat_webhooks:
            self._call("POST", self.chat_webhooks[target.kind], _CHAT_BODIES[target.kind](words), {})
        else:
            raise UndeliverableAlarm("this chat's outgoing address is not set")

    def _to_webhook(self, target: Target, delivery_id: str, event: Mapping[str, Any]) -> None:
        """Signed like Slack signs: HMAC-SHA256 over v1:timestamp:body, so that the receiver can refuse what is old."""
        try:
            address, host = checked_address(target.place, allow_private=self.allow_private, resolve=self.resolve)
        except InvalidInput as error:
            raise UndeliverableAlarm(str(error)) from error
        raw = json.dumps({"delivery_id": delivery_id, **event}, separators=(",", ":")).encode()
        stamp = str(int(self.clock().timestamp()))
        signature = hmac.new((target.secret or "").encode(), b"v1:" + stamp.encode() + b":" + raw, sha256).hexdigest()
        headers = {
            "Host": host,
            "Content-Type": "application/json",
            "X-Gpuplan-Timestamp": stamp,
            "X-Gpuplan-Signature": f"v1={signature}",
            "X-Gpuplan-Delivery": delivery_id,
        }
        self._call("POST", address, raw, headers, sni=host.rsplit(":", 1)[0] if not host.startswith("[") else None)

    def _call(
        self, method: str, url: str, body: Mapping[str, Any] | bytes, headers: Mapping[str, str], *, sni: str | None = None
    ) -> httpx.Response:
        extensions = {} if sni is None else {"sni_hostname": sni}
        content: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        try:
            answer = self.http.request(method, url, headers=dict(headers), extensions=extensions, **content)
        except httpx.HTTPError as error:
            raise UndeliverableAlarm(type(error).__name__) from error
        if not answer.is_success:
            raise UndeliverableAlarm(f"status {answer.status_code}")
        return answer


def checked_address(url: str, *, allow_private: bool, resolve: Resolve = resolved) -> tuple[str, str]:
    """The address to call, with the host's name replaced by the number that was checked, and the Host header.

    Raises:
        InvalidInput: not https, a user name in it, no such host, or an address inside a private network.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput("the address cannot be read", pointer="/webhook_url") from error
    if parts.username is not None or not parts.hostname or not url.isascii() or not url.isprintable() or "\\" in url:
        raise InvalidInput("the address is not a plain https address", pointer="/webhook_url")
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise InvalidInput("the address must be https", pointer="/webhook_url")
    number = port or (443 if parts.scheme == "https" else 80)
    try:
        found = resolve(parts.hostname, number)
    except OSError as error:
        raise InvalidInput("the host's name is not found", pointer="/webhook_url") from error
    if not found or (not allow_private and not all(_is_public(one) for one in found)):
        raise InvalidInput("the address is inside a private network", pointer="/webhook_url")
    literal = f"[{found[0]}]" if ":" in found[0] else found[0]
    path = parts.path or "/"
    return f"{parts.scheme}://{literal}:{number}{path}{f'?{parts.query}' if parts.query else ''}", parts.netloc


def _is_public(text: str) -> bool:
    """Not inside, and not a translated form (NAT64, 6to4, Teredo, mapped) of something that may be."""
    address = ipaddress.ip_address(text.split("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64 or address.sixtofour is not None or address.teredo is not None:
            return False
        if address.ipv4_mapped is not None:
            return _is_public(str(address.ipv4_mapped))
    return address.is_global and not address.is_multicast


def _json(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _card(text: str) -> dict[str, Any]:
    body = [{"type": "TextBlock", "text": text, "wrap": True}]
    content = {"type": "AdaptiveCard", "version": "1.4", "body": body}
    return {"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": content}]}


_CHAT_BODIES: Final[Mapping[str, Callable[[str], Mapping[str, Any]]]] = {
    "teams": _card,
    "mattermost": lambda text: {"text": text},
    "discord": lambda text: {"content": text[:2000], "allowed_mentions": {"parse": []}},
}
