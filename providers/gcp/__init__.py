"""Google Cloud: GPU machines at the sum of their parts, on demand and spot, in every region that prices all of them.

The catalogue has no price of a machine: cards, cores, memory and local SSD are priced apart and by region; only a B200
slice is complete. Flex-start (DWS) and Calendar Mode are told apart by their description and refused: they are bought for
a time, not by the hour. Availability is nowhere in a price list: it stays unknown.
Source: Cloud Billing Catalog API v1 (see catalog.py), machines in gcp_shapes.csv.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json
from providers.errors import ProviderPayloadInvalid
from providers.gcp.book import PriceBook
from providers.gcp.catalog import BASE_URL, COMPUTE_ENGINE, KEY_MISSING, fetch_skus
from providers.gcp.machines import is_gpu_machine_sku, machines, place_of
from providers.gcp.skus import Bought
from providers.offer import Batch


def skus_in(provider: str, payload: Json, name: str) -> list[Json]:
    """The list of this name in what `fetch` gave. Raises ProviderPayloadInvalid when there is none or it is empty."""
    found = payload.get(name) if isinstance(payload, dict) else None
    if not isinstance(found, list) or not found:
        raise ProviderPayloadInvalid(provider, f"the catalogue holds no {name}")
    return found


def passed_over_notes(payload: Json) -> tuple[str, ...]:
    """How many SKUs of other products were left out, in words."""
    count = payload.get("passed_over")
    return (f"{count} SKUs of other products were passed over while reading",) if isinstance(count, int) and count else ()


@dataclass(frozen=True, slots=True)
class Gcp(Adapter):
    """Compute Engine's GPU machines."""

    name: ClassVar[str] = "gcp"
    needs_key: ClassVar[bool] = True
    has_spot: ClassVar[bool] = True
    default_interval_seconds: ClassVar[int] = 24 * 3600

    api_key: SecretStr | None = None
    base_url: str = BASE_URL

    def missing_credentials(self) -> str | None:
        """The API key, when it is not set."""
        return None if self.api_key and self.api_key.get_secret_value() else KEY_MISSING

    def fetch(self, http: httpx.Client) -> Json:
        """{"skus": those that concern GPU machines, "passed_over": how many others}."""
        skus, passed_over = fetch_skus(http, self.name, self.base_url, self.api_key, COMPUTE_ENGINE, is_gpu_machine_sku)
        return {"skus": skus, "passed_over": passed_over}

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """An offer for each machine, region and way of buying of which all parts are priced there."""
        rows = skus_in(self.name, payload, "skus")
        book: PriceBook[Bought] = PriceBook()
        book.read(rows, place_of)
        offers, missing = machines(book, feed=self.name, observed_at=observed_at)
        return Batch(
            offers=tuple(offers),
            rejected=(*book.rejected, *missing),
            notes=passed_over_notes(payload),
            row_count=len(rows),
        )
