"""One region's rows as offers: on-demand machines for training and hosting, and managed spot training as an estimate."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from providers.aws.advisor import SOURCE as ADVISOR_SOURCE
from providers.aws.advisor import interruption_band
from providers.aws.instances import InstanceFacts
from providers.aws.price_list import Layout, newest_first, read_listed
from providers.base import Json, collect
from providers.errors import ProviderPayloadInvalid
from providers.offer import Batch, CapacityType, Fabric, Offer, PriceBasis, Tenancy
from providers.places import country_of
from providers.sagemaker.products import CSV_FIELDS, MlProduct, facts_of, on_demand_usd_per_hour

NAME = "sagemaker"
NOTE_MANAGED = "managed: the price holds the service, billed by the second; its storage volumes are billed apart"
NOTE_SPOT = (
    "estimate: managed spot training has no price list; the on-demand price less the share that EC2 spot saves on this"
    " machine, a monthly mean"
)
NOTE_EGRESS = "egress 0.09 USD per GB is a general figure, not read from the price list"
SPOT_SOURCE = "AmazonSageMaker on-demand price and EC2 Spot Advisor saving: an estimate"
_EGRESS_USD_PER_GB = Decimal("0.09")
_EGRESS_PREFIXES = ("us-", "ca-", "eu-")  # dearer elsewhere, so unknown there


class Section(BaseModel):
    """What was fetched for one region."""

    layout: Layout
    listed: Any
    source: str = ""
    passed_over: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReader:
    """Reads what was fetched for one region. `advisor` holds s (percent saved) and r (band) per EC2 machine type."""

    region: str
    section: Section
    advisor: Mapping[str, Json]
    observed_at: datetime

    def batch(self) -> Batch:
        """Offers and refusals of the region. Raises ProviderPayloadInvalid when its price list holds nothing."""
        today = self.observed_at.date()
        try:
            products, rejected = read_listed(MlProduct, self.section.layout, self.section.listed, csv_fields=CSV_FIELDS)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ProviderPayloadInvalid(NAME, f"{self.region}: the price list is none") from error
        if not products:
            raise ProviderPayloadInvalid(NAME, f"{self.region}: the price list is empty")
        rows = ((f"{self.region} {one.sku}", one) for one in newest_first(products, today=today))
        made = collect(rows, self._offers)
        return replace(made, rejected=(*rejected, *made.rejected))

    def _offers(self, product: MlProduct) -> Iterator[Offer]:
        facts = facts_of(product)
        usd_per_hour = on_demand_usd_per_hour(product, region=self.region, today=self.observed_at.date())
        listed = self._listed(product, facts, usd_per_hour)
        yield listed
        saved = _saved_percent(self.advisor.get(facts.instance_type)) if product.tier == "training" else None
        if saved is not None and "spot" in facts.usage_classes:
            band = interruption_band(self.advisor[facts.instance_type].get("r"))
            yield replace(
                listed,
                capacity_type=CapacityType.SPOT,
                price_basis=PriceBasis.ESTIMATE,
                usd_per_hour=usd_per_hour * (100 - saved) / 100,
                interruption_fraction_per_month=band,
                interruption_source=ADVISOR_SOURCE if band else None,
                source=SPOT_SOURCE,
                notes=(f"{NOTE_SPOT}: {saved} %", *listed.notes),
            )

    def _listed(self, product: MlProduct, facts: InstanceFacts, usd_per_hour: Decimal) -> Offer:
        match = facts.find_gpu()
        has_egress = self.region.startswith(_EGRESS_PREFIXES)
        return Offer(
            feed=NAME,
            provider=NAME,
            tier=product.tier or "",
            instance_type=f"ml.{facts.instance_type}",
            gpu=match.gpu.name,
            gpu_count=facts.gpu_count,
            gpu_memory_gb=match.gpu.memory_gb * min(1.0, facts.gpu_count),
            gpu_memory_reported_mib=facts.gpu_memory_mib,
            gpu_raw_name=facts.gpu_raw_name,
            form_factor=match.form_factor,
            interconnect=facts.interconnect,
            fabric=Fabric.EFA if facts.efa_interfaces else Fabric.ETHERNET,
            arch=facts.arch,
            vcpus=facts.vcpus,
            memory_gib=facts.memory_gib,
            disk_included_gb=facts.disk_gb,
            capacity_type=CapacityType.ON_DEMAND,
            tenancy=Tenancy.HYPERSCALER,
            region=self.region,
            country=country_of("aws", self.region),
            usd_per_hour=usd_per_hour,
            egress_usd_per_gb=_EGRESS_USD_PER_GB if has_egress else None,
            billing_increment_seconds=1,
            observed_at=self.observed_at,
            source=self.section.source or "AWS price list, AmazonSageMaker",
            scope=self.region,
            notes=(NOTE_MANAGED, *((NOTE_EGRESS,) if has_egress else ())),
        )


def _saved_percent(entry: Json) -> int | None:
    """A whole share between 1 and 99 percent; anything else says nothing."""
    saved = entry.get("s") if isinstance(entry, dict) else None
    return saved if type(saved) is int and 0 < saved < 100 else None


def without_saving(offers: tuple[Offer, ...]) -> int:
    """How many training machines have no known spot saving, so that no managed spot price could be estimated."""
    kinds = Counter((offer.region, offer.instance_type, offer.capacity_type) for offer in offers if offer.tier == "training")
    return sum(1 for region, name, kind in kinds if kind is CapacityType.ON_DEMAND and not kinds[region, name, CapacityType.SPOT])
