"""Access: asks for a key where one is needed, counts requests, and refuses what a browser was tricked into sending."""

import base64
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.limits import Quota, RateLimits
from service.api.problems import Refusal
from service.api.scopes import Rule, Rules
from service.domain.access import ANYONE, ApiKey, Caller
from service.flows.keys import digest_of, key_id_of

if TYPE_CHECKING:
    from service.flows.tokens import TokenVerifier

_READ: Final = frozenset({b"authorization", b"x-api-key", b"host", b"origin", b"sec-fetch-site"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="gpuplan", Basic realm="gpuplan"'}
_NO_DIGEST: Final = "0" * 64  # compared with where no key has this id: the time tells nothing
_MOST_CREDENTIAL: Final = 8 * 1024

audit = structlog.get_logger("gpuplan.audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What decides. As it stands by default everybody may ask: a service on loopback without any key."""

    keys: Callable[[], Mapping[str, ApiKey]] = dict
    clock: Callable[[], datetime] | None = None
    always: bool = False  # also while there is no key at all
    never: bool = False  # a setting says so; on loopback only
    note_use: Callable[[str], object] = str  # told the id of a key that was used
    tokens: "TokenVerifier | None" = None
    limits: RateLimits | None = None
    allowed_hosts: frozenset[str] | None = None  # None: every name
    own_names: frozenset[str] = frozenset()  # hosts of our own pages, where a proxy hides them

    def is_guarded(self) -> bool:
        """True when a request needs a key. A key that has ended still counts: revoking the last one opens nothing."""
        return not self.never and (self.always or self.tokens is not None or bool(self.keys()))


class AccessGate:
    """ASGI middleware inside the Gate: what it refuses leaves as a problem. `scope["caller"]` is who asks."""

    def __init__(self, app: ASGIApp, access: Access, rules: Callable[[], Rules]) -> None:
        self.app, self._access, self._rules_of = app, access, rules

    @cached_property
    def _rules(self) -> Rules:
        return self._rules_of()  # at the first request: then every door is in place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        rule = self._rules.find(scope["method"], scope["path"])
        try:
            caller, quotas = await self._admitted(scope, rule)
        except Refusal:
            scope.setdefault("route", rule.route)  # the log and the counters name the operation that was refused
            raise
        scope["caller"] = caller
        if quotas or rule.is_write or rule.path == "/plan":
            send = self._told(send, scope, rule, caller, quotas)
        await self.app(scope, receive, send)

    async def _admitted(self, scope: Scope, rule: Rule) -> tuple[Caller, list[Quota]]:
        sent = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _READ}
        access = self._access
        _check_host(sent.get(b"host", ""), access.allowed_hosts)
        if scope["method"] not in _SAFE:
            _check_origin(sent, access.own_names)
        is_guarded = access.is_guarded()
        quotas = []
        if access.limits is not None and (taken := access.limits.take_of_address(_address(scope), is_guarded=is_guarded)):
            quotas.append(_within(taken))
        if not is_guarded or rule.scope is None:
            return ANYONE, quotas
        caller = await self._caller(_credential(sent))
        if caller is None:
            raise Refusal("unauthorized", headers=_CHALLENGE)
        if access.limits is not None:
            quotas.append(_within(access.limits.take_of_key(caller.key_id or caller.name)))
        if not caller.scope.includes(rule.scope):
            raise Refusal("forbidden")
        return caller, quotas

    async def _caller(self, credential: str) -> Caller | None:
        """Who sent this key or token; None for every one that is not good, whatever is wrong with it."""
        tokens = self._access.tokens
        if tokens is not None and credential.count(".") == 2 and not key_id_of(credential):
            return tokens.known(credential) or await run_in_threadpool(tokens.verify, credential)
        key = self._access.keys().get(key_id_of(credential))
        is_same = hmac.compare_digest(digest_of(credential), _NO_DIGEST if key is None else key.digest)
        if key is None or not is_same or self._access.clock is None or not key.is_valid(self._access.clock()):
            return None
        self._access.note_use(key.key_id)
        return Caller(name=key.name, scope=key.scope, key_id=key.key_id)

    def _told(self, send: Send, scope: Scope, rule: Rule, caller: Caller, quotas: list[Quota]) -> Send:
        """Adds the quota that is nearest to its end, and notes who changed what."""

        async def send_told(message: Message) -> None:
            if message["type"] == "http.response.start":
                if quotas:
                    headers = MutableHeaders(raw=message["headers"])
                    for name, value in min(quotas, key=lambda quota: quota.remaining / quota.limit).headers.items():
                        headers[name] = value
                if rule.is_write or scope.get("changes"):
                    _note_write(scope, rule, caller, message["status"])
            await send(message)

        return send_told


def _note_write(scope: Scope, rule: Rule, caller: Caller, status: int) -> None:
    """One line of the audit log. The path's values are names that the sender chose; they are what was changed."""
    audit.info(
        "audit",
        request_id=scope["request_id"],
        caller=caller.name,
        caller_id=caller.key_id,
        address=_address(scope),
        method=scope["method"],
        route=rule.path,
        subject={name: str(value)[:64] for name, value in scope.get("path_params", {}).items() if name != "token"},
        status=status,
    )


def _within(quota: Quota) -> Quota:
    if quota.is_exceeded:
        raise Refusal("too-many-requests", headers=quota.headers)
    return quota


def _credential(sent: Mapping[bytes, str]) -> str:
    """What was sent as key: a bearer token, the password of Basic (a browser asks for it), or X-API-Key."""
    scheme, _, value = sent.get(b"authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = value.strip()
    elif scheme.lower() == "basic":
        try:
            found = base64.b64decode(value.strip(), validate=True).decode("latin-1").partition(":")[2]
        except ValueError:
            found = ""
    else:
        found = "" if scheme else sent.get(b"x-api-key", "").strip()
    return found[:_MOST_CREDENTIAL]


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def _check_host(host: str, allowed: frozenset[str] | None) -> None:
    """A page of another site may have its name point at 127.0.0.1: then the browser sends that name."""
    if allowed is not None and _name_of(host) not in allowed:
        raise Refusal("misdirected-request")


def _check_origin(sent: Mapping[bytes, str], own_names: frozenset[str]) -> None:
    """A browser tells where a form or a script came from; programs tell nothing."""
    origin = sent.get(b"origin")
    if origin is None:
        if sent.get(b"sec-fetch-site") == "cross-site":
            raise Refusal("cross-site")
        return
    netloc = origin.partition("://")[2].lower()
    if not netloc or (netloc != sent.get(b"host", "").lower() and _name_of(netloc) not in own_names):
        raise Refusal("cross-site")


def _name_of(host: str) -> str:
    """The host without its port, in small letters."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[: name.find("]") + 1]
    return name.partition(":")[0].rstrip(".")
