"""Savings Plans without credentials: the public rate file of each region, filtered while it streams.

Only Compute plans paid by the hour without an advance are kept, for plain Linux on shared machines with a GPU. A kept row
is written in the form of DescribeSavingsPlansOfferingRates, so that both are read by one rule.
Source: AWS Billing documentation of Savings Plans files; the header as published on 2026-04-22, read 2026-10.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from providers.aws.bulk import KeptRows, Wanted, filter_csv
from providers.aws.instances import shipped_facts
from providers.base import Json
from providers.errors import ProviderPayloadInvalid
from providers.http import get_json, stream_lines

SERVICE_INDEX: Final = "/offers/v1.0/aws/index.json"
PAYMENT: Final = "No Upfront"
_SECONDS_PER_YEAR: Final = 31_536_000
_COLUMNS: Final = (
    "SKU", "Unit", "DiscountedRate", "Currency", "DiscountedServiceCode", "DiscountedUsageType", "DiscountedOperation",
    "PurchaseOption", "LeaseContractLength", "LeaseContractLengthUnit", "Product Family", "DiscountedRegionCode",
    "DiscountedInstanceType",
)  # fmt: skip
_KEPT: Final = {
    "PurchaseOption": PAYMENT,
    "DiscountedServiceCode": "AmazonEC2",
    "DiscountedOperation": "RunInstances",  # plain Linux; other systems carry a suffix
    "Product Family": "ComputeSavingsPlans",
}


def _is_read(row: list[str], place: Mapping[str, int]) -> bool:
    return all(row[place[column]] == value for column, value in _KEPT.items()) and (
        "BoxUsage:" in row[place["DiscountedUsageType"]] and row[place["DiscountedInstanceType"]] in shipped_facts()
    )


PLAN_ROWS: Final = Wanted(columns=_COLUMNS, needed=frozenset(_COLUMNS), is_read=_is_read)


def plan_paths(http: httpx.Client, provider: str, base_url: str) -> dict[str, str]:
    """Region -> path of its current rate file.

    Raises:
        ProviderError: an index cannot be read, is none, or points to another host.
    """
    services = get_json(http, provider, base_url + SERVICE_INDEX)
    offers = services.get("offers") if isinstance(services, dict) else None
    ec2 = offers.get("AmazonEC2") if isinstance(offers, dict) else None
    index = get_json(http, provider, base_url + _path(provider, ec2, "currentSavingsPlanIndexUrl"))
    regions = index.get("regions") if isinstance(index, dict) else None
    if not isinstance(regions, list) or not regions:
        raise ProviderPayloadInvalid(provider, "the index of Savings Plans holds no list of regions")
    return {str(entry.get("regionCode")): _path(provider, entry, "versionUrl") for entry in regions if isinstance(entry, dict)}


def _path(provider: str, entry: Json, key: str) -> str:
    path = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
        raise ProviderPayloadInvalid(provider, "an index of the price list holds an address that is no path")
    return path


def fetch_plan_file(http: httpx.Client, provider: str, base_url: str, path: str, *, region: str, kept: KeptRows) -> list[Json]:
    """The kept rates of one region, from `kept` when this very file was read before. Raises ProviderError."""
    key = f"savings plans {region}"
    held = kept.get(key)
    if held is None or held[0] != path:
        lines = stream_lines(http, provider, f"{base_url}{path.removesuffix('.json').removesuffix('.csv')}.csv")
        rows, _ = filter_csv(provider, lines, PLAN_ROWS)
        held = kept[key] = (path, list(_as_rates(rows, region)))
    rates: list[Json] = held[1]
    return rates


def _as_rates(rows: list[dict[str, str]], region: str) -> Iterator[Json]:
    for row in rows:
        if row["DiscountedRegionCode"] == region:
            years = row["LeaseContractLength"]
            is_years = row["LeaseContractLengthUnit"].startswith("year") and years.isascii() and years.isdigit()
            offering: dict[str, Any] = {
                "paymentOption": row["PurchaseOption"],
                "planType": "Compute",
                "durationSeconds": int(years[:3]) * _SECONDS_PER_YEAR if is_years else 0,
                "currency": row["Currency"],
            }
            yield {
                "savingsPlanOffering": offering,
                "rate": row["DiscountedRate"],
                "unit": row["Unit"],
                "usageType": row["DiscountedUsageType"],
                "properties": [{"name": "instanceType", "value": row["DiscountedInstanceType"]}],
            }
