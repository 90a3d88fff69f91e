"""Suspect prices: so low that an error is likelier than a bargain.

Judged beside their own other regions, the market, and the price of the same machine bought for a term.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from providers.units import HOURS_PER_MONTH
from service.solver.columns import Bools, FeedColumns
from service.solver.groups import MACHINE, groups_of, numbered

_ROUNDING: Final = 1e-9
MARKET_SHARE: Final = 0.2  # under a fifth of the market's median for the card and capacity type
LEAST_TERM_MONTHS: Final = 1.0  # a block of days may cost more by the hour than no commitment at all
_SELLER: Final = ("provider", "tier", "gpu", "capacity_type")


def suspect_rows(feeds: Sequence[FeedColumns]) -> tuple[Bools, ...]:
    """Per feed, the rows whose price is suspect: alone among its regions, under its term price, far under the market's median."""
    medians = market_medians(feeds)
    return tuple(groups_of(feed).lone | _under_term_price(feed) | _under_market(feed, medians) for feed in feeds)


def market_medians(feeds: Sequence[FeedColumns]) -> dict[tuple[str, str], float]:
    """Median over sellers of each seller's median price per whole GPU, by (gpu, capacity type).

    The median is taken over sellers, not rows: a provider with many regions is still one opinion.
    """
    by_key: dict[tuple[str, str], list[float]] = {}
    for feed in feeds:
        for gpu, capacity_type, usd in _seller_medians(feed):
            by_key.setdefault((gpu, capacity_type), []).append(usd)
    return {key: float(np.median(values)) for key, values in by_key.items()}


def _seller_medians(feed: FeedColumns) -> list[tuple[str, str, float]]:
    found = feed.cache.get("seller_medians")
    if found is None:
        found = feed.cache["seller_medians"] = _compute(feed)
    return found


def _compute(feed: FeedColumns) -> list[tuple[str, str, float]]:
    price = feed.usd_per_hour / feed.arrays["gpu_count"]
    sellers = numbered(feed, _SELLER)
    order = np.lexsort((price, sellers))
    ranked = sellers[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if feed.rows else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(order))
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        middle = (price[order[(start + end - 1) // 2]] + price[order[(start + end) // 2]]) / 2
        row = int(order[start])
        found.append((str(feed.text("gpu", row)), str(feed.text("capacity_type", row)), float(middle)))
    return found


def _under_term_price(feed: FeedColumns) -> Bools:
    found: Bools | None = feed.cache.get("under_term_price")
    if found is None:
        found = feed.cache["under_term_price"] = _compare_with_terms(feed)
    return found


def _compare_with_terms(feed: FeedColumns) -> Bools:
    """On-demand rows below the price by the hour of the same machine at the same place with a commitment.

    Not where every region of a machine, of two at least, stands so: a cut of the list came before one of the plans.
    """
    marked, kinds = np.zeros(feed.rows, dtype=np.bool_), feed.words["capacity_type"]
    if "reserved" not in kinds or "on_demand" not in kinds:
        return marked
    kind, term = feed.arrays["capacity_type"], feed.arrays["term_months"]
    bought = np.flatnonzero((kind == kinds.index("reserved")) & (term >= LEAST_TERM_MONTHS))
    shapes = numbered(feed, (*MACHINE, "tier", "is_dated"))
    places = numbered(feed, (*MACHINE, "tier", "is_dated", "country", "region"))
    upfront = np.maximum(feed.arrays["upfront_usd"][bought], 0) / 1e6
    least: dict[int, float] = {}
    hourly = feed.usd_per_hour[bought] + upfront / (term[bought] * HOURS_PER_MONTH)
    for place, usd in zip(places[bought].tolist(), hourly.tolist(), strict=True):
        least[place] = min(usd, least.get(place, np.inf))
    listed = np.flatnonzero((kind == kinds.index("on_demand")) & np.isin(places, np.array(list(least), dtype=np.int64)))
    floor = np.array([least[place] for place in places[listed].tolist()])
    under = feed.usd_per_hour[listed] < floor * (1 - _ROUNDING)
    by_shape: dict[int, dict[int, bool]] = {}
    for shape, place, is_under in zip(shapes[listed].tolist(), places[listed].tolist(), under.tolist(), strict=True):
        held = by_shape.setdefault(shape, {})
        held[place] = held.get(place, False) or is_under
    cut = [shape for shape, held in by_shape.items() if len(held) > 1 and all(held.values())]
    marked[listed] = under & ~np.isin(shapes[listed], np.array(cut, dtype=np.int64))
    return marked


def _under_market(feed: FeedColumns, medians: dict[tuple[str, str], float]) -> Bools:
    gpus, kinds = feed.words["gpu"], feed.words["capacity_type"]
    limit = np.array([[MARKET_SHARE * medians.get((gpu, kind), 0.0) for kind in kinds] for gpu in gpus])
    if limit.size == 0:
        return np.zeros(feed.rows, dtype=np.bool_)
    under = feed.usd_per_hour / feed.arrays["gpu_count"] < limit[feed.arrays["gpu"], feed.arrays["capacity_type"]]
    return np.asarray(under, dtype=np.bool_)
