"""What the loopback stand-in says for Azure's retail prices and Google Cloud's billing catalogue, from our own fixtures.

Like the services: Azure answers anybody, filtered and in pages; Google's catalogue wants a key in a header and pages by token.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
AZURE_PATH = "/api/retail/prices"
SERVICES_PATH = "/v1/services"
COMPUTE_PATH = "/v1/services/6F81-5844-456A/skus"
VERTEX_ID = "C7E2-9256-1C43"
VERTEX_PATH = f"/v1/services/{VERTEX_ID}/skus"
KEY_HEADER = "x-goog-api-key"
PAGE = 15
AZURE_PAGE = 4

Json = Any


def azure_answer(url: str, query: Mapping[str, str]) -> tuple[int, Json]:
    """The fixture's rows of the sizes that the filter names, a few to the page."""
    if "$filter" not in query or query.get("meterRegion"):
        return 400, {"Error": {"Code": "BadRequest", "Message": "Invalid parameters supplied"}}
    items = json.loads((FIXTURES / "azure" / "retail.json").read_text(encoding="utf-8"))["Items"]
    asked = [row for row in items if f"armSkuName eq '{row['armSkuName']}'" in query["$filter"]]
    start = int(query.get("$skip", "0"))
    page, rest = asked[start : start + AZURE_PAGE], asked[start + AZURE_PAGE :]
    following = _next(url, query, start + AZURE_PAGE) if rest else None
    return 200, {"BillingCurrency": "USD", "Items": page, "NextPageLink": following, "Count": len(page)}


def _next(url: str, query: Mapping[str, str], skip: int) -> str:
    return str(httpx.URL(f"{url}{AZURE_PATH}", params={**query, "$skip": str(skip)}))


def google_answer(path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, Json]:
    """Services, or the fixture's SKUs of one, in pages; a service that is not known has an empty list."""
    if not headers.get(KEY_HEADER):
        return 403, {"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no key"}}
    if path == SERVICES_PATH:
        known = [("6F81-5844-456A", "Compute Engine"), (VERTEX_ID, "Vertex AI")]
        services = [{"name": f"services/{i}", "serviceId": i, "displayName": name} for i, name in known]
        return 200, {"services": services, "nextPageToken": ""}
    name = {COMPUTE_PATH: "gcp", VERTEX_PATH: "vertex"}.get(path)
    rows = json.loads((FIXTURES / name / "skus.json").read_text(encoding="utf-8"))["skus"] if name else []
    start = int(query.get("pageToken", "0"))
    token = str(start + PAGE) if start + PAGE < len(rows) else ""
    return 200, {"skus": rows[start : start + PAGE], "nextPageToken": token}
