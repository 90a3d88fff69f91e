"""Listing: rows of a market that pass the filters of `GET /offers`, in a stated order, by vector operations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from providers.errors import InvalidInput
from service.solver.columns import Bools, FeedColumns, Floats, Ints

if TYPE_CHECKING:  # Market.select calls this module
    from service.solver.market import Market

Sort = Literal["usd_per_hour", "-usd_per_hour", "usd_per_gpu_hour", "-usd_per_gpu_hour", "gpu_memory_gb", "-gpu_memory_gb"]
SORTS: Final[tuple[Sort, ...]] = (
    "usd_per_hour", "-usd_per_hour", "usd_per_gpu_hour", "-usd_per_gpu_hour", "gpu_memory_gb", "-gpu_memory_gb",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferFilter:
    """What a listed row must be; None asks nothing. `gpus` are names of the table (a family is already spelt out)."""

    gpus: Collection[str] | None = None
    min_gpu_memory_gb: float | None = None
    min_gpu_count: float | None = None
    max_gpu_count: float | None = None
    feeds: Collection[str] | None = None
    providers: Collection[str] | None = None
    tiers: Collection[str] | None = None
    countries: Collection[str] | None = None
    regions: Collection[str] | None = None
    capacity_types: Collection[str] | None = None
    tenancies: Collection[str] | None = None
    availabilities: Collection[str] | None = None
    max_usd_per_hour: float | None = None
    max_usd_per_gpu_hour: float | None = None


_TEXT: Final = {
    "gpus": "gpu", "feeds": "feed", "providers": "provider", "tiers": "tier", "countries": "country",
    "regions": "region", "capacity_types": "capacity_type", "tenancies": "tenancy", "availabilities": "availability",
}  # fmt: skip


def select(market: "Market", wanted: OfferFilter, *, sort: Sort = "usd_per_gpu_hour") -> Ints:
    """Row indices of the market in the order asked; equal rows stand by offer id, so that pages never overlap.

    Raises:
        InvalidInput: the sort is not known.
    """
    if sort not in SORTS:
        raise InvalidInput("not a sort that we know", pointer="/sort", allowed=SORTS)
    rows = [np.flatnonzero(passing(feed, wanted)) for feed in market.feeds]
    found = np.concatenate([row + base for row, base in zip(rows, market.bases, strict=False)] or [np.zeros(0, np.int64)])
    keys = [sort_key(feed, sort)[row] for feed, row in zip(market.feeds, rows, strict=True)]
    ids = [feed.arrays["offer_id"][row] for feed, row in zip(market.feeds, rows, strict=True)]
    if not keys:
        return found
    return found[np.lexsort((np.concatenate(ids), np.concatenate(keys)))]


def passing(feed: FeedColumns, wanted: OfferFilter) -> Bools:
    """Per row of the feed: does it pass every filter."""
    passes = np.ones(feed.rows, dtype=np.bool_)
    for name, column in _TEXT.items():
        allowed: Collection[str] | None = getattr(wanted, name)
        if allowed is not None:
            passes &= _among(feed, column, allowed)
    count, price = feed.arrays["gpu_count"], feed.usd_per_hour
    if wanted.min_gpu_memory_gb is not None:
        passes &= feed.arrays["gpu_memory_gb"] >= wanted.min_gpu_memory_gb
    if wanted.min_gpu_count is not None:
        passes &= count >= wanted.min_gpu_count
    if wanted.max_gpu_count is not None:
        passes &= count <= wanted.max_gpu_count
    if wanted.max_usd_per_hour is not None:
        passes &= price <= wanted.max_usd_per_hour
    if wanted.max_usd_per_gpu_hour is not None:
        passes &= price <= wanted.max_usd_per_gpu_hour * count
    return passes


def sort_key(feed: FeedColumns, sort: Sort) -> Floats:
    """Ascending key of each row for the sort asked."""
    name = sort.removeprefix("-")
    if name == "usd_per_hour":
        key: Floats = feed.usd_per_hour
    elif name == "usd_per_gpu_hour":
        key = feed.usd_per_hour / feed.arrays["gpu_count"]
    else:
        key = feed.arrays["gpu_memory_gb"]
    return -key if sort.startswith("-") else key


def _among(feed: FeedColumns, column: str, allowed: Collection[str]) -> Bools:
    words: Sequence[str] = feed.words[column]
    wanted = np.array([word in allowed for word in words] + [False], dtype=np.bool_)  # the last one answers code -1
    return np.asarray(wanted[feed.arrays[column]], dtype=np.bool_)
