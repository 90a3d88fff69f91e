"""Offers of Azure's machines out of the rows of its price list: the newest row in force of each, at its own price.

Of several rows for one machine, place and kind the newest that is in force counts, even where its price cannot be read:
an older price is not today's.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from pydantic import ValidationError

from providers.azure.retail import SOURCE
from providers.azure.rows import Kind, Row
from providers.azure.shapes import Shape, looks_like_gpu_size, shapes
from providers.base import Json, Refused, collect
from providers.errors import ProviderPayloadInvalid
from providers.offer import (
    DUPLICATE,
    MALFORMED,
    NO_GPU,
    OUT_OF_SCOPE,
    UNKNOWN_GPU,
    Batch,
    CapacityType,
    Offer,
    PriceBasis,
    Rejected,
    Tenancy,
)
from providers.places import country_of
from providers.units import MONTHS_PER_YEAR

NOTE_DISK = "the temporary disk is in the price, the managed disk of the system is not"
_Key = tuple[str, str, Kind, int]


@dataclass(frozen=True, slots=True)
class _Quote:
    """One price of one machine at one place. `years` is 0 without a commitment."""

    shape: Shape
    region: str
    kind: Kind
    years: int
    usd_per_hour: Decimal
    words: str  # which commitment


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferReader:
    """Reads rows for one seller: Azure's machines and Azure ML differ in what is preemptible and in the tier."""

    feed: str
    preemptible: Kind
    tier_of: Callable[[Shape], str | None]  # None: this seller does not have the size
    notes: tuple[str, ...]
    observed_at: datetime

    def batch(self, items: Json) -> Batch:
        """All offers, and every other row counted.

        Raises:
            ProviderPayloadInvalid: there is not one row.
        """
        if not isinstance(items, list) or not items:
            raise ProviderPayloadInvalid(self.feed, "the price list is empty")
        rejected: list[Rejected] = []
        chosen = self._newest(items, rejected)
        quotes: list[_Quote] = []
        for name, row in chosen:
            try:
                quotes += self._quotes(row)
            except (Refused, ValueError) as error:
                rejected.append(_rejected(name, error))
        made = collect(self._machines(quotes), lambda offer: [offer])
        return Batch(offers=made.offers, rejected=(*rejected, *made.rejected), row_count=len(items))

    def _newest(self, items: list[Json], rejected: list[Rejected]) -> list[tuple[str, Row]]:
        """One row for each machine, place, kind and term. Of two that begin at one moment the dearer: it is never too good."""
        best: dict[_Key, tuple[str, Row]] = {}
        for index, raw in enumerate(items):
            name = f"item {index}"
            try:
                row = Row.model_validate(raw)
                key = self._key(row)
            except (Refused, ValidationError, ValueError) as error:
                rejected.append(_rejected(name, error))
                continue
            held = best.get(key)
            if held is None:
                best[key] = (name, row)
                continue
            older, newer = sorted((held, (name, row)), key=lambda one: one[1].precedence)
            best[key] = newer
            same_day = older[1].effectiveStartDate == newer[1].effectiveStartDate
            reason, detail = (DUPLICATE, "a second price of that day") if same_day else (OUT_OF_SCOPE, "an older price")
            rejected.append(Rejected(reason=reason, row=older[0], detail=detail))
        return list(best.values())

    def _key(self, row: Row) -> _Key:
        kind = row.kind
        row.check_in_force(self.observed_at)
        self._shape(row)
        if kind in (Kind.SPOT, Kind.LOW_PRIORITY) and kind is not self.preemptible:
            raise Refused(OUT_OF_SCOPE, "another kind of preemptible machine than this seller's")
        return row.armSkuName.casefold(), row.armRegionName.casefold(), kind, row.term_years

    def _shape(self, row: Row) -> Shape:
        if not row.armRegionName:
            raise Refused(OUT_OF_SCOPE, "of no region")
        if not row.armSkuName:
            raise Refused(OUT_OF_SCOPE, "a meter that names no size")
        shape = shapes().get(row.armSkuName.casefold())
        if shape is None:
            is_gpu = looks_like_gpu_size(row.armSkuName)
            raise Refused(UNKNOWN_GPU if is_gpu else NO_GPU, re.sub(r"[^A-Za-z0-9_ .-]", "?", row.armSkuName))
        if self.tier_of(shape) is None:
            raise Refused(OUT_OF_SCOPE, "a size that this seller does not have")
        return shape

    def _quotes(self, row: Row) -> Iterator[_Quote]:
        shape, region, kind = self._shape(row), row.armRegionName.casefold(), row.kind
        yield _Quote(shape, region, kind, row.term_years, row.usd_per_hour(), "reservation" if row.term_years else "")
        if kind is Kind.ON_DEMAND:
            for years, usd in row.savings_plans():
                yield _Quote(shape, region, Kind.RESERVATION, years, usd, "savings plan")

    def _machines(self, quotes: Iterable[_Quote]) -> Iterator[tuple[str, Offer]]:
        """An offer for each price; of a reservation and a savings plan of one length the cheaper, the other in its notes."""
        groups: dict[tuple[str, str, Kind, int], list[_Quote]] = {}
        for quote in quotes:
            groups.setdefault((quote.shape.size, quote.region, quote.kind, quote.years), []).append(quote)
        for (size, region, _, _), group in groups.items():
            cheapest, *others = sorted(group, key=lambda one: (one.usd_per_hour, one.words))
            said = [f"{one.words} of the same length: {one.usd_per_hour:.6f} USD per hour" for one in others]
            yield f"{region} {size}", self._offer(cheapest, (cheapest.words, *said) if cheapest.years else ())

    def _offer(self, quote: _Quote, said: tuple[str, ...]) -> Offer:
        shape, years = quote.shape, quote.years
        is_spot = quote.kind in (Kind.SPOT, Kind.LOW_PRIORITY)
        capacity = CapacityType.RESERVED if years else CapacityType.SPOT if is_spot else CapacityType.ON_DEMAND
        return Offer(
            feed=self.feed,
            provider=self.feed,
            tier=self.tier_of(shape) or "",
            tenancy=Tenancy.HYPERSCALER,
            instance_type=shape.size,
            gpu=shape.gpu.name,
            gpu_count=shape.gpu_count,
            gpu_memory_gb=shape.gpu_memory_gb,
            gpu_raw_name=shape.size,
            form_factor=shape.gpu.form_factor,
            interconnect=shape.interconnect,
            fabric=shape.fabric,
            arch=shape.arch,
            vcpus=shape.vcpus,
            memory_gib=shape.memory_gib,
            disk_included_gb=shape.temp_disk_gb,
            capacity_type=capacity,
            price_basis=PriceBasis.SPOT if is_spot else PriceBasis.LIST,
            usd_per_hour=quote.usd_per_hour,
            term_months=years * MONTHS_PER_YEAR if years else None,
            region=quote.region,
            country=country_of(self.feed, quote.region),
            observed_at=self.observed_at,
            source=SOURCE,
            notes=(NOTE_DISK, *self.notes, *said),
        )


def _rejected(name: str, error: Exception) -> Rejected:
    """Where and what, without the value."""
    if isinstance(error, Refused):
        return Rejected(reason=error.reason, row=name, detail=error.detail)
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return Rejected(reason=MALFORMED, row=name, detail=f"{'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:120]}")
    return Rejected(reason=MALFORMED, row=name, detail=type(error).__name__)
