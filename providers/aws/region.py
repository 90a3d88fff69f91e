"""One region's rows as offers: on-demand machines from the price list, spot machines from the price history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from providers.aws.advisor import SOURCE as ADVISOR_SOURCE
from providers.aws.advisor import interruption_band
from providers.aws.commitments import commitment_of, named_rows
from providers.aws.instances import InstanceFacts, read_instance_types, shipped_facts, unknown_type
from providers.aws.price_list import (
    Layout,
    Product,
    gp3_usd_per_gb_month,
    newest_first,
    on_demand_usd_per_hour,
    read_products,
)
from providers.aws.scopes import spot_scope
from providers.aws.spot import SpotRecord, newest_per_zone
from providers.base import Json, Refused, collect
from providers.errors import ProviderPayloadInvalid
from providers.gpus import nominal_memory_gb
from providers.offer import (
    NO_GPU,
    NO_PRICE,
    NOT_ON_DEMAND,
    Availability,
    Batch,
    CapacityType,
    Fabric,
    Offer,
    PriceBasis,
    Rejected,
    Tenancy,
)
from providers.places import country_of
from providers.prices import price

TIER = "ec2"
GENERAL_GP3_USD_PER_GB_MONTH = Decimal("0.08")  # us-east-1; where the list read holds no gp3 volume
GENERAL_EGRESS_USD_PER_GB = Decimal("0.09")  # first paid step, the places below; dearer elsewhere, so unknown there
EGRESS_PREFIXES = ("us-", "ca-", "eu-")
NOTE_BILLING = "billed by the second, 60 seconds at least"
NOTE_EGRESS = "egress 0.09 USD per GB is a general figure, not read from the price list"
NOTE_GP3 = "disk 0.08 USD per GB-month is the general figure of us-east-1, not read for this region"
NOTE_NOT_OFFERED = "priced, but not among the machine types that the region offers"


class Section(BaseModel):
    """What was fetched for one region. `instance_types` is None where nobody could be asked (no key)."""

    layout: Layout
    listed: Any
    source: str = ""
    passed_over: int = 0
    instance_types: list[Any] | None = None
    spot: list[Any] | None = None  # None: not asked for, or not to be had
    commitments: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReader:
    """Reads what was fetched for one region."""

    feed: str
    region: str
    section: Section
    bands: Mapping[str, Json]  # machine type: index of its interruption band
    observed_at: datetime

    def batch(self) -> Batch:
        """Offers and refusals of the region.

        Raises:
            ProviderPayloadInvalid: its price list is empty.
        """
        products, rejected = self._products()
        offered, unread = self._offered_types()
        storage = gp3_usd_per_gb_month(products, region=self.region, today=self.observed_at.date())
        shape = _Shape(self, storage_usd=storage)

        def on_demand(product: Product) -> Iterator[Offer]:
            yield self._on_demand_offer(product, offered, shape)

        def spot(record: SpotRecord) -> Iterator[Offer]:
            yield self._spot_offer(record, offered, shape)

        machines = [product for product in products if product.instanceType]
        listed = collect(
            ((f"{self.region} {product.sku}", product) for product in newest_first(machines, today=self.observed_at.date())),
            on_demand,
        )
        records, superseded = newest_per_zone(self.section.spot or ())
        market = collect(((f"{self.region} {one.instance_type} {one.zone}", one) for one in records), spot)
        bought = collect(
            named_rows(self.section.commitments, self.region), lambda row: iter((self._committed_offer(row, offered, shape),))
        )
        unpriced = _without_price(self.region, offered, machines)
        return Batch(
            offers=listed.offers + market.offers + bought.offers,
            rejected=(*rejected, *unread, *listed.rejected, *unpriced, *superseded, *market.rejected, *bought.rejected),
        )

    def _products(self) -> tuple[list[Product], list[Rejected]]:
        try:
            products, rejected = read_products(self.section.layout, self.section.listed)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ProviderPayloadInvalid(self.feed, f"{self.region}: the price list is none") from error
        if not products:
            raise ProviderPayloadInvalid(self.feed, f"{self.region}: the price list is empty")
        return products, rejected

    def _offered_types(self) -> tuple[dict[str, InstanceFacts] | None, list[Rejected]]:
        """What the region says it offers; None when it was not asked."""
        entries = self.section.instance_types
        return (None, []) if entries is None else read_instance_types(entries)

    def _on_demand_offer(self, product: Product, offered: dict[str, InstanceFacts] | None, shape: "_Shape") -> Offer:
        facts = (offered or {}).get(product.instanceType) or shipped_facts().get(product.instanceType)
        if facts is None and not product.has_gpu:
            raise Refused(NO_GPU, product.instanceType)
        usd_per_hour = on_demand_usd_per_hour(product, region=self.region, today=self.observed_at.date())
        if facts is None:
            raise unknown_type(product.instanceType)
        is_offered = offered is None or product.instanceType in offered
        return Offer(
            **shape.of(facts, () if is_offered else (NOTE_NOT_OFFERED,)),
            capacity_type=CapacityType.ON_DEMAND,
            usd_per_hour=usd_per_hour,
            availability=Availability.UNKNOWN if is_offered else Availability.UNAVAILABLE,
            source=self.section.source,
        )

    def _spot_offer(self, record: SpotRecord, offered: dict[str, InstanceFacts] | None, shape: "_Shape") -> Offer:
        facts = (offered or {}).get(record.instance_type) or shipped_facts().get(record.instance_type)
        if facts is None:
            raise unknown_type(record.instance_type)
        band = interruption_band(self.bands.get(record.instance_type))
        notes = [f"spot price in force since {record.since.isoformat()}"]
        if record.zone_id:
            notes.append(f"zone id {record.zone_id}: zone names differ between accounts, ids do not")
        return Offer(
            **shape.of(facts, tuple(notes), is_spot=True),
            capacity_type=CapacityType.SPOT,
            price_basis=PriceBasis.SPOT,
            usd_per_hour=price(record.usd),
            zone=record.zone,
            interruption_fraction_per_month=band,
            interruption_source=ADVISOR_SOURCE if band else None,
            source="EC2 DescribeSpotPriceHistory",
        )

    def _committed_offer(self, row: tuple[str, Json], offered: dict[str, InstanceFacts] | None, shape: "_Shape") -> Offer:
        known = {**shipped_facts(), **(offered or {})}
        one = commitment_of(row, known)
        if (facts := known.get(one.instance_type)) is None:
            raise unknown_type(one.instance_type)
        return Offer(
            **shape.of(facts, (one.note,)),
            capacity_type=CapacityType.RESERVED,
            usd_per_hour=one.usd_per_hour,
            upfront_usd=Decimal(0),  # what is paid in advance is the hours themselves
            term_months=one.term_months,
            zone=one.zone,
            availability=one.availability,
            source="AWS Savings Plans and Capacity Block offerings",
        )


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields that on-demand and spot offers of one machine share."""

    reader: RegionReader
    storage_usd: Decimal | None

    def of(self, facts: InstanceFacts, notes: Sequence[str], *, is_spot: bool = False) -> dict[str, Any]:
        region = self.reader.region
        match = facts.find_gpu()
        has_egress = region.startswith(EGRESS_PREFIXES)
        general = [NOTE_EGRESS] if has_egress else []
        if self.storage_usd is None:
            general.append(NOTE_GP3)
        is_share = facts.gpu_count < 1
        return {
            "feed": self.reader.feed,
            "provider": self.reader.feed,
            "tier": TIER,
            "tenancy": Tenancy.HYPERSCALER,
            "instance_type": facts.instance_type,
            "gpu": match.gpu.name,
            "gpu_count": facts.gpu_count,
            "gpu_memory_gb": nominal_memory_gb(match.gpu, facts.gpu_memory_mib) if is_share else match.gpu.memory_gb,
            "gpu_memory_reported_mib": facts.gpu_memory_mib,
            "gpu_raw_name": facts.gpu_raw_name,
            "form_factor": match.form_factor,
            "interconnect": facts.interconnect,
            "fabric": Fabric.EFA if facts.efa_interfaces else Fabric.ETHERNET,
            "arch": facts.arch,
            "vcpus": facts.vcpus,
            "memory_gib": facts.memory_gib,
            "disk_included_gb": facts.disk_gb,
            "region": region,
            "country": country_of("aws", region),
            "storage_usd_per_gb_month": GENERAL_GP3_USD_PER_GB_MONTH if self.storage_usd is None else self.storage_usd,
            "egress_usd_per_gb": GENERAL_EGRESS_USD_PER_GB if has_egress else None,
            "billing_increment_seconds": 1,
            "observed_at": self.reader.observed_at,
            "scope": spot_scope(region) if is_spot else region,
            "notes": (NOTE_BILLING, *general, *notes),
        }


def _without_price(region: str, offered: dict[str, InstanceFacts] | None, machines: Sequence[Product]) -> list[Rejected]:
    """Machines that the region offers and its price list does not name: said, so that nobody looks for them."""
    priced = {product.instanceType for product in machines}
    absent = [facts for name, facts in (offered or {}).items() if name not in priced]
    return [
        Rejected(
            reason=NOT_ON_DEMAND if "capacity-block" in facts.usage_classes else NO_PRICE,
            row=f"{region} {facts.instance_type}",
            detail="offered without an on-demand price: as capacity blocks or spot only",
        )
        for facts in absent
    ]
