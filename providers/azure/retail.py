"""Pages of Azure's Retail Prices API: which sizes are asked for, and how one page leads to the next. Nobody needs a key.

The version is a preview: it alone carries savings plans. It compares values of a filter by case. meterRegion='primary'
is never asked: it leaves out ordinary on-demand rows.
Source: GET /api/retail/prices, the vendor's documentation and recorded answers, read 2026-10.
"""

from collections.abc import Sequence

import httpx

from providers.azure.rows import SERVICE
from providers.azure.shapes import shapes
from providers.base import Json
from providers.errors import ProviderPayloadInvalid
from providers.http import get_json

BASE_URL = "https://prices.azure.com"
PATH = "/api/retail/prices"
API_VERSION = "2023-01-01-preview"
SOURCE = f"Azure Retail Prices API, GET {PATH}"
SIZES_PER_QUESTION = 12  # an address of about 1500 characters
MOST_PAGES = 200  # about a dozen are expected for all GPU sizes everywhere


def fetch_items(http: httpx.Client, provider: str, base_url: str, regions: Sequence[str]) -> list[Json]:
    """All rows of the GPU sizes in the table, of these regions (none named: of all).

    Raises:
        ProviderError: also for a next page that lies on another host, for one that was read before, and for no end of them.
    """
    address = base_url.rstrip("/") + PATH
    sizes = sorted(shape.size for shape in shapes().values())
    items: list[Json] = []
    for start in range(0, len(sizes), SIZES_PER_QUESTION):
        question = _filter(sizes[start : start + SIZES_PER_QUESTION], regions)
        items += _pages(http, provider, address, question)
    return items


def _filter(sizes: Sequence[str], regions: Sequence[str]) -> str:
    parts = [f"serviceName eq '{SERVICE}'", _one_of("armSkuName", sizes)]
    if regions:
        parts.append(_one_of("armRegionName", regions))
    return " and ".join(parts)


def _one_of(field: str, values: Sequence[str]) -> str:
    return "(" + " or ".join(f"{field} eq '{value}'" for value in values) + ")"


def _pages(http: httpx.Client, provider: str, address: str, question: str) -> list[Json]:
    params = {"api-version": API_VERSION, "currencyCode": "'USD'", "$filter": question}
    page = get_json(http, provider, address, params=params)
    items: list[Json] = []
    read: set[str] = set()
    while True:
        items += _items(provider, page)
        link = page.get("NextPageLink")
        if link is None or link == "":
            return items
        if not isinstance(link, str) or link in read or len(read) >= MOST_PAGES or not is_same_place(link, address):
            raise ProviderPayloadInvalid(provider, "the next page is none: on another host, read before, or without end")
        read.add(link)
        page = get_json(http, provider, link)


def _items(provider: str, page: Json) -> list[Json]:
    found = page.get("Items") if isinstance(page, dict) else None
    if not isinstance(found, list):
        raise ProviderPayloadInvalid(provider, "the answer holds no list of items")
    if page.get("BillingCurrency", "USD") != "USD":
        raise ProviderPayloadInvalid(provider, "the prices are not in USD")
    return found


def is_same_place(link: str, address: str) -> bool:
    """Whether both lie on one host and path. The service writes its port 443 into a link; a default port is read as none."""
    try:
        one, other = httpx.URL(link), httpx.URL(address)
    except (httpx.InvalidURL, ValueError):
        return False
    return (one.scheme, one.host, one.port, one.path, one.userinfo) == (other.scheme, other.host, other.port, other.path, b"")
