"""AWS SageMaker: on-demand prices of training and hosting machines by region, and managed spot training as an estimate.

With credentials: Price List Query API. Without: the public bulk price list, which is far smaller than that of EC2.
Both also read the public Spot Advisor file: managed spot training has no price list, so its price is an estimate.
Each region is a failure domain of its own. Source: AWS Billing documentation, read 2026-10. Dollars, whole machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel, Field, SecretStr, ValidationError

from providers.aws.advisor import SPOT_ADVISOR_URL, fetch_entries
from providers.aws.bulk import BULK_BASE_URL, KeptRows, fetch_bulk_region, region_paths
from providers.aws.calls import ClientFactory, client_factory, closing_client, our_errors, pages
from providers.aws.scopes import DEFAULT_REGIONS, check_regions, half_a_pair, is_set, read_regions
from providers.base import Adapter, Json
from providers.errors import ProviderError, ProviderNeedsKey, ProviderPayloadInvalid, ProviderUnavailable
from providers.offer import Batch, Offer, Rejected
from providers.sagemaker.products import COMPONENTS, FAMILY, ML_ROWS, SERVICE
from providers.sagemaker.region import NAME, RegionReader, Section, without_saving

PRICING_REGION = "us-east-1"  # where the Query API answers; it prices all regions


class _Payload(BaseModel):
    """The form that `fetch` gives and `parse` takes."""

    regions: dict[str, Section] = Field(min_length=1)
    failed: dict[str, str] = {}
    notes: list[str] = []
    advisor: dict[str, dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SageMaker(Adapter):
    """SageMaker of the named regions. The machine's own AWS role or profile is used only when a setting says so."""

    name: ClassVar[str] = NAME
    has_spot: ClassVar[bool] = True
    enabled_by_default: ClassVar[bool] = False  # without a key it streams a file of many megabytes for each region
    default_interval_seconds: ClassVar[int] = 21_600

    regions: tuple[str, ...] = DEFAULT_REGIONS
    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    use_default_credentials: bool = False
    endpoint_url: str | None = None  # of the signed calls; None is AWS
    base_url: str = BULK_BASE_URL  # of the public price list
    spot_advisor_url: str = SPOT_ADVISOR_URL
    make_client: ClientFactory | None = field(default=None, repr=False)
    kept_bulk_rows: KeptRows = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_regions(self.regions)

    def missing_credentials(self) -> str | None:
        """Half a pair of keys; none at all is fine."""
        return half_a_pair(self.access_key_id, self.secret_access_key)

    def fetch(self, http: httpx.Client) -> Json:
        """What each region gave, and for each that failed its error code. Raises ProviderError when all failed."""
        if missing := self.missing_credentials():
            raise ProviderNeedsKey(self.name, missing)
        signed = is_set(self.access_key_id) or self.use_default_credentials or self.make_client is not None
        payload = self._fetch_signed() if signed else self._fetch_public(http)
        try:
            payload["advisor"] = fetch_entries(http, self.name, self.spot_advisor_url, self.regions)
        except ProviderError as error:
            payload["notes"].append(f"Spot Advisor: {error.code}; managed spot training cannot be estimated")
        return payload

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """Offers with `scope` = region. A region whose list holds nothing readable is a failed scope."""
        try:
            fetched = _Payload.model_validate(payload)
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
            raise ProviderPayloadInvalid(self.name, f"the payload is none: {place[:80]}") from None
        failed, notes, advisor = dict(fetched.failed), list(fetched.notes), fetched.advisor or {}
        offers: list[Offer] = []
        rejected: list[Rejected] = []
        for region, section in fetched.regions.items():
            reader = RegionReader(region=region, section=section, advisor=advisor.get(region, {}), observed_at=observed_at)
            try:
                batch = reader.batch()
            except ProviderPayloadInvalid as error:
                failed[region] = error.code
                notes.append(str(error))
                continue
            offers += batch.offers
            rejected += batch.rejected
            if section.passed_over:
                notes.append(f"{region}: {section.passed_over} rows of other products were passed over while reading")
        if all(region in failed for region in fetched.regions):
            raise ProviderPayloadInvalid(self.name, "no region has a readable price list")
        if unknown := without_saving(tuple(offers)):
            notes.append(f"{unknown} training machines have no known spot saving: no managed spot price is estimated for them")
        return Batch(offers=tuple(offers), rejected=tuple(rejected), failed_scopes=failed, notes=tuple(notes))

    def _fetch_public(self, http: httpx.Client) -> dict[str, Any]:
        base_url = self.base_url.rstrip("/")
        paths = region_paths(http, self.name, base_url, service=SERVICE)

        def read(region: str) -> Json:
            if region not in paths:
                raise ProviderUnavailable(self.name, f"{region}: not in the public price list")
            kept = self.kept_bulk_rows
            return fetch_bulk_region(http, self.name, base_url, paths[region], region=region, kept=kept, wanted=ML_ROWS)

        return read_regions(self.name, self.regions, read)

    def _fetch_signed(self) -> dict[str, Any]:
        with our_errors("setting up AWS clients", provider=self.name):
            make_client = self.make_client or client_factory(
                access_key_id=self.access_key_id,
                secret_access_key=self.secret_access_key,
                session_token=self.session_token,
                endpoint_url=self.endpoint_url,
            )
        with closing_client(make_client, "pricing", PRICING_REGION, provider=self.name) as pricing:
            return read_regions(self.name, self.regions, lambda region: self._signed_region(pricing, region))

    def _signed_region(self, pricing: Any, region: str) -> Json:
        listed = [text for component in COMPONENTS for text in self._products(pricing, region, {"component": component})]
        if not listed:  # boto3 reads a foreign page as an answer without products
            raise ProviderPayloadInvalid(self.name, f"GetProducts for {region}: no product at all")
        return {"layout": "query", "listed": listed, "source": f"AWS Price List Query API, {SERVICE}"}

    def _products(self, pricing: Any, region: str, more: Mapping[str, str]) -> list[str]:
        asked = {"productFamily": FAMILY, "regionCode": region, **more}
        with our_errors(f"GetProducts for {region}", provider=self.name):
            return list(
                pages(
                    pricing.get_products,
                    "PriceList",
                    provider=self.name,
                    ServiceCode=SERVICE,
                    FormatVersion="aws_v1",
                    MaxResults=100,
                    Filters=[{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in asked.items()],
                )
            )
