"""The lease: one holder at a time, and a fencing number by which a write of an older holder is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.dialects import postgresql, sqlite

from service.store.engine import reading, writing
from service.store.errors import LeaseLost
from service.store.tables import Lease

REFRESHER = "refresher"
DEFAULT_TTL = timedelta(seconds=30)
_LEASES: Any = Lease.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes


@dataclass(frozen=True, slots=True)
class HeldLease:
    """Proof of having been the holder: whoever takes the lease later has a greater fence."""

    name: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True)
class LeaseKeeper:
    """Acquires, renews and gives up one lease for one holder. The clock is an argument: tests move it."""

    engine: Engine
    holder: str
    clock: Callable[[], datetime]
    name: str = REFRESHER
    ttl: timedelta = DEFAULT_TTL

    def acquire(self) -> HeldLease | None:
        """The lease, renewed if it is ours, taken if it is free or has expired; None while another holds it."""
        with writing(self.engine) as connection:
            return self._acquire(connection, self.clock())

    def _acquire(self, connection: Connection, now: datetime) -> HeldLease | None:
        insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        statement: Any = insert(_LEASES).values(name=self.name, holder=self.holder, fence=1, expires_at=now + self.ttl)
        is_ours = (_LEASES.c.holder == self.holder) & (_LEASES.c.expires_at > now)
        statement = statement.on_conflict_do_update(
            index_elements=["name"],
            set_={"expires_at": now + self.ttl},
            where=is_ours,
        ).returning(_LEASES.c.fence)
        fence = connection.execute(statement).scalar()
        if fence is None:  # held by another, or run out: then a new holder, also this one again, gets a new number
            taken = (
                update(_LEASES)
                .where(_LEASES.c.name == self.name, _LEASES.c.expires_at <= now)
                .values(holder=self.holder, fence=_LEASES.c.fence + 1, expires_at=now + self.ttl)
                .returning(_LEASES.c.fence)
            )
            fence = connection.execute(taken).scalar()
        return None if fence is None else HeldLease(self.name, self.holder, fence)

    def release(self, held: HeldLease) -> None:
        """Lets another take it at once; nothing happens when it is no longer ours. The number goes on counting."""
        with writing(self.engine) as connection:
            connection.execute(
                update(_LEASES)
                .where(_LEASES.c.name == held.name, _LEASES.c.holder == held.holder, _LEASES.c.fence == held.fence)
                .values(expires_at=self.clock())
            )

    def current_holder(self) -> str | None:
        """Who holds it now; None when nobody does."""
        with reading(self.engine) as connection:
            query = select(_LEASES.c.holder).where(_LEASES.c.name == self.name, _LEASES.c.expires_at > self.clock())
            holder: str | None = connection.execute(query).scalar()
            return holder


def is_held(connection: Connection, now: datetime, name: str = REFRESHER) -> bool:
    """True when somebody holds the lease."""
    query = select(_LEASES.c.holder).where(_LEASES.c.name == name, _LEASES.c.expires_at > now)
    return connection.execute(query).first() is not None


def check_fence(connection: Connection, held: HeldLease) -> None:
    """Inside a writing transaction: raises LeaseLost unless `held` is still the newest; nobody can take it until the commit."""
    query = select(_LEASES.c.fence, _LEASES.c.holder).where(_LEASES.c.name == held.name)
    if connection.dialect.name == "postgresql":
        query = query.with_for_update()
    found = connection.execute(query).first()
    if found is None or tuple(found) != (held.fence, held.holder):
        raise LeaseLost(f"the lease {held.name!r} number {held.fence} was taken over")
