"""Machines of Compute Engine put together from the parts that one region prices, and what is missing where."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from providers.base import Json, Refused
from providers.gcp.book import MissingPart, PriceBook, cost, told
from providers.gcp.shapes import Shape, cards_of, core_part, gpu_part, memory_part, shapes
from providers.gcp.skus import Bought, Sku, bought, check_kind, part_of
from providers.offer import (
    MISSING_PART,
    NO_GPU,
    OUT_OF_SCOPE,
    UNKNOWN_GPU,
    Arch,
    CapacityType,
    Fabric,
    Offer,
    PriceBasis,
    Rejected,
    Tenancy,
)
from providers.places import country_of
from providers.units import gb_from_gib

TIER = "vm"
SOURCE = "Cloud Billing Catalog API, Compute Engine"
NOTE_SLICE = "the GPU slice is taken as complete: cores, memory and local SSD are in its price"
CAPACITY = {Bought.ON_DEMAND: CapacityType.ON_DEMAND, Bought.SPOT: CapacityType.SPOT}


def is_gpu_machine_sku(raw: Json) -> bool:
    """True for a card and for a part of a machine with cards. Commitments are left out: they are sold by the year."""
    category, description = (raw.get("category"), raw.get("description")) if isinstance(raw, dict) else (None, None)
    if not isinstance(category, dict) or not isinstance(description, str):
        return True  # counted as malformed where it is read
    words = " ".join(description.casefold().split())
    if bought(words, str(category.get("usageType"))) is Bought.COMMITMENT:
        return False
    return category.get("resourceGroup") == "GPU" or part_of(words) is not None


def place_of(sku: Sku) -> tuple[Bought, str]:
    """How a SKU is bought and which part it is. Raises Refused for what is no part of a machine here."""
    kind = sku.bought
    check_kind(sku.words, kind)
    part = part_of(sku.words)
    if part is None:
        is_card = sku.category.resourceGroup == "GPU"
        raise Refused(UNKNOWN_GPU if is_card else NO_GPU, "a card without a machine in the table" if is_card else "")
    return kind, part


def machines(book: PriceBook[Bought], *, feed: str, observed_at: datetime) -> tuple[list[Offer], list[Rejected]]:
    """Offers of all machines whose parts one region prices, and the machines that lack a part there."""
    offers: list[Offer] = []
    dropped: list[Dropped] = []
    for kind, capacity in CAPACITY.items():
        for region in book.regions(kind):
            prices = book.at(kind, region)
            for shape in machines_at(prices, kind):
                try:
                    lines = cost(shape.parts(), prices)
                except MissingPart as error:
                    dropped.append(Dropped(error.part, shape, region, kind, prices))
                    continue
                fields = machine_fields(shape, feed=feed, region=region, observed_at=observed_at, has_local_ssd=True)
                offers.append(
                    Offer(
                        **fields,
                        tier=TIER,
                        capacity_type=capacity,
                        price_basis=PriceBasis.SPOT if capacity is CapacityType.SPOT else PriceBasis.LIST,
                        usd_per_hour=sum(lines.values(), Decimal(0)),
                        source=SOURCE,
                        notes=(told(lines), NOTE_SLICE) if shape.is_slice else (told(lines),),
                    )
                )
    return offers, refusals(dropped, offers)


def machines_at(prices: Mapping[str, Decimal], kind: Bought | None) -> Iterator[Shape]:
    """The machines that a region sells this way: their card is priced, or the host that is never sold without a card.

    Args:
        kind: None takes machines whichever way Compute Engine sells them.
    """
    for shape in shapes():
        if kind is not None and kind.value not in shape.bought_as:
            continue
        host = {core_part(shape.family), memory_part(shape.family)}
        if gpu_part(shape.accelerator) in prices or (not shape.has_attached_cards and host <= prices.keys()):
            yield shape


class Dropped(NamedTuple):
    """A machine that a region prices in part: the part without a price, and what is priced there."""

    part: str
    shape: Shape
    place: str
    kind: Bought
    prices: Mapping[str, Decimal]


def refusals(dropped: Iterable[Dropped], offers: Iterable[Offer]) -> list[Rejected]:
    """Every dropped machine with its missing part. A host that is priced without a card of its own is no gap everywhere.

    It is none where the region sells the host with another card, and none where no region has the machine whole: then the
    vendor does not sell it so, and the refresh is not called partial for it. All other gaps are.
    """
    whole = {(offer.instance_type, offer.capacity_type) for offer in offers}
    found = []
    for one in dropped:
        reason, detail = MISSING_PART, f"no price of {one.part}"
        if one.part == gpu_part(one.shape.accelerator):
            if any(gpu_part(card) in one.prices for card in cards_of(one.shape.family)):
                reason, detail = OUT_OF_SCOPE, f"{detail}: the region sells this host with another card"
            elif (one.shape.machine_type, CAPACITY[one.kind]) not in whole:
                reason, detail = OUT_OF_SCOPE, f"{detail}, and no region prices this machine whole"
        found.append(Rejected(reason=reason, row=f"{one.place} {one.shape.machine_type} {one.kind.value}", detail=detail))
    return found


def machine_fields(shape: Shape, *, feed: str, region: str, observed_at: datetime, has_local_ssd: bool) -> dict[str, Any]:
    """The fields of an offer that do not depend on how it is bought."""
    return {
        "feed": feed,
        "provider": feed,
        "tenancy": Tenancy.HYPERSCALER,
        "instance_type": shape.machine_type,
        "gpu": shape.gpu.name,
        "gpu_count": shape.gpu_count,
        "gpu_memory_gb": shape.gpu.memory_gb,
        "gpu_raw_name": shape.accelerator,
        "form_factor": shape.gpu.form_factor,
        "interconnect": shape.interconnect,
        "fabric": Fabric.ETHERNET,
        "arch": Arch.X86_64,
        "vcpus": shape.vcpus,
        "memory_gib": shape.memory_gib,
        "disk_included_gb": gb_from_gib(shape.local_ssd_gib) if has_local_ssd else None,
        "region": region,
        "country": country_of(feed, region),
        "observed_at": observed_at,
    }
