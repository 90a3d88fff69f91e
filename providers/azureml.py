"""Azure Machine Learning: the machines of Azure at Azure's prices; the service itself asks no surcharge on compute.

Its preemptible tier is low priority, so those rows of the retail price list are its spot offers. The list does not say
which sizes a workspace may use in a region (that needs a subscription): availability stays unknown.
Source: Retail Prices API (see azure/retail.py) and the service's own size list in its REST specification, read 2026-10.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import httpx

from providers.azure import check_regions
from providers.azure.offers import OfferReader
from providers.azure.retail import BASE_URL, fetch_items
from providers.azure.rows import Kind
from providers.azure.shapes import Shape
from providers.base import Adapter, Json
from providers.offer import Batch

TIER = "azureml"
NOTES = (
    "no surcharge: Azure Machine Learning bills the virtual machine at its own price",
    "whether a workspace may use this size in this region is not in the price list",
)


def _tier(shape: Shape) -> str | None:
    """Confidential machines are not among the service's sizes, as far as its documentation was read."""
    return None if shape.is_confidential else TIER


@dataclass(frozen=True, slots=True)
class AzureMl(Adapter):
    """Azure Machine Learning compute. No regions named: all of them."""

    name: ClassVar[str] = "azureml"
    has_spot: ClassVar[bool] = True
    enabled_by_default: ClassVar[bool] = False
    default_interval_seconds: ClassVar[int] = 12 * 3600

    base_url: str = BASE_URL
    regions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_regions(self.regions)

    def fetch(self, http: httpx.Client) -> Json:
        """{"items": the rows of all pages}."""
        return {"items": fetch_items(http, self.name, self.base_url, self.regions)}

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """An offer for each size, region and kind; low priority is its spot."""
        reader = OfferReader(feed=self.name, preemptible=Kind.LOW_PRIORITY, tier_of=_tier, notes=NOTES, observed_at=observed_at)
        return reader.batch(payload.get("items") if isinstance(payload, dict) else None)
