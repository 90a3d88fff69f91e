"""Pages of the Cloud Billing catalog: the SKUs of one service that concern GPU machines, read with an API key.

The key travels in a header, never in an address. A wrong service id answers 200 with an empty list.
Source: Cloud Billing Catalog API v1, GET /services and /services/{id}/skus; API keys in X-Goog-Api-Key as all of the
vendor's REST services take them, read 2026-10.
"""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
from pydantic import SecretStr

from providers.base import Json
from providers.errors import ProviderNeedsKey, ProviderPayloadInvalid
from providers.exact_json import parse_json
from providers.http import get_json

BASE_URL = "https://cloudbilling.googleapis.com"
COMPUTE_ENGINE = "6F81-5844-456A"
PAGE_SIZE = 5000
MOST_PAGES = 100
KEY_MISSING = "api_key: the Cloud Billing catalog answers nobody without a key"
_KEY_REASONS = {"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "API_KEY_HTTP_REFERRER_BLOCKED", "API_KEY_IP_ADDRESS_BLOCKED"}


def fetch_skus(
    http: httpx.Client, provider: str, base_url: str, key: SecretStr | None, service: str, is_wanted: Callable[[Json], bool]
) -> tuple[list[Json], int]:
    """The wanted SKUs of all pages, and how many others there were.

    Raises:
        ProviderError: also for a service without one SKU.
    """
    params = {"pageSize": PAGE_SIZE, "currencyCode": "USD"}
    kept: list[Json] = []
    passed_over = 0
    for page in _pages(http, provider, f"{base_url.rstrip('/')}/v1/services/{service}/skus", key, params):
        rows = _rows(provider, page, "skus")
        wanted = [row for row in rows if is_wanted(row)]
        kept += wanted
        passed_over += len(rows) - len(wanted)
    if not kept and not passed_over:
        raise ProviderPayloadInvalid(provider, "the service has not one SKU: is its id right?")
    return kept, passed_over


def service_id(http: httpx.Client, provider: str, base_url: str, key: SecretStr | None, display_name: str) -> str:
    """The id of the service that is shown under this name.

    Raises:
        ProviderError: there is none.
    """
    address = f"{base_url.rstrip('/')}/v1/services"
    for page in _pages(http, provider, address, key, {"pageSize": PAGE_SIZE}):
        for row in _rows(provider, page, "services"):
            if isinstance(row, dict) and str(row.get("displayName", "")).casefold() == display_name.casefold():
                found = row.get("serviceId")
                if isinstance(found, str) and found.replace("-", "").isalnum() and found.isascii():
                    return found
    raise ProviderPayloadInvalid(provider, f"no service is shown as {display_name}")


def _pages(http: httpx.Client, provider: str, address: str, key: SecretStr | None, params: dict[str, Any]) -> Iterator[Json]:
    if key is None or not key.get_secret_value():
        raise ProviderNeedsKey(provider, "no api_key is set")
    headers = {"X-Goog-Api-Key": key.get_secret_value()}
    seen: set[str] = set()
    token = ""
    while len(seen) < MOST_PAGES:
        asked = {**params, "pageToken": token} if token else params
        page = get_json(http, provider, address, headers=headers, params=asked, is_key_fault=lambda _, body: _is_key_fault(body))
        yield page
        token = page.get("nextPageToken") or ""
        if not token:
            return
        if not isinstance(token, str) or token in seen:
            break
        seen.add(token)
    raise ProviderPayloadInvalid(provider, "the pages have no end")


def _rows(provider: str, page: Json, name: str) -> list[Json]:
    rows = page.get(name, []) if isinstance(page, dict) else None
    if not isinstance(rows, list) or (isinstance(page, dict) and "error" in page):
        raise ProviderPayloadInvalid(provider, f"the answer holds no list of {name}")
    return rows


def _is_key_fault(body: bytes) -> bool:
    """True for the 400 of a key that is not valid; its message is prose and is not read."""
    try:
        error = parse_json("gcp", body).get("error", {})
        return any(detail.get("reason") in _KEY_REASONS for detail in error.get("details", []))
    except (ProviderPayloadInvalid, AttributeError, TypeError):
        return False
