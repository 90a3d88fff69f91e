"""AWS EC2: on-demand prices by region and, with credentials, spot prices by zone.

With credentials: Price List Query API, EC2 DescribeInstanceTypes and DescribeSpotPriceHistory, and the Spot Advisor
file. Without: the public bulk price list and the shipped table of machines, no spot.
Each region is a failure domain of its own, and so are its spot prices, which take a permission of their own: what
cannot be read keeps its last good prices and is named, and the rest stands.
Source: API models of botocore 1.44.8 and AWS Billing documentation, read 2026-10. Prices in dollars, whole machine.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel, Field, SecretStr, ValidationError

from providers.aws.advisor import SPOT_ADVISOR_URL, fetch_advisor
from providers.aws.bulk import BULK_BASE_URL, KeptRows, fetch_bulk_region, region_paths
from providers.aws.calls import ClientFactory, client_factory, closing_client, our_errors, pages
from providers.aws.commitments import fetch_commitments
from providers.aws.instances import sold_in_blocks, with_gpu
from providers.aws.plan_files import fetch_plan_file, plan_paths
from providers.aws.price_list import SERVICE
from providers.aws.region import RegionReader, Section
from providers.aws.scopes import DEFAULT_REGIONS, check_regions, half_a_pair, is_set, read_regions, spot_scope
from providers.aws.spot import fetch_spot_history
from providers.base import Adapter, Json
from providers.errors import ProviderError, ProviderNeedsKey, ProviderPayloadInvalid, ProviderUnavailable
from providers.offer import Batch, Offer, Rejected

PRICING_REGION = "us-east-1"  # where the Query API answers; it prices all regions
# The market option is left open on purpose: capacity blocks come along and are refused with their reason.
MACHINE_FILTERS = {"operatingSystem": "Linux", "preInstalledSw": "NA", "tenancy": "Shared", "capacitystatus": "Used"}
VOLUME_FILTERS = {"productFamily": "Storage", "volumeApiName": "gp3"}


class _Payload(BaseModel):
    """The form that `fetch` gives and `parse` takes."""

    regions: dict[str, Section] = Field(min_length=1)
    failed: dict[str, str] = {}
    notes: list[str] = []
    advisor: dict[str, dict[str, Any]] | None = None


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aws(Adapter):
    """EC2 of the named regions. The machine's own AWS role or profile is used only when a setting says so."""

    name: ClassVar[str] = "aws"
    has_spot: ClassVar[bool] = True
    enabled_by_default: ClassVar[bool] = False  # without a key it reads hundreds of MB for each region
    default_interval_seconds: ClassVar[int] = 900  # spot; the bulk files are read again only when their version changes

    regions: tuple[str, ...] = DEFAULT_REGIONS
    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    use_default_credentials: bool = False
    include_commitments: bool = False  # Savings Plans; with a key, Capacity Blocks too, by permissions of their own
    endpoint_url: str | None = None  # of the signed calls; None is AWS
    base_url: str = BULK_BASE_URL  # of the public price list
    spot_advisor_url: str = SPOT_ADVISOR_URL
    make_client: ClientFactory | None = field(default=None, repr=False)
    now: Callable[[], datetime] = field(default=_now, repr=False)
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
        if is_set(self.access_key_id) or self.use_default_credentials or self.make_client is not None:
            return self._fetch_signed(http)
        return self._fetch_public(http)

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """Offers with `scope` = region. A region whose list holds nothing readable is a failed scope."""
        try:
            fetched = _Payload.model_validate(payload)
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
            raise ProviderPayloadInvalid(self.name, f"the payload is none: {place[:80]}") from None
        failed, notes, bands = dict(fetched.failed), list(fetched.notes), fetched.advisor or {}
        offers: list[Offer] = []
        rejected: list[Rejected] = []
        for region, section in fetched.regions.items():
            reader = RegionReader(
                feed=self.name, region=region, section=section, bands=bands.get(region, {}), observed_at=observed_at
            )
            try:
                batch = reader.batch()
            except ProviderPayloadInvalid as error:
                failed[region] = error.code
                if section.spot is not None:
                    failed[spot_scope(region)] = error.code
                notes.append(str(error))
                continue
            offers += batch.offers
            rejected += batch.rejected
            if section.passed_over:
                notes.append(f"{region}: {section.passed_over} rows of other products were passed over while reading")
        if all(region in failed for region in fetched.regions):
            raise ProviderPayloadInvalid(self.name, "no region has a readable price list")
        return Batch(offers=tuple(offers), rejected=tuple(rejected), failed_scopes=failed, notes=tuple(notes))

    def _fetch_public(self, http: httpx.Client) -> Json:
        paths = region_paths(http, self.name, self._bulk_base)

        def read(region: str) -> Json:
            if region not in paths:
                raise ProviderUnavailable(self.name, f"{region}: not in the public price list")
            return fetch_bulk_region(http, self.name, self._bulk_base, paths[region], region=region, kept=self.kept_bulk_rows)

        payload = read_regions(self.name, self.regions, read)
        if self.include_commitments:
            self._add_plans(http, payload)
        payload["notes"].append("no spot prices: they need credentials")
        return payload

    def _add_plans(self, http: httpx.Client, payload: dict[str, Any]) -> None:
        """Adds the public rates of Savings Plans to each region that was read; what cannot be read is said."""
        try:
            paths = plan_paths(http, self.name, self._bulk_base)
        except ProviderError as error:
            payload["notes"].append(f"Savings Plans were not read ({error.code})")
            return
        for region, section in payload["regions"].items():
            if region not in paths:
                payload["notes"].append(f"{region}: not in the index of Savings Plans")
                continue
            try:
                plans = fetch_plan_file(http, self.name, self._bulk_base, paths[region], region=region, kept=self.kept_bulk_rows)
            except ProviderError as error:
                payload["notes"].append(f"{region}: Savings Plans were not read ({error.code})")
                continue
            payload["regions"][region] = {**section, "commitments": {"plans": plans}}

    @property
    def _bulk_base(self) -> str:
        return self.base_url.rstrip("/")

    def _fetch_signed(self, http: httpx.Client) -> Json:
        with our_errors("setting up AWS clients"):
            make_client = self.make_client or client_factory(
                access_key_id=self.access_key_id,
                secret_access_key=self.secret_access_key,
                session_token=self.session_token,
                endpoint_url=self.endpoint_url,
            )
        notes: list[str] = []
        spotless: dict[str, str] = {}  # failure domains of spot prices that could not be read, with their code
        with closing_client(make_client, "pricing", PRICING_REGION) as pricing:
            payload = read_regions(
                self.name, self.regions, lambda region: self._signed_region(make_client, pricing, region, notes, spotless)
            )
        payload["notes"] += notes
        payload["failed"] |= spotless | {spot_scope(region): code for region, code in payload["failed"].items()}
        try:
            payload["advisor"] = fetch_advisor(http, self.name, self.spot_advisor_url, self.regions)
        except ProviderError as error:  # how often spot machines are stopped is then unknown; the prices stand
            payload["notes"].append(f"Spot Advisor: {error.code}; interruption rates are unknown")
        return payload

    def _signed_region(
        self, make_client: ClientFactory, pricing: Any, region: str, notes: list[str], spotless: dict[str, str]
    ) -> Json:
        listed = _products(pricing, region, MACHINE_FILTERS)
        if not listed:  # boto3 reads a foreign page as an answer without products
            raise ProviderPayloadInvalid(self.name, f"GetProducts for {region}: no product at all")
        with suppress(ProviderError):  # each offer then says that its disk price is a general figure
            listed += _products(pricing, region, VOLUME_FILTERS)
        with closing_client(make_client, "ec2", region) as ec2:
            with our_errors(f"DescribeInstanceTypes in {region}"):
                every_type = list(pages(ec2.describe_instance_types, "InstanceTypes", MaxResults=100))
            if not every_type:
                raise ProviderPayloadInvalid(self.name, f"DescribeInstanceTypes in {region}: no machine type at all")
            types = with_gpu(every_type)
            names, spot = [entry["InstanceType"] for entry in types if entry.get("InstanceType")], None
            try:
                with our_errors(f"DescribeSpotPriceHistory in {region}"):
                    spot = fetch_spot_history(ec2, names, self.now())
            except ProviderError as error:
                spotless[spot_scope(region)] = error.code
                notes.append(str(error))
            commitments: Json = {}
            if self.include_commitments:
                commitments, unread = fetch_commitments(make_client, ec2, region, sold_in_blocks(types))
                notes += unread
        source = f"AWS Price List Query API, {SERVICE}"
        return {"layout": "query", "listed": listed, "instance_types": types, "spot": spot, "source": source,
                "commitments": commitments}  # fmt: skip


def _products(pricing: Any, region: str, filters: Mapping[str, str]) -> list[str]:
    asked = {**filters, "regionCode": region}
    with our_errors(f"GetProducts for {region}"):
        return list(
            pages(
                pricing.get_products,
                "PriceList",
                ServiceCode=SERVICE,
                FormatVersion="aws_v1",
                MaxResults=100,
                Filters=[{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in asked.items()],
            )
        )
