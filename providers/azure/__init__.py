"""Azure: Linux machines on demand, spot, and with reservations or savings plans, in every region of the retail price list.

Anonymous, but about a dozen pages of a thousand rows for all GPU sizes everywhere, so it is off until enabled; `regions`
makes it fewer. Availability is nowhere in a price list: it stays unknown. National clouds are not served.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import httpx

from providers.azure.offers import OfferReader
from providers.azure.retail import BASE_URL, fetch_items
from providers.azure.rows import Kind
from providers.azure.shapes import Shape
from providers.base import Adapter, Json
from providers.errors import InvalidInput
from providers.offer import Batch


def check_regions(regions: tuple[str, ...]) -> None:
    """Raises InvalidInput for what is no region code of Azure: it would stand in the question as it is."""
    if any(not (region.isascii() and region.isalnum() and region == region.lower()) for region in regions):
        raise InvalidInput("regions: codes of Azure like eastus or westeurope, in lower case", pointer="/regions")


def _tier(shape: Shape) -> str:
    return shape.tier


@dataclass(frozen=True, slots=True)
class Azure(Adapter):
    """Azure's virtual machines. No regions named: all of them."""

    name: ClassVar[str] = "azure"
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
        """An offer for each size, region and kind; confidential machines in a tier of their own."""
        reader = OfferReader(
            feed=self.name, preemptible=Kind.SPOT, tier_of=_tier, notes=("Linux without a licence",), observed_at=observed_at
        )
        return reader.batch(payload.get("items") if isinstance(payload, dict) else None)
