"""Machines of Vertex AI: on demand from the service's own parts, spot from Compute Engine's parts and the management fee.

On demand the fee is in the service's own prices: billing reports of 2025 show no other line, and an H100 stands there at
1.15 times Compute Engine's price, the fee's own SKU at 0.15. Spot machines are billed as Compute Engine's spot parts plus
the fee SKUs; such a sum is an estimate. Boot disks are in neither. A4 is left out: how Vertex cuts its SKU was not read.
Source: vendor's price page as quoted and billing reports with SKU descriptions of August 2025, read 2026-10.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from providers.base import Json, Refused
from providers.gcp.book import MissingPart, PriceBook, cost, told
from providers.gcp.machines import Dropped, machine_fields, machines_at, refusals
from providers.gcp.shapes import Shape, gpu_part
from providers.gcp.skus import Bought, Sku, check_kind, part_of
from providers.offer import NO_GPU, CapacityType, Offer, PriceBasis, Rejected

SOURCE = "Cloud Billing Catalog API, Vertex AI"
SOURCE_SPOT = "Cloud Billing Catalog API, Compute Engine spot parts and Vertex AI management fee"
NOTE_DISK = "the boot disk is not in the price"
NOTE_ESTIMATE = "an estimate: Compute Engine's spot parts plus the management fee; a job is stopped when the machine is"
TIERS = {"training/pipelines": "training", "online/batch prediction": "prediction"}
_DESCRIPTION = re.compile(rf"^vertex ai: (?P<purpose>{'|'.join(TIERS)})(?P<fee> management fee)?(?: on)? (?P<part>.+)$")


class Use(NamedTuple):
    """What a SKU is for: training or prediction, the thing itself or the management fee on it, and how it is bought."""

    tier: str
    is_fee: bool
    bought: Bought


def is_vertex_machine_sku(raw: Json) -> bool:
    """True for a part of a GPU machine in training or prediction, and for the fee on one."""
    description = raw.get("description") if isinstance(raw, dict) else None
    return not isinstance(description, str) or _read(" ".join(description.casefold().split())) is not None


def vertex_place_of(sku: Sku) -> tuple[Use, str]:
    """What a SKU is for and which part it is. Raises Refused for what is none."""
    if (read := _read(sku.words)) is None:
        raise Refused(NO_GPU, "no part of a GPU machine in training or prediction")
    found, part = read
    check_kind(sku.words, sku.bought)
    return Use(TIERS[found["purpose"]], found["fee"] is not None, sku.bought), part


def _read(words: str) -> tuple["re.Match[str]", str] | None:
    found = _DESCRIPTION.match(words)
    part = part_of(found["part"]) if found else None
    return None if found is None or part is None else (found, part)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedMachines:
    """Puts machines together from the service's own prices and Compute Engine's."""

    feed: str
    own: PriceBook[Use]
    compute: PriceBook[Bought]
    observed_at: datetime

    def offers(self) -> tuple[list[Offer], list[Rejected]]:
        """All machines whose parts and fees one region prices, and those that lack one there."""
        offers: list[Offer] = []
        dropped: list[Dropped] = []
        for tier in TIERS.values():
            for region, shape, kind in (*self._on_demand(tier), *self._spot(tier)):
                try:
                    offers.append(self._offer(tier, region, shape, kind))
                except MissingPart as error:
                    dropped.append(Dropped(error.part, shape, f"{region} {tier}", kind, self._prices(tier, region, kind)))
        return offers, refusals(dropped, offers)

    def _on_demand(self, tier: str) -> Iterator[tuple[str, Shape, Bought]]:
        """Prediction serves A3 machines with fewer than eight cards on demand too, which Compute Engine does not."""
        key = Use(tier, False, Bought.ON_DEMAND)
        for region in self.own.regions(key):
            for shape in machines_at(self.own.at(key, region), None if tier == "prediction" else Bought.ON_DEMAND):
                if not shape.is_slice:
                    yield region, shape, Bought.ON_DEMAND

    def _spot(self, tier: str) -> Iterator[tuple[str, Shape, Bought]]:
        fee = Use(tier, True, Bought.ON_DEMAND)
        for region in self.own.regions(fee):
            fees, spot = self.own.at(fee, region), self.compute.at(Bought.SPOT, region)
            for shape in machines_at(spot, Bought.SPOT):
                if gpu_part(shape.accelerator) in fees and gpu_part(shape.accelerator) in spot and not shape.is_slice:
                    yield region, shape, Bought.SPOT

    def _fees(self, tier: str, region: str, shape: Shape) -> dict[str, Decimal]:
        fees = self.own.at(Use(tier, True, Bought.ON_DEMAND), region)
        named = {f"management fee on {part}": usd for part, usd in fees.items()}
        return cost({f"management fee on {part}": count for part, count in shape.parts(with_ssd=False).items()}, named)

    def _offer(self, tier: str, region: str, shape: Shape, kind: Bought) -> Offer:
        is_spot = kind is Bought.SPOT
        if is_spot:
            lines = cost(shape.parts(), self.compute.at(kind, region)) | self._fees(tier, region, shape)
            notes = (NOTE_ESTIMATE,)
        else:
            lines = cost(shape.parts(with_ssd=False), self.own.at(Use(tier, False, kind), region))
            notes = (self._fee_note(tier, region, shape),)
        return Offer(
            **machine_fields(shape, feed=self.feed, region=region, observed_at=self.observed_at, has_local_ssd=is_spot),
            tier=tier,
            capacity_type=CapacityType.SPOT if is_spot else CapacityType.ON_DEMAND,
            price_basis=PriceBasis.ESTIMATE if is_spot else PriceBasis.LIST,
            usd_per_hour=sum(lines.values(), Decimal(0)),
            source=SOURCE_SPOT if is_spot else SOURCE,
            notes=(told(lines), *notes, NOTE_DISK),
        )

    def _prices(self, tier: str, region: str, kind: Bought) -> Mapping[str, Decimal]:
        """What the region prices of the machine itself."""
        return self.compute.at(kind, region) if kind is Bought.SPOT else self.own.at(Use(tier, False, kind), region)

    def _fee_note(self, tier: str, region: str, shape: Shape) -> str:
        try:
            fee = sum(self._fees(tier, region, shape).values(), Decimal(0))
        except MissingPart:
            return "the management fee is in the price; how much it is, is not listed for this region"
        return f"the management fee is in the price: {fee:.6f} USD per hour by its own SKUs"
