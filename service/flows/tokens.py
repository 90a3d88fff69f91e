"""Tokens: checks what an identity provider signed, with its published keys kept for a while."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import jwt

from service.access_settings import OidcSettings
from service.domain.access import Caller, Scope

if TYPE_CHECKING:
    import httpx

KEYS_LIVE_SECONDS: Final = 600.0  # the published keys are read again after this
LEAST_BETWEEN_SECONDS: Final = 30.0  # and never more often than this, whatever key a token names
_MOST_BYTES, _TIMEOUT_SECONDS, _MOST_CACHED, _MOST_TOKEN = 256 * 1024, 5.0, 1024, 8 * 1024


class TokenVerifier:
    """Knows one issuer. `tick` counts seconds for the age of the published keys; `now` is the time of day."""

    def __init__(
        self,
        settings: OidcSettings,
        http: "httpx.Client",
        *,
        now: Callable[[], float] = time.time,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._http, self._now, self._tick = settings, http, now, tick
        self._keys: Mapping[str, Any] = {}
        self._read_at: float | None = None
        self._reading = threading.Lock()
        self._known: dict[bytes, tuple[Caller, float]] = {}

    def known(self, token: str) -> Caller | None:
        """The caller of a token that was checked before and has not ended: no signature is checked again."""
        found = self._known.get(_digest(token))
        return found[0] if found is not None and self._now() < found[1] else None

    def verify(self, token: str) -> Caller | None:
        """The caller of a token, None for one that is not good. May read the issuer's keys: call it in a thread."""
        if len(token) > _MOST_TOKEN:
            return None
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")), str(header.get("alg", "")))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=list(self._settings.algorithms),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.leeway_seconds,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        return self._caller(token, claims)

    def _caller(self, token: str, claims: Mapping[str, Any]) -> Caller | None:
        scopes = _scopes(claims.get(self._settings.scope_claim), self._settings.scope_prefix)
        if not scopes:
            return None
        widest = max(scopes, key=list(Scope).index)
        caller = Caller(name=f"oidc:{str(claims['sub'])[:64]}", scope=widest)
        if len(self._known) >= _MOST_CACHED:
            self._known.clear()
        self._known[_digest(token)] = (caller, float(claims["exp"]))
        return caller

    def _key(self, key_id: str, algorithm: str) -> Any:
        if algorithm not in self._settings.algorithms:
            return None
        with self._reading:
            age = None if self._read_at is None else self._tick() - self._read_at
            if age is None or age > KEYS_LIVE_SECONDS or (key_id not in self._keys and age > LEAST_BETWEEN_SECONDS):
                self._read()
            return self._keys.get(key_id)

    def _read(self) -> None:
        """Reads the published keys; when that fails the ones at hand stay in use."""
        import httpx

        self._read_at = self._tick()
        try:
            with self._http.stream(
                "GET", str(self._settings.jwks_url), timeout=_TIMEOUT_SECONDS, follow_redirects=False
            ) as answer:
                answer.raise_for_status()
                content = b""
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > _MOST_BYTES:
                        return
            self._keys = {one.key_id: one for one in jwt.PyJWKSet.from_json(content.decode()).keys if one.key_id}
        except (httpx.HTTPError, jwt.PyJWTError, ValueError):
            return


def _scopes(claim: Any, prefix: str) -> list[Scope]:
    words = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else []
    named = {str(word).removeprefix(prefix) for word in words if str(word).startswith(prefix)}
    return [scope for scope in Scope if scope.value in named]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
