"""History: what was charged for some cards over a time, a part at a time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine

from providers.errors import InvalidInput
from service.domain.history import HistoryPage, HistoryQuery, utc
from service.flows.offers import cards_named
from service.store.engine import reading
from service.store.history import price_intervals

DEFAULT_SPAN = timedelta(days=30)
Key = tuple[datetime, str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listing goes on: its time, fixed on the first page, and the key of the last interval shown."""

    since: datetime
    until: datetime
    after: Key | None = None


def first_place(query: HistoryQuery, now: datetime) -> Place:
    """The beginning of a listing.

    Raises:
        InvalidInput: the time asked for is empty.
    """
    until = utc(query.until or now)
    since = utc(query.since) if query.since is not None else until - DEFAULT_SPAN
    if since >= until:
        raise InvalidInput("from must be before to", pointer="/from")
    return Place(since, until)


def list_history(engine: Engine, query: HistoryQuery, place: Place) -> tuple[HistoryPage, Place | None]:
    """The intervals at `place`, and the next place; None when there is nothing more.

    Raises:
        UnknownGpu: a card is not in the table.
    """
    cards = cards_named(query.gpu)
    with reading(engine) as connection:
        found = price_intervals(
            connection,
            gpus=cards or (),
            providers=query.provider or None,
            capacity_types=query.capacity_type or None,
            since=place.since,
            until=place.until,
            after=place.after,
            limit=query.limit + 1,
        )
    shown = tuple(found[: query.limit])
    more = Place(place.since, place.until, shown[-1].key) if len(found) > query.limit else None
    return HistoryPage(intervals=shown, since=place.since, until=place.until, next_cursor=None), more
