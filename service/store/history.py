"""Price history: the intervals of time in which offers of some cards were sold at a price."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, literal, select, tuple_

from providers.offer import CapacityType, Tenancy
from providers.units import usd_from_micro
from service.domain.history import PriceInterval
from service.store.tables import CurrentPrice, PriceHistory

_CURRENT: Any = CurrentPrice.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_HISTORY: Any = PriceHistory.__table__  # type: ignore[attr-defined]  # the same
_SHOWN = (
    "offer_id", "feed", "provider", "gpu", "gpu_count", "capacity_type", "tenancy", "country", "region", "micro_usd_per_hour",
    "valid_from",
)  # fmt: skip


def price_intervals(
    connection: Connection,
    *,
    gpus: Collection[str],
    providers: Collection[str] | None,
    capacity_types: Collection[str] | None,
    since: datetime,
    until: datetime,
    after: tuple[datetime, str, str] | None,
    limit: int,
) -> list[PriceInterval]:
    """Up to `limit` intervals that overlap [since, until), by start, feed and offer id, beginning behind the key `after`."""
    both = (
        select(*(_HISTORY.c[name] for name in _SHOWN), _HISTORY.c.valid_to)
        .where(*_meets(_HISTORY, gpus, providers, capacity_types), _HISTORY.c.valid_from < until, _HISTORY.c.valid_to > since)
        .union_all(
            select(*(_CURRENT.c[name] for name in _SHOWN), literal(None, _HISTORY.c.valid_to.type)).where(
                *_meets(_CURRENT, gpus, providers, capacity_types), _CURRENT.c.valid_from < until
            )
        )
        .subquery()
    )
    columns = list(both.c)
    starts, feed, offer_id = both.c.valid_from, both.c.feed, both.c.offer_id
    query = select(*columns).order_by(starts, feed, offer_id).limit(limit)
    if after is not None:
        last = tuple_(literal(after[0], starts.type), literal(after[1], feed.type), literal(after[2], offer_id.type))
        query = query.where(tuple_(starts, feed, offer_id) > last)
    return [_interval(row) for row in connection.execute(query)]


def _meets(table: Any, gpus: Collection[str], providers: Collection[str] | None, kinds: Collection[str] | None) -> list[Any]:
    found = [table.c.gpu.in_(sorted(gpus))]
    if providers is not None:
        found.append(table.c.provider.in_(sorted(providers)))
    if kinds is not None:
        found.append(table.c.capacity_type.in_(sorted(kinds)))
    return found


def _interval(row: Any) -> PriceInterval:
    offer_id, feed, provider, gpu, gpu_count, capacity_type, tenancy, country, region, micro_usd, valid_from, valid_to = row
    usd = usd_from_micro(micro_usd)
    return PriceInterval(
        offer_id=offer_id,
        feed=feed,
        provider=provider,
        gpu=gpu,
        gpu_count=gpu_count,
        capacity_type=CapacityType(capacity_type),
        tenancy=Tenancy(tenancy),
        country=country,
        region=region,
        usd_per_hour=float(usd),
        usd_per_gpu_hour=round(float(usd) / gpu_count, 6),
        valid_from=valid_from,
        valid_to=valid_to,
    )
