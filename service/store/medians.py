"""What the 30-day medians are made of, and where they are kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, literal, select

from providers.offer import CapacityType, Tenancy
from service.solver.tables import MedianKey, PriceMedian
from service.store.tables import CurrentPrice, PriceHistory, PriceMedianRow

_CURRENT: Any = CurrentPrice.__table__  # type: ignore[attr-defined]  # SQLModel sets it on table classes
_HISTORY: Any = PriceHistory.__table__  # type: ignore[attr-defined]  # the same
_MEDIANS: Any = PriceMedianRow.__table__  # type: ignore[attr-defined]  # the same
_READ = ("provider", "gpu", "capacity_type", "country", "gpu_count", "micro_usd_per_hour", "valid_from")


@dataclass(frozen=True, slots=True)
class PricedSpan:
    """One offer's price over a part of the window."""

    provider: str
    gpu: str
    capacity_type: str
    country: str | None
    usd_per_gpu_hour: float
    begins: datetime
    ends: datetime


def priced_spans(connection: Connection, *, begins: datetime, ends: datetime) -> Iterator[PricedSpan]:
    """Spot and marketplace prices that held in [begins, ends), cut to it: the ones that move by themselves."""
    for table, valid_to in ((_CURRENT, literal(ends, _HISTORY.c.valid_to.type)), (_HISTORY, _HISTORY.c.valid_to)):
        moves = (table.c.capacity_type == CapacityType.SPOT.value) | (table.c.tenancy == Tenancy.COMMUNITY_HOST.value)
        query = select(*(table.c[name] for name in _READ), valid_to).where(moves, table.c.valid_from < ends)
        if table is _HISTORY:
            query = query.where(_HISTORY.c.valid_to > begins)
        for row in connection.execute(query):
            provider, gpu, kind, country, count, micro_usd, valid_from, until = tuple(row)
            price = micro_usd / 1e6 / count
            yield PricedSpan(provider, gpu, kind, country, price, max(valid_from, begins), min(until, ends))


def save_medians(connection: Connection, medians: Iterable[tuple[MedianKey, PriceMedian]]) -> None:
    """Replaces all medians."""
    connection.execute(delete(_MEDIANS))
    rows = [
        {
            "provider": provider,
            "gpu": gpu,
            "capacity_type": capacity_type,
            "region_class": region_class,
            "usd_per_gpu_hour": median.usd_per_gpu_hour,
            "low_usd_per_gpu_hour": median.low_usd_per_gpu_hour,
            "high_usd_per_gpu_hour": median.high_usd_per_gpu_hour,
            "days": median.days,
        }
        for (provider, gpu, capacity_type, region_class), median in medians
    ]
    if rows:
        connection.execute(insert(_MEDIANS), rows)
