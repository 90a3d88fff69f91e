"""Opening: what the settings and the stored keys make of access, and whether the address may be opened at all."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

import httpx

from providers.errors import InvalidInput
from service.api.access import Access
from service.api.limits import RateLimits
from service.domain.access import ApiKey
from service.settings import Settings, is_loopback

if TYPE_CHECKING:
    from service.flows.tokens import TokenVerifier

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class DoorWouldBeOpen(InvalidInput):
    """The address is reachable from other machines and nothing would ask who is there: the service does not start."""

    code = "door-would-be-open"


def access_of(
    settings: Settings,
    keys: Callable[[], Mapping[str, ApiKey]],
    clock: Callable[[], datetime],
    *,
    note_use: Callable[[str], None],
    http: httpx.Client,
) -> Access:
    """Who may ask, under these settings.

    Raises:
        DoorWouldBeOpen: the host is wider than loopback, and there is no valid key and no identity provider.
    """
    local = is_loopback(settings.host)
    names = frozenset(name.lower() for name in settings.access.allowed_hosts)
    tokens = _tokens(settings, http) if settings.oidc.issuer else None
    if not local:
        _require_a_lock(settings, keys(), clock(), has_tokens=tokens is not None)
    hosts = LOOPBACK_NAMES | names | {settings.host.lower(), f"[{settings.host.strip('[]').lower()}]"}
    return Access(
        keys=keys,
        clock=clock,
        always=not local or settings.access.required is True,
        never=local and settings.access.required is False,
        note_use=note_use,
        tokens=tokens,
        limits=RateLimits(per_key=settings.limits.per_key, per_address=settings.limits.per_address),
        allowed_hosts=hosts if local else names or None,
        own_names=names,
    )


def _tokens(settings: Settings, http: httpx.Client) -> "TokenVerifier":
    from service.flows.tokens import TokenVerifier  # brings cryptography, which few installations need at start

    return TokenVerifier(settings.oidc, http)


def _require_a_lock(settings: Settings, keys: Mapping[str, ApiKey], now: datetime, *, has_tokens: bool) -> None:
    if settings.access.required is False:
        raise DoorWouldBeOpen("GPUPLAN_ACCESS__REQUIRED=false holds on loopback only: bind 127.0.0.1 or ::1, or ask for keys")
    if not has_tokens and not any(key.is_valid(now) for key in keys.values()):
        raise DoorWouldBeOpen(
            "host is reachable from other machines and no access keys are set: make one with "
            "`gpuplan keys create --name NAME --scope admin`, set GPUPLAN_OIDC__ISSUER, or bind 127.0.0.1 or ::1"
        )
