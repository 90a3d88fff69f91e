"""Reading a table of dated prices: each row becomes offers, or a refusal with its line and column.

A row states a machine's on-demand price, its spot price, or both: two prices are two offers. Of rows for the same offer
the newest is current and the older ones are history; an undated row is older than every dated one.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from providers.base import Refused
from providers.errors import UnknownGpu
from providers.gpus import GpuMatch, find_gpu
from providers.instance_forms import form_of_instance
from providers.interconnect import interconnect_of
from providers.offer import (
    DUPLICATE,
    EXPIRED,
    MALFORMED,
    NO_PRICE,
    UNKNOWN_GPU,
    Arch,
    CapacityType,
    Interconnect,
    Offer,
    PriceBasis,
    Rejected,
    Tenancy,
)
from providers.places import country_of, members_of
from providers.price_cells import Cells
from providers.price_rows import table_rows
from providers.sellers import seller_named, tenancy_of, tier_of
from providers.units import gb_from_gib

EQUAL_SPOT = "spot is listed at the on-demand price"
ANY_REGION = "listed at one price for any region"
# RunPod's catalogues repeat the on-demand price as "spot" on every shape: no signal (see its adapter).
_REPEATS_ON_DEMAND_AS_SPOT = frozenset({"runpod"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """What a table came to. `history` holds the older prices of the current offers, newest first."""

    current: tuple[Offer, ...]
    history: tuple[Offer, ...]
    rejected: tuple[Rejected, ...]
    row_count: int


def read_price_list(text: str, *, feed: str, price_basis: PriceBasis, observed_at: datetime) -> PriceList:
    """The offers of a CSV text with the columns of price_rows.

    Raises:
        ProviderPayloadInvalid: it is no CSV, a needed column is absent, or there is a column of another name.
    """
    offers: list[tuple[str, Offer]] = []
    rejected: list[Rejected] = []
    row_count = 0
    for line, cells in table_rows(feed, text):
        row_count += 1
        if isinstance(cells, str):
            rejected.append(Rejected(reason=MALFORMED, row=line, detail=cells))
            continue
        made, refusals = _read_row(cells, feed=feed, price_basis=price_basis, observed_at=observed_at)
        offers += [(line, offer) for offer in made]
        rejected += [Rejected(reason=refusal.reason, row=line, detail=refusal.detail) for refusal in refusals]
    current, history, doubled = _newest(offers)
    return PriceList(current=current, history=history, rejected=(*rejected, *doubled), row_count=row_count)


def _read_row(cells: Cells, *, feed: str, price_basis: PriceBasis, observed_at: datetime) -> tuple[list[Offer], list[Refused]]:
    """The offers of a row and what was refused: a bad cell refuses the row, a bad price only itself."""
    refusals: list[Refused] = []
    offers: list[Offer] = []
    try:
        machine = _machine(cells, feed=feed, price_basis=price_basis, observed_at=observed_at)
        for terms in _prices(cells, machine["provider"], machine["gpu_count"], refusals):
            is_listed_spot = terms["capacity_type"] is CapacityType.SPOT and price_basis is PriceBasis.LIST
            basis = PriceBasis.SPOT if is_listed_spot else price_basis  # a spot price in a public list is what the market was
            offers.append(Offer(**{**machine, **terms, "price_basis": basis, "notes": (*machine["notes"], *terms["notes"])}))
        if not offers and not refusals:
            raise Refused(NO_PRICE, "neither an on-demand nor a spot price")
    except UnknownGpu as error:
        return [], [Refused(UNKNOWN_GPU, f"column gpu: {error.raw_name}")]
    except Refused as refusal:
        return [], [*refusals, refusal]
    return offers, refusals


def _prices(cells: Cells, provider: str, gpu_count: float, refusals: list[Refused]) -> list[dict[str, Any]]:
    """Capacity type, price and terms of each price in the row; a bad price goes to `refusals`."""
    kind = cells.choice("capacity_type", CapacityType, default=CapacityType.ON_DEMAND)
    if kind in (CapacityType.SPOT, CapacityType.FREE_TIER):
        raise Refused(MALFORMED, "column capacity_type: spot has its own column, and a free tier has no price")
    terms = {
        "term_months": cells.number("term_months", most=120),
        "upfront_usd": cells.decimal("upfront_usd", least=Decimal(0), most=Decimal(10**9)),
    }
    if kind is CapacityType.RESERVED and terms["term_months"] is None:
        raise Refused(MALFORMED, "column term_months: reserved capacity has a term")
    found: dict[str, Decimal | None] = {}
    for column in ("on_demand_usd_per_hour", "spot_usd_per_hour"):
        try:
            found[column] = cells.usd_per_hour(column, gpu_count=gpu_count)
        except Refused as refusal:
            refusals.append(refusal)
    listed, spot = found.get("on_demand_usd_per_hour"), found.get("spot_usd_per_hour")
    prices: list[dict[str, Any]] = []
    if listed is not None:
        prices.append({"capacity_type": kind, "usd_per_hour": listed, "notes": (), **terms})
    if spot is not None and spot == listed and provider in _REPEATS_ON_DEMAND_AS_SPOT:
        refusals.append(Refused(NO_PRICE, "column spot_usd_per_hour: repeats the on-demand price, which is no spot price"))
    elif spot is not None:
        notes = (EQUAL_SPOT,) if spot == listed else ()
        prices.append({"capacity_type": CapacityType.SPOT, "usd_per_hour": spot, "notes": notes})
    return prices


def _machine(cells: Cells, *, feed: str, price_basis: PriceBasis, observed_at: datetime) -> dict[str, Any]:
    """Everything of the row's offers but what its prices say."""
    provider = seller_named(cells.required_text("provider"))
    count = cells.number("gpu_count", least=0.001, most=1024)
    if count is None or (count > 1 and not count.is_integer()):
        raise Refused(MALFORMED, "column gpu_count: a whole number, or a fraction of one card, is needed")
    match, memory_gb = _card(cells, provider, count)
    region, country = _place(cells, provider)
    tier = cells.text("tier", longest=60) or tier_of(provider)
    note, disk_gib = cells.text("as_of_note"), cells.number("disk_gib", most=10_000_000)
    return {
        "feed": feed,
        "provider": provider,
        "tier": tier,
        "instance_type": cells.text("instance_type", longest=100) or None,
        "gpu": match.gpu.name,
        "gpu_count": count,
        "tenancy": _tenancy(cells, provider, tier),
        "region": region,
        "country": country,
        "price_basis": price_basis,
        "gpu_memory_gb": memory_gb,
        "gpu_raw_name": cells.text("gpu", longest=100),
        "form_factor": match.form_factor,
        "interconnect": cells.choice("interconnect", Interconnect, default=interconnect_of(match)),
        "arch": cells.choice("arch", Arch, default=Arch.UNKNOWN),
        "vcpus": cells.number("vcpus", most=10_000),
        "min_machines": _least_machines(cells),
        "memory_gib": cells.number("memory_gib", most=1_000_000),
        "disk_included_gb": None if disk_gib is None else gb_from_gib(disk_gib),
        "observed_at": observed_at,
        "is_dated": True,
        **_dates(cells, observed_at.date()),
        "source": cells.text("source", longest=400),
        "notes": tuple(filter(None, (f"as of {note}" if note else "", ANY_REGION if region is None else ""))),
    }


def _dates(cells: Cells, today: date) -> dict[str, date | None]:
    as_of, valid_until = cells.day("as_of"), cells.day("valid_until")
    if as_of is not None and as_of > today + timedelta(days=1):
        raise Refused(MALFORMED, "column as_of: lies in the future")
    if valid_until is not None and valid_until < today:
        raise Refused(EXPIRED, f"column valid_until: {valid_until.isoformat()}")
    return {"as_of": as_of, "valid_until": valid_until}


def _card(cells: Cells, provider: str, count: float) -> tuple[GpuMatch, float]:
    """The card and the nominal memory of one (of the fraction, for a count below 1)."""
    name, memory_gb = cells.required_text("gpu"), cells.number("gpu_memory_gb", least=0.1, most=10_000)
    form = form_of_instance(provider, cells.text("instance_type", longest=100))
    if count < 1:
        match = find_gpu(name, form_factor=form)
        return match, match.gpu.memory_gb * count if memory_gb is None else memory_gb
    try:
        match = find_gpu(name, memory_gb=memory_gb, form_factor=form)
    except UnknownGpu:
        if form is None:
            raise
        match = find_gpu(name, memory_gb=memory_gb)  # the machine type stands for another card than the row names
    return match, match.gpu.memory_gb


def _place(cells: Cells, provider: str) -> tuple[str | None, str | None]:
    region = cells.text("region", longest=100)
    stated = cells.text("country").upper()
    if stated and (len(stated) != 2 or members_of(stated) != frozenset({stated})):
        raise Refused(MALFORMED, "column country: not a two-letter ISO code")
    if region.casefold() == "any":
        return None, None
    return region or None, stated or country_of(provider, region) or None


def _least_machines(cells: Cells) -> int:
    least = cells.number("min_machines", least=1, most=1024)
    if least is not None and not least.is_integer():
        raise Refused(MALFORMED, "column min_machines: a whole number is needed")
    return int(least or 1)


def _tenancy(cells: Cells, provider: str, tier: str) -> Tenancy:
    tenancy = cells.choice("tenancy", Tenancy, default=tenancy_of(provider, tier))
    if tenancy is Tenancy.ON_PREM:
        raise Refused(MALFORMED, "column tenancy: own hardware is a pool, not a price")
    return tenancy


def _newest(offers: list[tuple[str, Offer]]) -> tuple[tuple[Offer, ...], tuple[Offer, ...], list[Rejected]]:
    """Current offers in their order, older ones newest first, and a refusal for a second price of the same day."""
    by_id: dict[str, dict[date, Offer]] = {}
    doubled: list[Rejected] = []
    for line, offer in offers:
        if by_id.setdefault(offer.offer_id, {}).setdefault(offer.as_of or date.min, offer) is not offer:
            doubled.append(Rejected(reason=DUPLICATE, row=line, detail="a second price of the same day: the first counts"))
    current: list[Offer] = []
    history: list[Offer] = []
    for by_day in by_id.values():
        newest, *older = [by_day[day] for day in sorted(by_day, reverse=True)]
        current.append(newest)
        history += older
    return tuple(current), tuple(history), doubled
