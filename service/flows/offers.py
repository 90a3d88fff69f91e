"""Offers: which rows of the market meet a query, in which order, and how each is shown."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from providers.errors import InvalidInput, UnknownGpu
from providers.gpus import GPUS, select_gpus
from providers.market_tiers import market_tier
from providers.reference import BANDS, BANDS_YEAR, Band, band_difference
from service.domain.offers import ListedOffer, OfferPage, OffersQuery, PriceBand
from service.solver.columns import Ints
from service.solver.listing import OfferFilter, passing, sort_key
from service.solver.market import Market

_ROUNDING = 1 + 1e-9  # a limit per GPU times the count is a rounded number


def list_offers(market: Market, query: OffersQuery, *, start: int = 0) -> OfferPage:
    """Offers from number `start` of the order on; `next_cursor` is left to the door.

    Raises:
        UnknownGpu: a card is not in the table.
        InvalidInput: a filter contradicts itself.
    """
    found = ordered_rows(market, query)
    shown = tuple(_listed(market, index) for index in found[start : start + query.limit].tolist())
    filters = query.model_dump(mode="json", exclude={"cursor"})
    return OfferPage(
        offers=shown,
        total=len(found),
        next_cursor=None,
        filters=filters,
        nearest_gpus=() if len(found) or not query.gpu else _nearest_in_stock(market, query),
        snapshot_id=market.snapshot_id,
        as_of=market.as_of,
        price_bands=_price_bands(market, cards_named(query.gpu)),
    )


def _price_bands(market: Market, cards: frozenset[str] | None) -> tuple[PriceBand, ...]:
    """The quoted bands of the asked cards; none where no card was asked for."""
    if cards is None:
        return ()
    return tuple(_price_band(market, band, mine) for band in BANDS if (mine := cards & _cards_of(band)))


def _cards_of(band: Band) -> frozenset[str]:
    return frozenset(gpu.name for gpu in GPUS.values() if gpu.family == band.family and gpu.memory_gb == band.memory_gb)


def _price_band(market: Market, band: Band, cards: frozenset[str]) -> PriceBand:
    wanted = OfferFilter(gpus=cards, capacity_types=(band.capacity_type.value,), min_gpu_count=1)
    per_gpu = [
        Decimal(repr(price))
        for feed in market.feeds
        for price in sort_key(feed, "usd_per_gpu_hour")[passing(feed, wanted)].tolist()
    ]
    found = band_difference(band, per_gpu)
    return PriceBand(
        card=band.label,
        capacity_type=band.capacity_type,
        year=BANDS_YEAR,
        low_usd_per_gpu_hour=float(band.low_usd_per_gpu_hour),
        high_usd_per_gpu_hour=float(band.high_usd_per_gpu_hour),
        offers=found.offers,
        median_usd_per_gpu_hour=_usd(found.median_usd_per_gpu_hour),
        difference_fraction=None if found.difference_fraction is None else round(found.difference_fraction, 6),
        verdict=found.verdict,
    )


def ordered_rows(market: Market, query: OffersQuery) -> Ints:
    """Row numbers of the offers that meet the query, in its order, those with a suspect price behind all others."""
    _refuse_contradictions(query)
    found = market.select(_filter(query), sort=query.sort.value)
    is_suspect = np.concatenate([*market.suspect, np.zeros(0, dtype=np.bool_)])[found]
    ordered: Ints = found[np.argsort(is_suspect, kind="stable")]
    return ordered


def _filter(query: OffersQuery) -> OfferFilter:
    per_gpu = query.max_usd_per_gpu_hour
    return OfferFilter(
        gpus=cards_named(query.gpu),
        min_gpu_memory_gb=query.min_memory_gb,
        min_gpu_count=query.min_count if query.count is None else query.count,
        max_gpu_count=query.max_count if query.count is None else query.count,
        providers=query.provider or None,
        countries=query.country or None,
        regions=query.region or None,
        capacity_types=query.capacity_type or None,
        tenancies=query.tenancy or None,
        availabilities=query.availability or None,
        max_usd_per_hour=query.max_usd_per_hour,
        max_usd_per_gpu_hour=None if per_gpu is None else per_gpu * _ROUNDING,
    )


def _refuse_contradictions(query: OffersQuery) -> None:
    if query.min_count is not None and query.max_count is not None and query.min_count > query.max_count:
        raise InvalidInput("min_count is above max_count", pointer="/min_count")
    if query.count is not None and (query.min_count is not None or query.max_count is not None):
        raise InvalidInput("count stands alone: give it, or min_count and max_count", pointer="/count")


def cards_named(names: Sequence[str]) -> frozenset[str] | None:
    """Every card that one of the names means; None without a name. Raises UnknownGpu."""
    if not names:
        return None
    cards: set[str] = set()
    for name in names:
        try:
            cards.update(gpu.name for gpu in select_gpus(name))
        except UnknownGpu as error:
            raise UnknownGpu(str(error), pointer="/gpu", allowed=error.allowed) from error
    return frozenset(cards)


def _listed(market: Market, index: int) -> ListedOffer:
    number, row = market.place(index)
    offer = market.feeds[number].offer(row)
    status = market.status(offer.feed)
    return ListedOffer(
        offer_id=market.feeds[number].offer_id(row),
        provider=offer.provider,
        feed=offer.feed,
        tier=offer.tier,
        instance_type=offer.instance_type,
        gpu=offer.gpu,
        gpu_count=offer.gpu_count,
        gpu_memory_gb=offer.gpu_memory_gb,
        form_factor=offer.form_factor,
        interconnect=offer.interconnect,
        arch=offer.arch,
        vcpus=offer.vcpus,
        memory_gib=offer.memory_gib,
        region=offer.region,
        zone=offer.zone,
        country=offer.country,
        capacity_type=offer.capacity_type,
        tenancy=offer.tenancy,
        availability=offer.availability,
        usd_per_hour=round(float(offer.usd_per_hour), 6),
        usd_per_gpu_hour=round(float(offer.usd_per_gpu_hour), 6),
        price_basis=offer.price_basis,
        upfront_usd=_usd(offer.upfront_usd),
        term_months=offer.term_months,
        storage_usd_per_gb_month=_usd(offer.storage_usd_per_gb_month),
        egress_usd_per_gb=_usd(offer.egress_usd_per_gb),
        reliability_fraction=offer.reliability_fraction,
        suspect=bool(market.suspect[number][row]),
        observed_at=offer.observed_at,
        last_seen_at=status.seen_at(offer.scope) if status else None,
        as_of=offer.as_of,
        is_dated=offer.is_dated,
        source=offer.source,
        market_tier=market_tier(provider=offer.provider, tier=offer.tier, tenancy=offer.tenancy),
        session_limit_hours=offer.session_limit_hours,
        weekly_quota_hours=offer.weekly_quota_hours,
        min_machines=offer.min_machines,
    )


def _usd(amount: Any) -> float | None:
    return None if amount is None else round(float(amount), 6)


def _nearest_in_stock(market: Market, query: OffersQuery) -> tuple[str, ...]:
    from rapidfuzz import fuzz, process, utils  # only an empty answer needs it

    offered = sorted({word for feed in market.feeds for word in feed.words["gpu"]})
    hits = [
        process.extract(name, offered, scorer=fuzz.WRatio, processor=utils.default_process, limit=3, score_cutoff=60)
        for name in query.gpu
    ]
    return tuple(dict.fromkeys(name for group in hits for name, _, _ in group))
