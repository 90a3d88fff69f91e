"""Suspect prices: so low beside their own other regions or the market that an error is likelier than a bargain."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from service.solver.columns import Bools, FeedColumns
from service.solver.groups import groups_of, numbered

MARKET_SHARE: Final = 0.2  # under a fifth of the market's median for the card and capacity type
_SELLER: Final = ("provider", "tier", "gpu", "capacity_type")


def suspect_rows(feeds: Sequence[FeedColumns]) -> tuple[Bools, ...]:
    """Per feed, the rows whose price is suspect: alone among its regions, or far under the market's median."""
    medians = market_medians(feeds)
    return tuple(groups_of(feed).lone | _under_market(feed, medians) for feed in feeds)


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


def _under_market(feed: FeedColumns, medians: dict[tuple[str, str], float]) -> Bools:
    gpus, kinds = feed.words["gpu"], feed.words["capacity_type"]
    limit = np.array([[MARKET_SHARE * medians.get((gpu, kind), 0.0) for kind in kinds] for gpu in gpus])
    if limit.size == 0:
        return np.zeros(feed.rows, dtype=np.bool_)
    under = feed.usd_per_hour / feed.arrays["gpu_count"] < limit[feed.arrays["gpu"], feed.arrays["capacity_type"]]
    return np.asarray(under, dtype=np.bool_)
