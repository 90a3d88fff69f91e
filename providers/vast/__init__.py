"""Vast.ai: a marketplace of hosts, on demand at the asked price and interruptible from the least accepted bid.

Source: POST /api/v0/bundles/ in the vendor's documentation and recorded offers, read 2026-09. No key is needed.
All dollars are for the whole offer with all its GPUs, the bid too, and without disk: the vendor bills a disk per
GB and month of 30 days (720 h), turned here into the price of our month. Memory in MiB, time in seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json, Refused, collect
from providers.errors import ProviderPayloadInvalid
from providers.gpus import find_gpu
from providers.http import post_json
from providers.interconnect import interconnect_of
from providers.offer import OUT_OF_SCOPE, Arch, Batch, CapacityType, Offer, PriceBasis, Tenancy
from providers.prices import price
from providers.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from providers.vast.row import Row, in_order_of_price

BASE_URL = "https://console.vast.ai"
SOURCE = "Vast.ai API, POST /api/v0/bundles/"
LIMIT = 10_000
DEFAULT_PAGE = 64  # what the server gives when it does not honour `limit`: there is no second page to ask for
READ_TIMEOUT_SECONDS = 30
_HOURS_PER_VENDOR_MONTH = 720
_ARCHITECTURES = {"amd64": Arch.X86_64, "arm64": Arch.ARM64}


def _usd_per_gb_month(storage_cost: float | None) -> Decimal | None:
    """Price of a GB for our month of 730 h, from the vendor's for 720 h."""
    return None if storage_cost is None else Decimal(repr(storage_cost)) * HOURS_PER_MONTH / _HOURS_PER_VENDOR_MONTH


def _usd(amount: float | None) -> Decimal | None:
    return None if amount is None else Decimal(repr(amount))


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
        return collect(rows, lambda row: self._offers(row, observed_at), rejected=repeated, truncated=cut)

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
        match = find_gpu(row.gpu_name, memory_mib=row.gpu_ram)
        on_demand = Offer(
            feed=self.name,
            provider=self.name,
            tier=row.tier,
            instance_type=None,
            gpu=match.gpu.name,
            gpu_count=row.num_gpus,
            gpu_memory_gb=match.gpu.memory_gb,
            gpu_memory_reported_mib=row.gpu_ram,
            gpu_raw_name=row.gpu_name,
            form_factor=match.form_factor,
            interconnect=interconnect_of(match, measured_gb_per_s=row.bw_nvlink or 0),
            capacity_type=CapacityType.ON_DEMAND,
            tenancy=Tenancy.PROVIDER_DATACENTER if row.tier == "datacenter" else Tenancy.COMMUNITY_HOST,
            region=row.place,
            country=row.country,
            machine_id=str(row.machine_id),
            availability=row.availability,
            usd_per_hour=price(row.dph_base),
            storage_usd_per_gb_month=_usd_per_gb_month(row.storage_cost),
            egress_usd_per_gb=_usd(row.inet_up_cost),
            ingress_usd_per_gb=_usd(row.inet_down_cost),
            arch=_ARCHITECTURES.get(row.cpu_arch or "", Arch.UNKNOWN),
            vcpus=row.cpu_cores_effective or None,
            memory_gib=row.memory_gib,
            disk_included_gb=0,
            disk_max_gb=row.disk_space,
            reliability_fraction=row.reliability2,
            host_lifetime_hours=None if row.duration is None else row.duration / SECONDS_PER_HOUR,
            observed_at=observed_at,
            source=SOURCE,
        )
        yield on_demand
        bid = price(row.min_bid) if row.min_bid else None  # 0 is a placeholder for "no bids here"
        if bid is not None and bid < on_demand.usd_per_hour:
            yield replace(on_demand, capacity_type=CapacityType.SPOT, price_basis=PriceBasis.BID_FLOOR, usd_per_hour=bid)
