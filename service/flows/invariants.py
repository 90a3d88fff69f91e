"""Invariants: the checks of the tables, and that each feed's blob holds what its rows hold."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from service.solver.columns import unpack
from service.store import feeds, prices
from service.store.engine import reading
from service.store.invariants import Violation, violations

if TYPE_CHECKING:
    from sqlalchemy import Engine


def broken_invariants(engine: "Engine") -> list[Violation]:
    """All of one moment; empty when the database is sound."""
    with reading(engine) as connection:
        return [*violations(connection), *_blobs(connection)]


def _blobs(connection: Connection) -> Iterator[Violation]:
    stored = prices.stored_prices(connection)
    for feed in sorted(stored.keys() | feeds.packed_versions(connection).keys()):
        packed = feeds.packed_columns(connection, feed)
        columns = None if packed is None else unpack(packed[1])
        held = {} if columns is None else {columns.offer_id(row): columns.usd_per_hour[row] for row in range(columns.rows)}
        rows = stored.get(feed, {})
        differ = [
            offer_id
            for offer_id in rows.keys() | held.keys()
            if offer_id not in rows or offer_id not in held or round(float(held[offer_id]) * 1e6) != rows[offer_id]
        ]
        if differ or (columns is not None and columns.rows != len(held)):
            yield Violation("a feed's blob holds what its rows hold", max(len(differ), 1), f"{feed}, {min(differ, default='')}")
