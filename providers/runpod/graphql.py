"""RunPod's GraphQL catalogue (no key): list prices per GPU, and a probe of stock and bid for each place and width.

Source: the provider's GraphQL documentation and schema, read 2026-09; announced to end in early 2027.
"""

from collections.abc import Sequence

import httpx

from providers.base import Json
from providers.errors import ProviderPayloadInvalid
from providers.http import post_json
from providers.runpod.market import CLOUDS, NAME, WIDTHS, Cloud

PROBES_PER_QUERY = 16  # about 50 types answer each probe: a body stays near 100 KB
_CATALOGUE = """query Catalogue {
  gpuTypes {
    id displayName manufacturer memoryInGb secureCloud communityCloud securePrice communityPrice
    maxGpuCount maxGpuCountSecureCloud maxGpuCountCommunityCloud minPodGpuCount
    oneMonthPrice threeMonthPrice sixMonthPrice clusterPrice
  }
  dataCenters { id name location listed compliance }
  countryCodes
}"""
_PROBE = "gpuTypes { id lowestPrice(input: $%s) { minimumBidPrice uninterruptablePrice stockStatus } }"


def fetch_graphql(http: httpx.Client, *, base_url: str) -> Json:
    """The types, data centres and countries; then what each place has at each width, several places a query."""
    url = f"{base_url}/graphql"
    catalogue = _ask(http, url, _CATALOGUE, {})
    for key in ("gpuTypes", "dataCenters"):
        if not isinstance(catalogue.get(key), list):
            raise ProviderPayloadInvalid(NAME, f"the answer holds no list of {key}")
    wanted = _places(catalogue)
    probes: list[Json] = []
    for start in range(0, len(wanted), PROBES_PER_QUERY):
        probes += _ask_probes(http, url, wanted[start : start + PROBES_PER_QUERY])
    return {"api": "graphql", "gpuTypes": catalogue["gpuTypes"], "dataCenters": catalogue["dataCenters"], "probes": probes}


def _places(catalogue: dict[str, Json]) -> list[tuple[Cloud, str, int]]:
    """Every listed data centre for the secure cloud, every country for the community, at every width."""
    centers = [
        c["id"]
        for c in catalogue["dataCenters"]
        if isinstance(c, dict) and isinstance(c.get("id"), str) and c.get("listed") is not False
    ]
    countries = [code for code in catalogue.get("countryCodes") or [] if isinstance(code, str)]
    named: dict[Cloud, list[str]] = {"secure": centers, "community": countries}
    return [(cloud, place, width) for cloud in CLOUDS for place in named[cloud] for width in WIDTHS]


def _ask_probes(http: httpx.Client, url: str, wanted: Sequence[tuple[Cloud, str, int]]) -> list[Json]:
    aliases = [f"p{index}" for index in range(len(wanted))]
    declared = ", ".join(f"${alias}: GpuLowestPriceInput!" for alias in aliases)
    fields = "\n".join(f"  {alias}: {_PROBE % alias}" for alias in aliases)
    variables = {
        alias: {
            "gpuCount": width,
            "secureCloud": cloud == "secure",
            "dataCenterId" if cloud == "secure" else "countryCode": place,
        }
        for alias, (cloud, place, width) in zip(aliases, wanted, strict=True)
    }
    answer = _ask(http, url, f"query Stock({declared}) {{\n{fields}\n}}", variables)
    if any(not isinstance(answer.get(alias), list) for alias in aliases):
        raise ProviderPayloadInvalid(NAME, "the answer to a stock query lacks a list that was asked for")
    return [
        {"cloud": cloud, "place": place, "count": width, "gpuTypes": answer[alias]}
        for alias, (cloud, place, width) in zip(aliases, wanted, strict=True)
    ]


def _ask(http: httpx.Client, url: str, query: str, variables: Json) -> dict[str, Json]:
    """The `data` of an answer. A 200 with `errors` is a failure, also when part of the data is there."""
    answer = post_json(http, NAME, url, body={"query": query, "variables": variables})
    if not isinstance(answer, dict) or answer.get("errors") or not isinstance(answer.get("data"), dict):
        raise ProviderPayloadInvalid(NAME, "the GraphQL answer holds errors or no data")
    data: dict[str, Json] = answer["data"]
    return data
