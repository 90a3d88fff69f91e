"""Lambda Cloud: on-demand instances at one price in every region that has capacity.

Source: GET /api/v1/instance-types, the provider's OpenAPI 1.10.0 and bodies of August 2026, read 2026-09.
US cents per hour for the whole instance; memory and disk in GiB; no spot market; no answer without a key.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json, collect, rows_at
from providers.errors import ProviderCredentials, ProviderNeedsKey, ProviderPayloadInvalid
from providers.exact_json import parse_json
from providers.http import get_json
from providers.interconnect import interconnect_of
from providers.lambda_cloud.shapes import Region, Row, gpu_and_count
from providers.offer import Arch, Availability, Batch, CapacityType, Offer, Tenancy
from providers.prices import price
from providers.units import gb_from_gib, usd_from_cents

BASE_URL = "https://cloud.lambda.ai/api/v1"
SOURCE = "Lambda Cloud API, GET /instance-types"

_CREDENTIAL_CODES = {"global/invalid-api-key", "global/account-inactive", "global/forbidden"}
_ARCHITECTURES = {"x86_64": Arch.X86_64, "arm64": Arch.ARM64}


def _error_code(answer: Json) -> str | None:
    """Of an error body; its message is prose and is not read."""
    error = answer.get("error") if isinstance(answer, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) else None


def _is_key_fault(provider: str, body: bytes) -> bool:
    try:
        return _error_code(parse_json(provider, body)) in _CREDENTIAL_CODES
    except ProviderPayloadInvalid:
        return False


@dataclass(frozen=True, slots=True)
class LambdaCloud(Adapter):
    """Lambda Cloud's list of instance types. One call a refresh; at most one a minute is polite."""

    name: ClassVar[str] = "lambda"
    needs_key: ClassVar[bool] = True
    default_interval_seconds: ClassVar[int] = 300

    api_key: SecretStr | None = None
    base_url: str = BASE_URL

    def missing_credentials(self) -> str | None:
        """The API key, when it is not set."""
        return None if self.api_key and self.api_key.get_secret_value() else "api_key: Lambda answers nobody without a key"

    def fetch(self, http: httpx.Client) -> Json:
        """The one page of instance types."""
        if self.api_key is None or self.missing_credentials():
            raise ProviderNeedsKey(self.name, "no api_key is set")
        auth = {"Authorization": f"Bearer {self.api_key.get_secret_value()}"}
        url = f"{self.base_url.rstrip('/')}/instance-types"
        payload = get_json(http, self.name, url, headers=auth, is_key_fault=lambda _, body: _is_key_fault(self.name, body))
        if _error_code(payload) in _CREDENTIAL_CODES:
            raise ProviderCredentials(self.name, "the key or the account is refused")
        return payload

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """One offer for each type and region with capacity; a sold-out type stays, unavailable, without a region."""

        def offers(raw: Json) -> Iterator[Offer]:
            row = Row.model_validate(raw)
            kind = row.instance_type
            match, words, count = gpu_and_count(kind)
            disk_gib = kind.specs.storage_gib
            regions: list[Region | None] = [*row.regions_with_capacity_available] or [None]
            for region in regions:
                yield Offer(
                    feed=self.name,
                    provider=self.name,
                    tier="on-demand",
                    instance_type=kind.name,
                    gpu=match.gpu.name,
                    gpu_count=count,
                    gpu_memory_gb=match.gpu.memory_gb,
                    gpu_raw_name=words,
                    form_factor=match.form_factor,
                    interconnect=interconnect_of(match),
                    capacity_type=CapacityType.ON_DEMAND,
                    tenancy=Tenancy.PROVIDER_DATACENTER,
                    region=region.name if region else None,
                    country=region.country if region else None,
                    availability=Availability.AVAILABLE if region else Availability.UNAVAILABLE,
                    usd_per_hour=usd_from_cents(price(kind.price_cents_per_hour)),
                    arch=_ARCHITECTURES.get(kind.architecture, Arch.UNKNOWN),
                    vcpus=kind.specs.vcpus,
                    memory_gib=kind.specs.memory_gib,
                    disk_included_gb=None if disk_gib is None else gb_from_gib(disk_gib),
                    observed_at=observed_at,
                    source=SOURCE,
                )

        return collect(rows_at(self.name, payload, "data"), offers)
