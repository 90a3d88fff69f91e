"""Public list prices that ship with the product: every answer's floor where there is no key and no network.

Source: reference.csv, gathered from public price catalogues, each row with its own source and date; nothing of it is live.
Left out: RunPod's serverless prices of mixed pools ("L4/A5000/3090"), which name no one card.
Beside it the price bands of 2025 that buyers still quote, with how far prices now stand from them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import resources
from statistics import median
from typing import ClassVar

import httpx

from providers.base import Adapter, Json
from providers.errors import ProviderPayloadInvalid
from providers.gpus import GPUS
from providers.offer import Batch, CapacityType, Offer, PriceBasis
from providers.price_list import read_price_list


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference(Adapter):
    """Reads the table inside the package: no key, no network."""

    name: ClassVar[str] = "reference"
    has_spot: ClassVar[bool] = True
    default_interval_seconds: ClassVar[int] = 86_400
    is_shipped: ClassVar[bool] = True

    def fetch(self, http: httpx.Client) -> Json:  # noqa: ARG002  # the contract's argument: package data needs no network
        return resources.files("providers").joinpath("reference.csv").read_text(encoding="utf-8")

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        if not isinstance(payload, str):
            raise ProviderPayloadInvalid(self.name, "the price list is no text")
        prices = read_price_list(payload, feed=self.name, price_basis=PriceBasis.LIST, observed_at=observed_at)
        return Batch(offers=prices.current, rejected=prices.rejected, history=prices.history, row_count=prices.row_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A range of USD per GPU-hour quoted in 2025 for one family and memory."""

    label: str
    family: str
    memory_gb: float
    capacity_type: CapacityType
    low_usd_per_gpu_hour: Decimal
    high_usd_per_gpu_hour: Decimal


def _band(label: str, family: str, memory_gb: float, capacity_type: CapacityType, low: str, high: str) -> Band:
    return Band(
        label=label,
        family=family,
        memory_gb=memory_gb,
        capacity_type=capacity_type,
        low_usd_per_gpu_hour=Decimal(low),
        high_usd_per_gpu_hour=Decimal(high),
    )


BANDS_YEAR = 2025
BANDS = (
    _band("A100 80GB", "A100", 80, CapacityType.ON_DEMAND, "1.80", "2.50"),
    _band("A100 80GB", "A100", 80, CapacityType.SPOT, "0.90", "1.40"),
    _band("H100", "H100", 80, CapacityType.ON_DEMAND, "3.50", "5.00"),
    _band("H100", "H100", 80, CapacityType.SPOT, "2.00", "3.00"),
    _band("RTX 4090", "RTX 4090", 24, CapacityType.ON_DEMAND, "0.40", "0.70"),
    _band("RTX 4090", "RTX 4090", 24, CapacityType.SPOT, "0.25", "0.45"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BandDifference:
    """A band beside the median of the offers of its card now; None and "no prices" where there are none.

    `difference_fraction` is against the nearer edge of the band, 0 inside it: -0.2 is a fifth below its low edge.
    """

    band: Band
    offers: int
    median_usd_per_gpu_hour: Decimal | None
    difference_fraction: float | None
    verdict: str  # "below", "inside", "above", "no prices"


def band_differences(offers: Iterable[Offer]) -> tuple[BandDifference, ...]:
    """Every band beside the median price of one GPU over the whole-card offers given, in the order of BANDS."""
    prices: dict[tuple[str, float, CapacityType], list[Decimal]] = {}
    for offer in offers:
        if offer.gpu_count >= 1:
            card = GPUS[offer.gpu]
            prices.setdefault((card.family, card.memory_gb, offer.capacity_type), []).append(offer.usd_per_gpu_hour)
    return tuple(band_difference(band, prices.get((band.family, band.memory_gb, band.capacity_type), [])) for band in BANDS)


def band_difference(band: Band, prices: Sequence[Decimal]) -> BandDifference:
    """One band beside the median of prices of one GPU, USD per hour."""
    low, high = band.low_usd_per_gpu_hour, band.high_usd_per_gpu_hour
    middle = median(prices) if prices else None
    if middle is None:
        verdict, difference = "no prices", None
    elif middle < low:
        verdict, difference = "below", float(middle / low - 1)
    elif middle > high:
        verdict, difference = "above", float(middle / high - 1)
    else:
        verdict, difference = "inside", 0.0
    return BandDifference(
        band=band, offers=len(prices), median_usd_per_gpu_hour=middle, difference_fraction=difference, verdict=verdict
    )
