"""Offers: which rows of the market meet a query, in which order, and how each is shown."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from providers.errors import InvalidInput, UnknownGpu
from providers.gpus import select_gpus
from service.domain.offers import ListedOffer, OfferPage, OffersQuery
from service.solver.columns import Bools, FeedColumns, Ints
from service.solver.market import Market

_HALF_MICRO = 5e-7  # prices are whole micro-dollars: what is nearer than half of one is equal


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
    )


def ordered_rows(market: Market, query: OffersQuery) -> Ints:
    """Row numbers of the offers that meet the query, in its order; equal ones by offer id, so that pages never overlap."""
    _refuse_contradictions(query)
    cards = _cards(query.gpu)
    rows: list[Ints] = []
    keys: list[Any] = []
    for feed, base, suspect in zip(market.feeds, market.bases, market.suspect, strict=False):
        found = np.flatnonzero(_mask(feed, query, cards))
        rows.append(found + base)
        keys.append((_sort_value(feed, query.sort, found), suspect[found], feed.arrays["offer_id"][found]))
    if not rows:
        return np.zeros(0, dtype=np.int64)
    value, suspect_all, offer_id = (np.concatenate([key[at] for key in keys]) for at in range(3))
    order = np.lexsort((offer_id, value, suspect_all))
    return np.concatenate(rows)[order]


def _refuse_contradictions(query: OffersQuery) -> None:
    if query.min_count is not None and query.max_count is not None and query.min_count > query.max_count:
        raise InvalidInput("min_count is above max_count", pointer="/min_count")
    if query.count is not None and (query.min_count is not None or query.max_count is not None):
        raise InvalidInput("count stands alone: give it, or min_count and max_count", pointer="/count")


def _cards(names: Sequence[str]) -> frozenset[str] | None:
    if not names:
        return None
    cards: set[str] = set()
    for name in names:
        try:
            cards.update(gpu.name for gpu in select_gpus(name))
        except UnknownGpu as error:
            raise UnknownGpu(str(error), pointer="/gpu", allowed=error.allowed) from error
    return frozenset(cards)


def _mask(feed: FeedColumns, query: OffersQuery, cards: frozenset[str] | None) -> Bools:
    keep = np.ones(feed.rows, dtype=np.bool_)
    wanted: tuple[tuple[str, Collection[str] | None], ...] = (
        ("gpu", cards),
        ("provider", query.provider or None),
        ("country", query.country or None),
        ("region", query.region or None),
        ("capacity_type", query.capacity_type or None),
        ("tenancy", query.tenancy or None),
        ("availability", query.availability or None),
    )
    for name, words in wanted:
        if words is not None:
            keep &= _is_one_of(feed, name, words)
    count, memory, price = feed.arrays["gpu_count"], feed.arrays["gpu_memory_gb"], feed.usd_per_hour
    if query.min_memory_gb is not None:
        keep &= memory >= query.min_memory_gb
    if query.count is not None:
        keep &= count == query.count
    if query.min_count is not None:
        keep &= count >= query.min_count
    if query.max_count is not None:
        keep &= count <= query.max_count
    if query.max_usd_per_hour is not None:
        keep &= price <= query.max_usd_per_hour
    if query.max_usd_per_gpu_hour is not None:
        keep &= price <= query.max_usd_per_gpu_hour * count + _HALF_MICRO
    return keep


def _is_one_of(feed: FeedColumns, name: str, words: Collection[str]) -> Bools:
    """Judged once per word of the column's vocabulary; the last place stands for an unknown value, which meets nothing."""
    judged = np.array([*(word in words for word in feed.words[name]), False], dtype=np.bool_)
    found: Bools = judged[feed.arrays[name]]
    return found


def _sort_value(feed: FeedColumns, sort: str, rows: Ints) -> Any:
    name = sort.removeprefix("-")
    if name == "usd_per_gpu_hour":
        value = feed.usd_per_hour[rows] / feed.arrays["gpu_count"][rows]
    elif name == "usd_per_hour":
        value = feed.usd_per_hour[rows]
    else:
        value = feed.arrays[name][rows]
    return -value if sort.startswith("-") else value


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
    )


def _usd(amount: Any) -> float | None:
    return None if amount is None else round(float(amount), 6)


def _nearest_in_stock(market: Market, query: OffersQuery) -> tuple[str, ...]:
    from rapidfuzz import fuzz, process  # only an empty answer needs it

    offered = sorted({word for feed in market.feeds for word in feed.words["gpu"]})
    hits = [process.extract(name, offered, scorer=fuzz.WRatio, limit=3, score_cutoff=60) for name in query.gpu]
    return tuple(dict.fromkeys(name for group in hits for name, _, _ in group))
