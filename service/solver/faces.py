"""Faces: what an option shows of its row whatever the request asks; worked out once per row and kept with the market."""

from dataclasses import dataclass
from typing import NamedTuple

from providers.market_tiers import effort
from service.domain.plan import OptionPrice
from service.solver.columns import FeedColumns
from service.solver.market import Market
from service.solver.market_tiers import market_of
from service.solver.rows import PricedRow
from service.solver.tables import Kind, Seller, Source, Terms


class Machine(NamedTuple):
    """The fields of PlanOption from `kind` to `gpu_count`, in their order."""

    kind: str
    provider: str
    tier: str
    instance_type: str | None
    gpu: str
    form_factor: str
    gpu_count: float


class PlaceBought(NamedTuple):
    """The fields of PlanOption from `region` to `arch`, in their order."""

    region: str | None
    zone: str | None
    country: str | None
    capacity_type: str
    tenancy: str
    availability: str
    arch: str


@dataclass(frozen=True, slots=True)
class Face:
    """One row of the market as options show it."""

    kind: Kind
    seller: Seller
    terms: Terms
    source: Source
    machine: Machine
    place_bought: PlaceBought
    market_tier: str
    effort: str
    price: OptionPrice  # at the row's own price, without a range
    on_demand_usd: float | None  # of the same machine at the same place, where this one is spot
    place: str
    bought: str
    moves: bool  # its price does, from day to day


def face_of(market: Market, one: PricedRow) -> Face:
    """The face of a row of the market."""
    return market.memo.get(one.row, lambda: _face(market, one))


def _face(market: Market, one: PricedRow) -> Face:
    number, feed_row = market.place(one.row)
    feed, groups = market.feeds[number], market.groups
    kind, seller = groups.kinds.all[one.kind], groups.sellers.all[one.seller]
    terms, source = groups.terms_all[one.terms], groups.sources[one.source]
    region = feed.text("region", feed_row)
    return Face(
        kind=kind,
        seller=seller,
        terms=terms,
        source=source,
        machine=Machine(
            "cloud",
            seller.provider,
            seller.tier,
            feed.text("instance_type", feed_row),
            kind.gpu,
            kind.form_factor,
            kind.gpu_count,
        ),
        place_bought=PlaceBought(
            region,
            feed.text("zone", feed_row),
            seller.country,
            terms.capacity_type,
            seller.tenancy,
            terms.availability,
            kind.arch,
        ),
        market_tier=market_of(seller).value,
        effort=effort(seller.provider).value,
        price=_price(market, feed, feed_row, terms, source),
        on_demand_usd=_on_demand(market, number, feed_row) if terms.capacity_type == "spot" else None,
        place=f"in {region or seller.country}" if region or seller.country else "(region not stated)",
        bought=terms.capacity_type.replace("_", " "),
        moves=terms.capacity_type == "spot" or kind.is_market,
    )


def _price(market: Market, feed: FeedColumns, row: int, terms: Terms, source: Source) -> OptionPrice:
    """The evidence of the price; a live feed that answered later than the row was read has confirmed it."""
    seen, status = feed.observed_at(row), None if source.is_dated else market.status(source.feed)
    confirmed = None if status is None else status.seen_at(source.scope)
    return OptionPrice(
        offer_id=feed.offer_id(row),
        observed_at=seen if confirmed is None else max(seen, confirmed),
        as_of=None if source.as_of is None else source.as_of.isoformat(),
        source=feed.text("source", row) or source.feed,
        basis=terms.price_basis,
        feed=source.feed,
    )


def _on_demand(market: Market, number: int, feed_row: int) -> float | None:
    """The price of the same machine at the same place on demand."""
    twin = int(market.grouped[number].twin[feed_row])
    return None if twin < 0 else float(market.feeds[number].usd_per_hour[twin])
