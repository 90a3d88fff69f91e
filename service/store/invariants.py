"""Invariants: what must hold in the tables whatever happened to the processes that wrote them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, text, union_all

from providers.offer import CapacityType
from service.store.tables import CurrentPrice, FeedState, MarketChange, MarketVersion, OnPremPoolRow, PackedFeed, PriceHistory

_CURRENT: Any = CurrentPrice.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_HISTORY: Any = PriceHistory.__table__  # type: ignore[attr-defined]  # the same
_STATES: Any = FeedState.__table__  # type: ignore[attr-defined]  # the same
_CHANGES: Any = MarketChange.__table__  # type: ignore[attr-defined]  # the same
_MARKET: Any = MarketVersion.__table__  # type: ignore[attr-defined]  # the same
_PACKED: Any = PackedFeed.__table__  # type: ignore[attr-defined]  # the same
_POOLS: Any = OnPremPoolRow.__table__  # type: ignore[attr-defined]  # the same


@dataclass(frozen=True, slots=True)
class Violation:
    """One invariant that does not hold, how often, and one case of it."""

    invariant: str
    count: int
    example: str = ""


def violations(connection: Connection) -> Iterator[Violation]:
    """Every invariant of the tables that does not hold; nothing when all do."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        if found != ["ok"]:
            yield Violation("the file is whole", len(found), str(found[0]))
    yield from _of(connection, "prices are above zero", _not_above_zero())
    yield from _of(connection, "an interval ends after it begins", _backward())
    yield from _of(connection, "intervals of one offer do not overlap", _overlapping())
    yield from _of(connection, "an offer that is open has no closed interval behind its start", _open_twice())
    yield from _of(connection, "prices begin and end at recorded changes of the market", _unrecorded())
    yield from _of(connection, "a pool has one open version", _open_pools())
    yield from _of(connection, "a feed counts the offers it lists", _miscounted())
    yield from _numbering(connection)


def _of(connection: Connection, invariant: str, query: Any) -> Iterator[Violation]:
    rows = connection.execute(query).all()
    if rows:
        yield Violation(invariant, len(rows), ", ".join(str(part) for part in rows[0]))


def _not_above_zero() -> Any:
    parts = []
    for table in (_CURRENT, _HISTORY):
        is_free = table.c.capacity_type == CapacityType.FREE_TIER.value
        bad = (table.c.micro_usd_per_hour < 0) | ((table.c.micro_usd_per_hour == 0) & ~is_free)
        parts.append(select(table.c.feed, table.c.offer_id).where(bad))
    return union_all(*parts)


def _backward() -> Any:
    return select(_HISTORY.c.feed, _HISTORY.c.offer_id).where(_HISTORY.c.valid_to <= _HISTORY.c.valid_from)


def _overlapping() -> Any:
    following = func.lead(_HISTORY.c.valid_from).over(
        partition_by=(_HISTORY.c.feed, _HISTORY.c.offer_id), order_by=_HISTORY.c.valid_from
    )
    spans = select(_HISTORY.c.feed, _HISTORY.c.offer_id, _HISTORY.c.valid_to, following.label("following")).subquery()
    return select(spans.c.feed, spans.c.offer_id).where(spans.c.following < spans.c.valid_to)


def _open_twice() -> Any:
    is_same = (_CURRENT.c.feed == _HISTORY.c.feed) & (_CURRENT.c.offer_id == _HISTORY.c.offer_id)
    joined = _CURRENT.join(_HISTORY, is_same & (_HISTORY.c.valid_to > _CURRENT.c.valid_from))
    return select(_CURRENT.c.feed, _CURRENT.c.offer_id).select_from(joined)


def _unrecorded() -> Any:
    instants = union_all(
        select(_CURRENT.c.feed, _CURRENT.c.valid_from.label("at")),
        select(_HISTORY.c.feed, _HISTORY.c.valid_from),
        select(_HISTORY.c.feed, _HISTORY.c.valid_to),
    ).subquery()
    distinct = select(instants.c.feed, instants.c.at).distinct().subquery()
    return select(distinct.c.feed, distinct.c.at).where(distinct.c.at.not_in(select(_CHANGES.c.changed_at)))


def _open_pools() -> Any:
    return select(_POOLS.c.name).where(_POOLS.c.valid_to.is_(None)).group_by(_POOLS.c.name).having(func.count() > 1)


def _miscounted() -> Any:
    listed = select(_CURRENT.c.feed, func.count().label("listed")).group_by(_CURRENT.c.feed).subquery()
    told = select(_STATES.c.feed, _STATES.c.offers).where(_STATES.c.scope == "").subquery()
    counted = func.coalesce(listed.c.listed, 0)
    both = told.outerjoin(listed, told.c.feed == listed.c.feed)
    return select(told.c.feed, told.c.offers, counted).select_from(both).where(counted != told.c.offers)


def _numbering(connection: Connection) -> Iterator[Violation]:
    """Versions count 1, 2, 3, ... without a gap up to the market's own, and no blob is ahead of it."""
    version = connection.execute(select(_MARKET.c.version)).scalar_one()
    count, last = connection.execute(select(func.count(), func.coalesce(func.max(_CHANGES.c.version), 0))).one()
    if (count, last) != (version, version):
        yield Violation("every change of the market is recorded", abs(version - count) or 1, f"{version}, {count}, {last}")
    yield from _of(connection, "no blob is ahead of the market", select(_PACKED.c.feed).where(_PACKED.c.version > version))
