"""Limits: how many requests a key and an address may send, told in the RateLimit headers of every answer."""

import ipaddress
import math
import time
from dataclasses import dataclass
from typing import Final

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

DEFAULT_PER_ADDRESS: Final = "12000/minute"  # where keys are asked for and no setting says otherwise
_IPV6_NETWORK: Final = 64  # one subscriber has at least so many: single addresses would count nothing


@dataclass(frozen=True, slots=True)
class Quota:
    """What is left of one limit after this request."""

    policy: str
    limit: int
    window_seconds: int
    remaining: int
    reset_seconds: int
    is_exceeded: bool

    @property
    def headers(self) -> dict[str, str]:
        """As the draft of RateLimit header fields has them; over the limit also Retry-After."""
        told = {
            "RateLimit-Policy": f'"{self.policy}";q={self.limit};w={self.window_seconds}',
            "RateLimit": f'"{self.policy}";r={self.remaining};t={self.reset_seconds}',
        }
        return {**told, "Retry-After": str(max(1, self.reset_seconds))} if self.is_exceeded else told


class RateLimits:
    """Counts in this process: with N processes a caller may send up to N times as much."""

    def __init__(self, *, per_key: str, per_address: str | None) -> None:
        self._counter = FixedWindowRateLimiter(MemoryStorage())  # a third of the time that sliding ones take
        self._per_key = parse(per_key)
        self._per_address = None if per_address is None else parse(per_address)
        self._default_per_address = parse(DEFAULT_PER_ADDRESS)

    def take_of_key(self, name: str) -> Quota:
        """Counts one request of a key or of a token's subject."""
        return self._take("key", self._per_key, name)

    def take_of_address(self, address: str, *, is_guarded: bool) -> Quota | None:
        """Counts one request of an address; None where nothing limits it."""
        limit = self._per_address or (self._default_per_address if is_guarded else None)
        return None if limit is None else self._take("address", limit, _network(address))

    def _take(self, policy: str, limit: RateLimitItem, name: str) -> Quota:
        is_allowed = self._counter.hit(limit, policy, name)
        stats = self._counter.get_window_stats(limit, policy, name)
        return Quota(
            policy=policy,
            limit=limit.amount,
            window_seconds=limit.get_expiry(),
            remaining=0 if not is_allowed else stats.remaining,
            reset_seconds=max(0, math.ceil(stats.reset_time - time.time())),
            is_exceeded=not is_allowed,
        )


def _network(address: str) -> str:
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], _IPV6_NETWORK), strict=False))
    except ValueError:
        return address
