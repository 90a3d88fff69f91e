"""Access: what a caller may do, and what is known of an API key. A key itself is never kept, only its digest."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """What a caller may do. Each includes the ones before it."""

    READ = "read"  # look at prices, tables, plans and reports
    PLAN = "plan"  # ask for plans, and keep what comes of them
    ADMIN = "admin"  # change what all others see: pools, acceptances, refreshes, jobs

    def includes(self, other: "Scope") -> bool:
        """True when whoever holds this scope may do what `other` allows."""
        ranks = list(Scope)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One key as it is stored. `key_id` is the public part of the key."""

    key_id: str
    name: str
    scope: Scope
    digest: str  # SHA-256 of the whole key, hex
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """True when it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request. Where no access is asked for, everybody is `anyone` and may do everything."""

    name: str
    scope: Scope
    key_id: str | None = None


ANYONE = Caller(name="anyone", scope=Scope.ADMIN)
