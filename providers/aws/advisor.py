"""How often AWS takes spot machines back: the bands of the Spot Advisor file, by region and machine type.

Source: spot-advisor-data.json, an undocumented public file behind the vendor's Spot Instance Advisor page; a band is
the share of machines interrupted during the month before.
"""

from collections.abc import Sequence

import httpx

from providers.base import Json
from providers.errors import ProviderPayloadInvalid
from providers.http import get_json

SPOT_ADVISOR_URL = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
SOURCE = "AWS Spot Advisor, share of machines interrupted in the last month, as a band"
BANDS = {0: (0.0, 0.05), 1: (0.05, 0.10), 2: (0.10, 0.15), 3: (0.15, 0.20), 4: (0.20, 1.0)}  # index in the file: low, high


def fetch_advisor(http: httpx.Client, provider: str, url: str, regions: Sequence[str]) -> Json:
    """Region -> machine type -> index of its band, for Linux. Raises ProviderError."""
    entries = fetch_entries(http, provider, url, regions)
    return {region: {name: entry.get("r") for name, entry in types.items()} for region, types in entries.items()}


def fetch_entries(http: httpx.Client, provider: str, url: str, regions: Sequence[str]) -> dict[str, dict[str, Json]]:
    """Region -> machine type -> {"s": percent saved against on demand, "r": index of its band}, for Linux.

    Raises:
        ProviderError: the file cannot be read or holds no such table.
    """
    body = get_json(http, provider, url)
    table = body.get("spot_advisor") if isinstance(body, dict) else None
    if not isinstance(table, dict):
        raise ProviderPayloadInvalid(provider, "the Spot Advisor file holds no 'spot_advisor' map")
    found: dict[str, dict[str, Json]] = {}
    for region in regions:
        systems = table.get(region)
        types = systems.get("Linux") if isinstance(systems, dict) else None
        known = types.items() if isinstance(types, dict) else ()
        found[region] = {
            str(name): {key: entry.get(key) for key in ("s", "r")} for name, entry in known if isinstance(entry, dict)
        }
    return found


def interruption_band(index: Json) -> tuple[float, float] | None:
    """(low, high) share of machines stopped in a month; None for an index that is not one of the five."""
    return BANDS.get(index) if type(index) is int else None
