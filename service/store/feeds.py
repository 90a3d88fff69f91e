"""Feed states, sightings, packed feeds and the version row that readers poll."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from service.store.tables import MARKET_ROW, FeedSighting, FeedState, MarketChange, MarketVersion, PackedFeed

_STATES: Any = FeedState.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_SIGHTINGS: Any = FeedSighting.__table__  # type: ignore[attr-defined]  # the same
_MARKET: Any = MarketVersion.__table__  # type: ignore[attr-defined]  # the same
_CHANGES: Any = MarketChange.__table__  # type: ignore[attr-defined]  # the same
_PACKED: Any = PackedFeed.__table__  # type: ignore[attr-defined]  # the same

WHOLE_FEED = ""
STALE_AFTER_MISSES = 3
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The market row: which prices, which states, since when."""

    version: int
    status_version: int
    changed_at: datetime | None
    medians_for: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What one attempt says of a feed or of one of its scopes; absent values leave the stored ones."""

    values: Mapping[str, Any] = field(default_factory=dict)
    seen_at: datetime | None = None  # its prices were confirmed


def market_version(connection: Connection) -> Version:
    """The version row as it is."""
    query = select(_MARKET.c.version, _MARKET.c.status_version, _MARKET.c.changed_at, _MARKET.c.medians_for)
    row = connection.execute(query.where(_MARKET.c.id == MARKET_ROW)).one()
    return Version(**row._mapping)


def lock_market(connection: Connection) -> Version:
    """The version row, locked until the commit: writers queue here."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(_MARKET.c.id).where(_MARKET.c.id == MARKET_ROW).with_for_update())
    return market_version(connection)


def change_instant(before: Version, now: datetime) -> datetime:
    """The instant of a change: now, but always after the last one, so that an instant names one snapshot."""
    return now if before.changed_at is None else max(now, before.changed_at + _TICK)


def bump_market(connection: Connection, before: Version, *, at: datetime, medians_for: datetime | None = None) -> int:
    """Begins a new version of the market at `at`."""
    version, medians = before.version + 1, medians_for or before.medians_for
    values = {"version": version, "changed_at": at, "medians_for": medians}
    connection.execute(update(_MARKET).where(_MARKET.c.id == MARKET_ROW).values(**values))
    connection.execute(insert(_CHANGES).values(**values))
    return version


def bump_status(connection: Connection) -> None:
    """Tells readers that feed states changed."""
    is_row = _MARKET.c.id == MARKET_ROW
    connection.execute(update(_MARKET).where(is_row).values(status_version=_MARKET.c.status_version + 1))


def version_at(connection: Connection, instant: datetime) -> Version | None:
    """The market version that was current at that instant; None before the first."""
    query = select(_CHANGES).where(_CHANGES.c.changed_at <= instant).order_by(_CHANGES.c.changed_at.desc()).limit(1)
    row = connection.execute(query).first()
    if row is None:
        return None
    return Version(version=row.version, status_version=0, changed_at=row.changed_at, medians_for=row.medians_for)


def feed_states(connection: Connection, feed: str | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """Every stored state by (feed, scope)."""
    query = select(_STATES) if feed is None else select(_STATES).where(_STATES.c.feed == feed)
    return {(row.feed, row.scope): dict(row._mapping) for row in connection.execute(query)}


def forget_other_scopes(connection: Connection, feed: str, scopes: Collection[str]) -> None:
    """Drops the states of failure domains that are read no more."""
    is_other = (_STATES.c.feed == feed) & _STATES.c.scope.not_in([WHOLE_FEED, *scopes])
    connection.execute(delete(_STATES).where(is_other))


def save_states(connection: Connection, feed: str, changes: Mapping[str, StateChange], *, interval_seconds: int) -> None:
    """Stores what an attempt said, per scope, and extends the sightings."""
    fresh = FeedState(feed=feed, scope=WHOLE_FEED).model_dump()
    known = feed_states(connection, feed)
    for scope, change in changes.items():
        seen = {} if change.seen_at is None else {"last_seen_at": change.seen_at}
        values = {**change.values, **seen, "interval_seconds": interval_seconds}
        is_row = (_STATES.c.feed == feed) & (_STATES.c.scope == scope)
        if (feed, scope) in known:
            connection.execute(update(_STATES).where(is_row).values(**values))
        else:
            connection.execute(insert(_STATES).values(**{**fresh, "scope": scope, **values}))
        if change.seen_at is not None:
            _extend_sighting(connection, feed, scope, change.seen_at, interval_seconds)
    bump_status(connection)


def _extend_sighting(connection: Connection, feed: str, scope: str, at: datetime, interval_seconds: int) -> None:
    """One row grows while the feed is confirmed in time; after a gap that made it stale a new row begins."""
    of_scope = (_SIGHTINGS.c.feed == feed) & (_SIGHTINGS.c.scope == scope)
    last = connection.execute(select(_SIGHTINGS).where(of_scope).order_by(_SIGHTINGS.c.seen_from.desc()).limit(1)).first()
    if last is not None and at <= last.seen_to + timedelta(seconds=STALE_AFTER_MISSES * interval_seconds):
        is_last = of_scope & (_SIGHTINGS.c.seen_from == last.seen_from)
        connection.execute(update(_SIGHTINGS).where(is_last).values(seen_to=max(at, last.seen_to)))
    else:
        connection.execute(insert(_SIGHTINGS).values(feed=feed, scope=scope, seen_from=at, seen_to=at))


def sightings_at(connection: Connection, instant: datetime) -> dict[tuple[str, str], datetime]:
    """When each feed and scope was last confirmed, as known at that instant (within a span: at that instant)."""
    query = select(_SIGHTINGS).where(_SIGHTINGS.c.seen_from <= instant).order_by(_SIGHTINGS.c.seen_from)
    return {(row.feed, row.scope): min(row.seen_to, instant) for row in connection.execute(query)}


def packed_version(connection: Connection, feed: str) -> int | None:
    """The version of a feed's blob; None when it has none."""
    found: int | None = connection.execute(select(_PACKED.c.version).where(_PACKED.c.feed == feed)).scalar()
    return found


def packed_versions(connection: Connection) -> dict[str, int]:
    """The version of each feed's blob."""
    return {row.feed: row.version for row in connection.execute(select(_PACKED.c.feed, _PACKED.c.version))}


def packed_columns(connection: Connection, feed: str) -> tuple[int, bytes] | None:
    """A feed's blob and its version."""
    row = connection.execute(select(_PACKED.c.version, _PACKED.c.columns).where(_PACKED.c.feed == feed)).first()
    return None if row is None else (row.version, bytes(row.columns))


def save_packed(connection: Connection, feed: str, *, version: int, offers: int, columns: bytes) -> None:
    """Replaces a feed's blob."""
    insert_or_update = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    values = {"version": version, "offers": offers, "columns": columns}
    statement: Any = insert_or_update(_PACKED).values(feed=feed, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["feed"], set_=values))
