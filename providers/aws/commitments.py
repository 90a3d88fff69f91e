"""EC2 bought for a term: Compute Savings Plans by machine and region, and Capacity Blocks that start within days.

Savings Plans: DescribeSavingsPlansOfferingRates, dollars per hour for the whole machine, here of Compute plans paid by the
hour without an advance. Capacity Blocks: DescribeCapacityBlockOfferings, one fee in advance for all hours of the block; its
last 30 minutes cannot be used. Both need permissions of their own, so they are asked for only when a setting says so.
Without a key the public rate files of Savings Plans are read instead (plan_files.py).
Source: API models of botocore 1.44.8, read 2026-10.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel, Field

from providers.aws.calls import ClientFactory, closing_client, our_errors, pages
from providers.base import Json, Refused
from providers.errors import ProviderError
from providers.offer import MALFORMED, NO_PRICE, OUT_OF_SCOPE, Availability
from providers.prices import price
from providers.units import HOURS_PER_MONTH

SAVINGS_REGION: Final = "us-east-1"  # where the Savings Plans service answers for all regions
TERM_MONTHS: Final = {31_536_000: 12.0, 94_608_000: 36.0}  # seconds of one and of three years
BLOCK_HOURS: Final = (24, 168)
NOTE_PLAN: Final = "Compute Savings Plan, paid by the hour, used or not"
NOTE_BLOCK: Final = "Capacity Block: paid in advance, the last 30 minutes cannot be used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """A machine for a term. All hours of the term cost `usd_per_hour`, used or not."""

    instance_type: str
    usd_per_hour: Decimal
    term_months: float
    zone: str | None
    availability: Availability
    note: str


class _Plan(BaseModel):
    paymentOption: str = ""
    planType: str = ""
    durationSeconds: int = 0
    currency: str = ""


class _Rate(BaseModel):
    savingsPlanOffering: _Plan
    rate: str
    unit: str
    usageType: str = ""
    properties: list[dict[str, str]] = []


class _Block(BaseModel):
    instance_type: str = Field(alias="InstanceType", min_length=1)
    zone: str = Field(alias="AvailabilityZone", min_length=1)
    count: int = Field(alias="InstanceCount", ge=1)
    hours: int = Field(alias="CapacityBlockDurationHours", ge=1, le=24 * 183)
    fee: str = Field(alias="UpfrontFee")
    currency: str = Field(alias="CurrencyCode")
    start: str = Field(alias="StartDate", default="")


def fetch_commitments(make_client: ClientFactory, ec2: Any, region: str, block_types: Sequence[str]) -> tuple[Json, list[str]]:
    """{"plans": [...], "blocks": [...]} of a region, and what could not be read: the prices on demand stand without it."""
    found: dict[str, list[Json]] = {"plans": [], "blocks": []}
    notes: list[str] = []
    try:
        found["plans"] = _fetch_plans(make_client, region)
    except ProviderError as error:
        notes.append(f"{region}: Savings Plans were not read ({error.code})")
    try:
        with our_errors(f"DescribeCapacityBlockOfferings in {region}"):
            found["blocks"] = [
                block for name in block_types for hours in BLOCK_HOURS for block in _fetch_blocks(ec2, name, hours)
            ]
    except ProviderError as error:
        notes.append(f"{region}: Capacity Blocks were not read ({error.code})")
    return found, notes


def _fetch_plans(make_client: ClientFactory, region: str) -> list[Json]:
    filters = {"region": region, "productDescription": "Linux/UNIX", "tenancy": "shared"}
    with (
        closing_client(make_client, "savingsplans", SAVINGS_REGION) as client,
        our_errors(f"DescribeSavingsPlansOfferingRates for {region}"),
    ):
        return list(
            pages(
                client.describe_savings_plans_offering_rates,
                "searchResults",
                page_key="nextToken",
                savingsPlanTypes=["Compute"],
                savingsPlanPaymentOptions=["No Upfront"],
                products=["EC2"],
                serviceCodes=["AmazonEC2"],
                filters=[{"name": name, "values": [value]} for name, value in filters.items()],
                maxResults=1000,
            )
        )


def _fetch_blocks(ec2: Any, instance_type: str, hours: int) -> Iterator[Json]:
    asked: dict[str, Any] = {"InstanceType": instance_type, "InstanceCount": 1, "CapacityDurationHours": hours}
    for block in pages(ec2.describe_capacity_block_offerings, "CapacityBlockOfferings", **asked):
        yield {name: value.isoformat() if isinstance(value, datetime) else value for name, value in block.items()}


def named_rows(found: Mapping[str, Json], region: str) -> Iterator[tuple[str, tuple[str, Json]]]:
    """Every row under a name, the cheapest blocks first: of blocks alike in machine, zone and length the first is kept."""
    plans, blocks = found.get("plans"), found.get("blocks")
    for index, row in enumerate(plans if isinstance(plans, list) else ()):
        yield f"{region} plan {index}", ("plan", row)
    for index, row in enumerate(sorted(blocks if isinstance(blocks, list) else (), key=_fee)):
        yield f"{region} block {index}", ("block", row)


def _fee(row: Json) -> Decimal:
    try:
        return price(row.get("UpfrontFee"), maximum_usd=Decimal(10**9))
    except (Refused, AttributeError):
        return Decimal("Infinity")


def commitment_of(named: tuple[str, Json], known_types: Iterable[str]) -> Commitment:
    """A row as a commitment. Raises Refused, or ValidationError where it is no such row."""
    kind, row = named
    return (
        _of_plan(_Rate.model_validate(row), frozenset(known_types)) if kind == "plan" else _of_block(_Block.model_validate(row))
    )


def _of_plan(row: _Rate, known_types: frozenset[str]) -> Commitment:
    plan = row.savingsPlanOffering
    properties = {one.get("name", ""): one.get("value", "") for one in row.properties}
    name = properties.get("instanceType") or row.usageType.partition(":")[2]
    if "BoxUsage" not in row.usageType or name not in known_types:
        raise Refused(OUT_OF_SCOPE, "not a plain machine with a GPU")
    months = TERM_MONTHS.get(plan.durationSeconds)
    if months is None or plan.paymentOption != "No Upfront" or plan.planType != "Compute":
        raise Refused(OUT_OF_SCOPE, f"{name[:40]}: another plan, term or way to pay")
    if row.unit != "Hrs" or plan.currency != "USD":
        raise Refused(NO_PRICE, f"{name[:40]}: not dollars per hour")
    return Commitment(
        instance_type=name, usd_per_hour=price(row.rate), term_months=months, zone=None, availability=Availability.UNKNOWN,
        note=NOTE_PLAN,
    )  # fmt: skip


def _of_block(row: _Block) -> Commitment:
    if row.currency != "USD":
        raise Refused(NO_PRICE, f"{row.instance_type[:40]}: not dollars")
    if not row.start:
        raise Refused(MALFORMED, f"{row.instance_type[:40]}: a block without a start")
    fee = price(row.fee, maximum_usd=Decimal(10**9))
    return Commitment(
        instance_type=row.instance_type,
        usd_per_hour=price(fee / row.hours / row.count),
        term_months=row.hours / HOURS_PER_MONTH,
        zone=row.zone,
        availability=Availability.AVAILABLE,  # it is an offering of that moment, to be bought at once
        note=f"{NOTE_BLOCK}; the cheapest of {row.hours} h starts {row.start[:16]}",
    )
