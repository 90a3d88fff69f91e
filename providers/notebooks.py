"""Reading the tables of hosted notebooks: machines without a price interface, by hand, each row dated and with its source.

A row is a machine of one tier. Paid rows state compute units per hour, sold at one price per unit; rows of the free tier
cost nothing and are told apart by their capacity type alone.
"""

import csv
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from providers.base import Json, Refused, collect
from providers.errors import ProviderPayloadInvalid
from providers.gpus import find_gpu
from providers.interconnect import interconnect_of
from providers.offer import MALFORMED, NO_PRICE, Arch, Batch, CapacityType, Offer, PriceBasis, Tenancy
from providers.price_cells import Cells

COLUMNS = (
    "tier", "gpu", "gpu_memory_gb", "form_factor", "gpu_count", "capacity_type", "units_per_hour", "session_limit_hours",
    "weekly_quota_hours", "vcpus", "memory_gib", "as_of", "source", "note",
)  # fmt: skip
MANUAL = "manual: there is no price interface, this row was written down by hand"
NO_CHOICE = "which card a session gets is not guaranteed"
_MOST_UNITS = Decimal(1_000)
_MOST_HOURS_A_WEEK = 168


def read_notebooks(
    provider: str, text: Json, *, usd_per_unit: Decimal | None, notes: tuple[str, ...], observed_at: datetime
) -> Batch:
    """The offers of a table with exactly COLUMNS.

    Args:
        usd_per_unit: price of a compute unit; None where nothing is sold.
    Raises:
        ProviderPayloadInvalid: it is no such table, or empty.
    """
    rows = list(_rows(provider, text))
    if not rows:
        raise ProviderPayloadInvalid(provider, "the table is empty")

    def offers(cells: Cells) -> Iterator[Offer]:
        yield _offer(provider, cells, usd_per_unit, notes, observed_at)

    return collect(rows, offers)


def _rows(provider: str, text: Json) -> Iterator[tuple[str, Cells]]:
    if not isinstance(text, str):
        raise ProviderPayloadInvalid(provider, "the table is no text")
    try:
        header, *rows = list(csv.reader(text.splitlines(), strict=True)) or [[]]
    except csv.Error:
        raise ProviderPayloadInvalid(provider, "the table is no CSV") from None
    if tuple(header) != COLUMNS:
        raise ProviderPayloadInvalid(provider, "the table has other columns")
    for line, row in enumerate(rows, start=2):
        yield f"line {line}", Cells(dict(zip(COLUMNS, row, strict=False)))


def _offer(provider: str, cells: Cells, usd_per_unit: Decimal | None, notes: tuple[str, ...], observed_at: datetime) -> Offer:
    kind = cells.choice("capacity_type", CapacityType, default=CapacityType.ON_DEMAND)
    count = cells.number("gpu_count", least=1, most=16)
    if count is None or not count.is_integer() or kind not in (CapacityType.ON_DEMAND, CapacityType.FREE_TIER):
        raise Refused(MALFORMED, "column gpu_count or capacity_type: whole cards, on demand or free")
    as_of, source = cells.day("as_of"), cells.text("source", longest=400)
    usd_per_hour = _usd_per_hour(cells, kind, usd_per_unit)
    if as_of is None or not source or as_of > observed_at.date():
        raise Refused(MALFORMED, "column as_of or source: a row says from when and where it is")
    match = find_gpu(
        cells.required_text("gpu"),
        memory_gb=cells.number("gpu_memory_gb", least=1, most=1_000),
        form_factor=cells.text("form_factor") or None,
    )
    return Offer(
        feed=provider,
        provider=provider,
        tier=cells.required_text("tier"),
        instance_type=None,
        gpu=match.gpu.name,
        gpu_count=count,
        gpu_memory_gb=match.gpu.memory_gb,
        gpu_raw_name=cells.text("gpu"),
        form_factor=match.form_factor,
        interconnect=interconnect_of(match),
        arch=Arch.X86_64,
        capacity_type=kind,
        tenancy=Tenancy.PROVIDER_DATACENTER,
        usd_per_hour=usd_per_hour,
        price_basis=PriceBasis.LIST if kind is CapacityType.FREE_TIER else PriceBasis.ESTIMATE,
        vcpus=cells.number("vcpus", most=1_000),
        memory_gib=cells.number("memory_gib", most=10_000),
        session_limit_hours=cells.number("session_limit_hours", least=0.1, most=_MOST_HOURS_A_WEEK),
        weekly_quota_hours=cells.number("weekly_quota_hours", least=0.1, most=_MOST_HOURS_A_WEEK),
        observed_at=observed_at,
        as_of=as_of,
        is_dated=True,
        source=source,
        notes=(MANUAL, NO_CHOICE, *notes, *filter(None, (cells.text("note", longest=300),))),
    )


def _usd_per_hour(cells: Cells, kind: CapacityType, usd_per_unit: Decimal | None) -> Decimal:
    """Units an hour at the price of a unit; 0 for the free tier. Raises Refused when a paid row has no rate."""
    units = cells.decimal("units_per_hour", least=Decimal("0.01"), most=_MOST_UNITS)
    if kind is CapacityType.FREE_TIER:
        if units is not None:
            raise Refused(MALFORMED, "column units_per_hour: a free machine uses none")
        return Decimal(0)
    if units is None or usd_per_unit is None:
        raise Refused(NO_PRICE, "no dated usage rate in compute units per hour")
    return units * usd_per_unit
