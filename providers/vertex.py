"""Vertex AI: custom training and prediction on Google Cloud's GPU machines, with the service's management fee.

The service's id is looked up by its name at each refresh. SKU descriptions drift, and those of Vertex were read in billing
reports, not in the catalogue itself: the adapter is off until enabled. Training and prediction are tiers of their own.
Source: Cloud Billing Catalog API v1 (see gcp/catalog.py); what makes up a price, see gcp/managed.py.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json
from providers.gcp import passed_over_notes, skus_in
from providers.gcp.book import PriceBook
from providers.gcp.catalog import BASE_URL, COMPUTE_ENGINE, KEY_MISSING, fetch_skus, service_id
from providers.gcp.machines import is_gpu_machine_sku, place_of
from providers.gcp.managed import ManagedMachines, Use, is_vertex_machine_sku, vertex_place_of
from providers.gcp.skus import Bought
from providers.offer import Batch

SERVICE = "Vertex AI"


@dataclass(frozen=True, slots=True)
class Vertex(Adapter):
    """Vertex AI's custom training and prediction."""

    name: ClassVar[str] = "vertex"
    needs_key: ClassVar[bool] = True
    has_spot: ClassVar[bool] = True
    enabled_by_default: ClassVar[bool] = False
    default_interval_seconds: ClassVar[int] = 24 * 3600

    api_key: SecretStr | None = None
    base_url: str = BASE_URL

    def missing_credentials(self) -> str | None:
        """The API key, when it is not set."""
        return None if self.api_key and self.api_key.get_secret_value() else KEY_MISSING

    def fetch(self, http: httpx.Client) -> Json:
        """{"skus": Vertex's parts and fees, "compute": Compute Engine's parts, "passed_over": how many others}."""
        service = service_id(http, self.name, self.base_url, self.api_key, SERVICE)
        skus, passed_over = fetch_skus(http, self.name, self.base_url, self.api_key, service, is_vertex_machine_sku)
        compute, others = fetch_skus(http, self.name, self.base_url, self.api_key, COMPUTE_ENGINE, is_gpu_machine_sku)
        return {"skus": skus, "compute": compute, "passed_over": passed_over + others}

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """An offer for each machine, region, use and way of buying of which all parts and fees are priced there."""
        rows, compute_rows = skus_in(self.name, payload, "skus"), skus_in(self.name, payload, "compute")
        own: PriceBook[Use] = PriceBook(label="vertex sku")
        own.read(rows, vertex_place_of)
        compute: PriceBook[Bought] = PriceBook(label="compute sku")
        compute.read(compute_rows, place_of)
        offers, missing = ManagedMachines(feed=self.name, own=own, compute=compute, observed_at=observed_at).offers()
        return Batch(
            offers=tuple(offers),
            rejected=(*own.rejected, *compute.rejected, *missing),
            notes=passed_over_notes(payload),
            row_count=len(rows) + len(compute_rows),
        )
