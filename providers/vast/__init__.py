"""Vast.ai: a marketplace of hosts, on demand at the asked price and interruptible from the least accepted bid.

Source: POST /api/v0/bundles/ in the vendor's documentation and recorded offers, read 2026-09. No key is needed.
All dollars are for the whole offer with all its GPUs, the bid too, and without disk: the vendor bills a disk per
GB and month of 30 days (720 h), turned here into the price of our month. Memory in MiB, time in seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json, Refused, collect
from providers.errors import ProviderPayloadInvalid
from providers.http import post_json
from providers.offer import OUT_OF_SCOPE, Batch, Offer
from providers.vast.offers import offers_of
from providers.vast.row import Row, in_order_of_price
from providers.vast.supply import supply_of

BASE_URL = "https://console.vast.ai"
LIMIT = 10_000
DEFAULT_PAGE = 64  # what the server gives when it does not honour `limit`: there is no second page to ask for
READ_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Vast(Adapter):
    """Vast.ai's search. `include_unverified` also asks for machines that the vendor has not tested."""

    name: ClassVar[str] = "vast"
    has_spot: ClassVar[bool] = True
    default_interval_seconds: ClassVar[int] = 300

    api_key: SecretStr | None = None
    base_url: str = BASE_URL
    include_unverified: bool = False
    disk_gb: float = 50  # only orders the answer by total price: the disk of a plan is priced as asked there
    limit: int = LIMIT

    def fetch(self, http: httpx.Client) -> Json:
        """One answer for verified machines and, if allowed, one for the others: {"answers": [...]}."""
        key = self.api_key.get_secret_value() if self.api_key else ""
        return {
            "answers": [
                post_json(
                    http,
                    self.name,
                    f"{self.base_url.rstrip('/')}/api/v0/bundles/",
                    body=self._query(verified=verified),
                    headers={"Authorization": f"Bearer {key}"} if key else None,
                    read_timeout_seconds=READ_TIMEOUT_SECONDS,
                    is_key_fault=lambda status, text: status == 404 and b"invalid user key" in text.lower(),
                )
                for verified in ([True, False] if self.include_unverified else [True])
            ]
        }

    def _query(self, *, verified: bool) -> Json:
        return {
            "limit": self.limit,
            "type": "on-demand",
            "allocated_storage": self.disk_gb,
            "order": [["dph_total", "asc"]],
            "rentable": {"eq": True},
            "rented": {"eq": False},
            "verified": {"eq": verified},
            "external": {"eq": False},
            "num_gpus": {"gte": 1},
        }

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """An on-demand offer per machine and count, the cheapest one, and a spot offer where the bid is below it."""
        answers = payload.get("answers") if isinstance(payload, dict) else None
        if not isinstance(answers, list) or not answers:
            raise ProviderPayloadInvalid(self.name, "there is no answer to read")
        lists = [self._offers_list(answer) for answer in answers]
        rows, repeated = in_order_of_price(row for answer in lists for row in answer)
        if not rows:
            raise ProviderPayloadInvalid(self.name, "the list of offers is empty")
        cut = any(len(answer) >= self.limit or len(answer) == DEFAULT_PAGE for answer in lists)
        batch = collect(rows, lambda row: self._offers(row, observed_at), rejected=repeated, truncated=cut)
        return replace(batch, notes=(supply_of(batch.offers).sentence,))

    def _offers_list(self, answer: Json) -> list[Json]:
        found = answer.get("offers") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise ProviderPayloadInvalid(self.name, "the answer holds no list of offers")
        return found

    def _offers(self, raw: Json, observed_at: datetime) -> Iterator[Offer]:
        row = Row.model_validate(raw)
        if row.is_bid:
            raise Refused(OUT_OF_SCOPE, "the row's prices are bids")
        if row.tier == "unverified" and not self.include_unverified:
            raise Refused(OUT_OF_SCOPE, "unverified machines are not asked for")
        yield from offers_of(row, observed_at)
