"""RunPod: pods of one card type in two clouds, secure (data centres) and community (hosts), billed by the second.

With a key the REST v2 catalogue is read; without one the GraphQL catalogue, which alone knows bids. All prices are
dollars per hour for ONE GPU, equal in all places of a cloud; an offer's price is that times its width.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json
from providers.errors import ProviderPayloadInvalid
from providers.offer import Batch
from providers.runpod.graphql import fetch_graphql
from providers.runpod.graphql_rows import parse_graphql
from providers.runpod.market import NAME
from providers.runpod.rest import fetch_rest, parse_rest

BASE_URL = "https://api.runpod.io"


@dataclass(frozen=True, slots=True)
class RunPod(Adapter):
    """RunPod's catalogue of pods."""

    name: ClassVar[str] = NAME
    has_spot: ClassVar[bool] = True
    default_interval_seconds: ClassVar[int] = 300

    api_key: SecretStr | None = None
    base_url: str = BASE_URL

    def fetch(self, http: httpx.Client) -> Json:
        """REST v2 with a key, GraphQL without; the payload's `api` says which."""
        base_url = self.base_url.rstrip("/")
        key = self.api_key.get_secret_value() if self.api_key else ""
        return fetch_rest(http, base_url=base_url, key=key) if key else fetch_graphql(http, base_url=base_url)

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """Offers per card, cloud, place and width."""
        api = payload.get("api") if isinstance(payload, dict) else None
        if api == "rest":
            return parse_rest(payload, observed_at)
        if api == "graphql":
            return parse_graphql(payload, observed_at)
        raise ProviderPayloadInvalid(self.name, "the payload is of neither API")
