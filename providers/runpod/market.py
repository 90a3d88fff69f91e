"""What one RunPod listing offers: a card in one cloud at one price, its stock by place and width, and the offers from it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Literal

from providers.base import Json, Refused
from providers.gpus import GpuMatch, find_gpu
from providers.interconnect import interconnect_of
from providers.offer import NO_PRICE, OUT_OF_SCOPE, Availability, CapacityType, Offer, PriceBasis, Tenancy
from providers.places import country_of
from providers.prices import price

NAME = "runpod"
WIDTHS = (1, 2, 4, 8)  # GPUs of one pod that are asked for
STORAGE_USD_PER_GB_MONTH = Decimal("0.10")  # container and volume disk of a running pod; documentation of 2026-08
TRAFFIC_USD_PER_GB = Decimal(0)  # documentation of 2026-08: no fee either way
BILLING_INCREMENT_SECONDS = 1

Cloud = Literal["secure", "community"]
CLOUDS: tuple[Cloud, ...] = ("secure", "community")
_TENANCY = {"secure": Tenancy.PROVIDER_DATACENTER, "community": Tenancy.COMMUNITY_HOST}
_STOCK_WORDS = {
    "NONE": Availability.UNAVAILABLE,
    "LOW": Availability.LIMITED,
    "MEDIUM": Availability.AVAILABLE,
    "HIGH": Availability.AVAILABLE,
}
_SLICE = re.compile(r"^(?P<card>.+?)\s+MIG\s+\d+g\.(?P<memory>\d+)gb$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What can be had at one width in one place. Prices are as the provider wrote them, for one GPU."""

    count: int
    availability: Availability
    data_center: str | None = None
    country: str | None = None
    bid: Json = None
    quote: Json = None  # the provider's on-demand price in the same answer; its meaning is settled for one GPU only


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One card in one cloud."""

    cloud: Cloud
    gpu_id: str
    memory_gb: float
    is_sold: bool | None  # the provider's flag for this cloud; None where it gives none
    usd_per_gpu_hour: Json  # as written; None or 0 is no price
    max_count: int
    min_count: int
    stock: Sequence[Stock]


def availability_of(word: str | None) -> Availability:
    """Of the provider's stock word; a word that is not documented tells nothing."""
    return _STOCK_WORDS.get((word or "").upper(), Availability.UNKNOWN)


def offers_of(
    listing: Listing, *, attestations: dict[str, frozenset[str]], observed_at: datetime, source: str
) -> Iterator[Offer]:
    """An offer for each place and width in stock; a width in stock nowhere stays, unavailable, without a place.

    Raises:
        Refused: the card is not sold in this cloud, or has no price there.
        UnknownGpu: the id is not a card of the table.
    """
    card = _card(listing)
    if listing.is_sold is False:
        raise Refused(OUT_OF_SCOPE, f"not sold in the {listing.cloud} cloud")
    list_price = price(listing.usd_per_gpu_hour) if listing.usd_per_gpu_hour else None
    made = False
    for stock in _stock_or_sold_out(listing, card[1]):
        usd_per_gpu_hour = list_price
        if usd_per_gpu_hour is None and stock.count == 1 and stock.quote is not None:
            usd_per_gpu_hour = price(stock.quote)
        if usd_per_gpu_hour is None:
            continue
        made = True
        whole = replace(
            _pod(listing, card, stock, usd_per_gpu_hour, observed_at),
            attestations=attestations.get(stock.data_center or "", frozenset()),
            source=source,
        )
        yield whole
        yield from _spot(whole, stock, usd_per_gpu_hour)
    if not made:
        raise Refused(NO_PRICE, f"no price in the {listing.cloud} cloud")


def _pod(
    listing: Listing, card: tuple[GpuMatch, float, float], stock: Stock, usd_per_gpu_hour: Decimal, observed_at: datetime
) -> Offer:
    """The card's pod of this width at this place, on demand."""
    match, fraction, memory_gb = card
    return Offer(
        feed=NAME,
        provider=NAME,
        tier=listing.cloud,
        instance_type=listing.gpu_id,
        gpu=match.gpu.name,
        gpu_count=stock.count * fraction,
        gpu_memory_gb=memory_gb,
        gpu_raw_name=listing.gpu_id,
        form_factor=match.form_factor,
        interconnect=interconnect_of(match),
        capacity_type=CapacityType.ON_DEMAND,
        tenancy=_TENANCY[listing.cloud],
        region=stock.data_center,
        country=country_of(NAME, stock.data_center) if stock.data_center else stock.country,
        availability=stock.availability,
        usd_per_hour=usd_per_gpu_hour * stock.count,
        storage_usd_per_gb_month=STORAGE_USD_PER_GB_MONTH,
        egress_usd_per_gb=TRAFFIC_USD_PER_GB,
        ingress_usd_per_gb=TRAFFIC_USD_PER_GB,
        billing_increment_seconds=BILLING_INCREMENT_SECONDS,
        disk_included_gb=0,
        observed_at=observed_at,
    )


def _spot(on_demand: Offer, stock: Stock, usd_per_gpu_hour: Decimal) -> Iterator[Offer]:
    """A spot offer only from a bid strictly below the price on demand: the bid was equal to it on every shape seen."""
    if not stock.bid or stock.availability is Availability.UNAVAILABLE:
        return
    bid_per_gpu = price(stock.bid)
    if bid_per_gpu < usd_per_gpu_hour:
        yield replace(
            on_demand,
            capacity_type=CapacityType.SPOT,
            price_basis=PriceBasis.BID_FLOOR,
            usd_per_hour=bid_per_gpu * stock.count,
        )


def _card(listing: Listing) -> tuple[GpuMatch, float, float]:
    """The card, the share of it in one unit of the listing, and the memory of that share."""
    slice_ = _SLICE.match(listing.gpu_id)
    if slice_ is None:
        match = find_gpu(listing.gpu_id, memory_gb=listing.memory_gb)
        return match, 1, match.gpu.memory_gb
    match, memory_gb = find_gpu(slice_["card"]), float(slice_["memory"])
    return match, memory_gb / match.gpu.memory_gb, memory_gb


def _stock_or_sold_out(listing: Listing, fraction: float) -> Iterator[Stock]:
    """Places with stock for each width. Slices are told apart from cards, so only one slice is an offer."""
    for width in WIDTHS if fraction == 1 else (1,):
        found = [s for s in listing.stock if s.count == width and s.availability is not Availability.UNAVAILABLE]
        yield from found
        if not found and listing.min_count <= width <= listing.max_count:
            yield Stock(count=width, availability=Availability.UNAVAILABLE)
