"""Prices: comparing a batch with what is stored, moving closed intervals to history, and prices as they were."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, cast

from sqlalchemy import Connection, delete, insert, literal, select, text
from sqlalchemy.sql import Select

from providers.offer import Offer
from providers.units import micro_usd
from service.store.payload import fingerprint, offer_from_text, offer_to_text
from service.store.tables import CurrentPrice, PriceHistory

_CURRENT: Any = CurrentPrice.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_HISTORY: Any = PriceHistory.__table__  # type: ignore[attr-defined]  # the same
_COLUMNS = (
    "provider", "gpu", "gpu_count", "capacity_type", "tenancy", "country", "region", "scope", "micro_usd_per_hour",
    "content_hash", "payload", "feed", "offer_id", "valid_from",
)  # fmt: skip
_PLAIN = attrgetter(
    "provider", "gpu", "gpu_count", "capacity_type._value_", "tenancy._value_", "country", "region", "scope"
)  # the first of _COLUMNS
_IDS_PER_STATEMENT = 5_000  # below the bound parameters that either database takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What a batch changes, by offer id."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    unchanged: int
    hashes: Mapping[str, str]  # of new and changed offers

    @property
    def is_empty(self) -> bool:
        """True when nothing has to be written."""
        return not (self.new or self.changed or self.gone)


def difference(connection: Connection, feed: str, offers: Mapping[str, Offer], *, kept_scopes: Collection[str]) -> Difference:
    """Compares a feed's offers with its stored ones; rows of `kept_scopes` that are not among them stay as they are."""
    query = select(_CURRENT.c.offer_id, _CURRENT.c.content_hash, _CURRENT.c.scope).where(_CURRENT.c.feed == feed)
    stored = {offer_id: (content, scope) for offer_id, content, scope in connection.execute(query)}
    new: list[str] = []
    changed: list[str] = []
    hashes: dict[str, str] = {}
    for offer_id, offer in offers.items():
        content = fingerprint(offer)
        before = stored.pop(offer_id, None)
        if before is None:
            new.append(offer_id)
        elif before[0] != content:
            changed.append(offer_id)
        else:
            continue
        hashes[offer_id] = content
    gone = tuple(offer_id for offer_id, (_, scope) in stored.items() if scope not in kept_scopes)
    unchanged = len(offers) - len(hashes)
    return Difference(new=tuple(new), changed=tuple(changed), gone=gone, unchanged=unchanged, hashes=hashes)


def apply_difference(connection: Connection, feed: str, offers: Mapping[str, Offer], found: Difference, *, at: datetime) -> None:
    """Ends the intervals of what changed or went, and begins those of what is new, in the caller's transaction."""
    closed = [*found.changed, *found.gone]
    if closed:
        ensure_history_month(connection, at)
    for start in range(0, len(closed), _IDS_PER_STATEMENT):
        part = closed[start : start + _IDS_PER_STATEMENT]
        is_part = (_CURRENT.c.feed == feed) & _CURRENT.c.offer_id.in_(part)
        ended = select(*(_CURRENT.c[name] for name in _COLUMNS), literal(at, _HISTORY.c.valid_to.type)).where(is_part)
        connection.execute(insert(_HISTORY).from_select([*_COLUMNS, "valid_to"], ended))
        connection.execute(delete(_CURRENT).where(is_part))
    _insert(connection, feed, offers, found.hashes, at)


def _insert(connection: Connection, feed: str, offers: Mapping[str, Offer], hashes: Mapping[str, str], at: datetime) -> None:
    """Bulk insert by the driver itself: a statement per row through the ORM takes four times as long."""
    if not hashes:
        return
    # Without the dialect's own processor SQLite would write a whole second without its fraction, which sorts wrongly.
    bound = _CURRENT.c.valid_from.type.dialect_impl(connection.dialect).bind_processor(connection.dialect)
    moment = at if bound is None else bound(at)
    rows = (  # made as they are sent: a large feed never stands in memory twice
        (*_PLAIN(offer := offers[offer_id]), micro_usd(offer.usd_per_hour), content, offer_to_text(offer), feed, offer_id, moment)
        for offer_id, content in hashes.items()
    )
    names, cursor = ", ".join(_COLUMNS), cast(Any, connection.connection.cursor())
    try:
        if connection.dialect.name == "postgresql":
            with cursor.copy(f"COPY current_prices ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            cursor.executemany(f"INSERT INTO current_prices ({names}) VALUES ({', '.join('?' * len(_COLUMNS))})", rows)
    finally:
        cursor.close()


def ensure_history_month(connection: Connection, at: datetime) -> None:
    """On PostgreSQL, makes the partition that takes intervals which end in the month of `at`."""
    if connection.dialect.name != "postgresql":
        return
    first = at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    name = f"price_history_{first:%Y_%m}"
    if connection.execute(text("SELECT to_regclass(:name)"), {"name": name}).scalar() is None:
        # The names and bounds come from a date that we made, and DDL takes no parameters.
        connection.execute(
            text(
                f"CREATE TABLE {name} PARTITION OF price_history "
                f"FOR VALUES FROM ('{first.isoformat()}') TO ('{following.isoformat()}')"
            )
        )


def drop_history_months(connection: Connection, *, before: datetime) -> int:
    """Forgets the intervals that ended before the month of `before`; whole months only. Returns the rows dropped.

    The caller passes no instant later than the oldest `as_of` that a saved plan needs.
    """
    first = before.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(connection.execute(delete(_HISTORY).where(_HISTORY.c.valid_to < first)).rowcount)


def stored_prices(connection: Connection) -> dict[str, dict[str, int]]:
    """Micro-dollars an hour of every open offer, by feed and offer id."""
    found: dict[str, dict[str, int]] = {}
    for feed, offer_id, micro in connection.execute(select(_CURRENT.c.feed, _CURRENT.c.offer_id, _CURRENT.c.micro_usd_per_hour)):
        found.setdefault(feed, {})[offer_id] = micro
    return found


def offers_at(connection: Connection, instant: datetime) -> dict[str, list[Offer]]:
    """Every offer that was listed at that instant, by feed, in a stable order."""
    found: dict[str, list[Offer]] = {}
    for feed, payload in connection.execute(_held_at(instant)):
        found.setdefault(feed, []).append(offer_from_text(payload))
    return found


def _held_at(instant: datetime) -> Select[Any]:
    current = select(_CURRENT.c.feed, _CURRENT.c.payload, _CURRENT.c.offer_id).where(_CURRENT.c.valid_from <= instant)
    past = select(_HISTORY.c.feed, _HISTORY.c.payload, _HISTORY.c.offer_id).where(
        _HISTORY.c.valid_from <= instant, _HISTORY.c.valid_to > instant
    )
    both = current.union_all(past).subquery()
    return select(both.c.feed, both.c.payload).order_by(both.c.feed, both.c.offer_id)
