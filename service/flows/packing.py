"""Packing a feed's current offers into its blob, in a form that does not depend on when it was made."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from providers.offer import Offer
from service.solver.columns import FeedColumns, columns_of, pack, unpack


@dataclass(frozen=True, slots=True)
class PackedOffers:
    """A feed's blob and how many offers stand in it."""

    rows: int
    blob: bytes


def pack_feed(
    offers: Mapping[str, Offer], *, touched: Collection[str], previous: bytes | None, kept_scopes: Collection[str]
) -> PackedOffers:
    """The blob of `offers` and of the previous blob's other offers in `kept_scopes`, ordered by id.

    An offer that is not `touched` (new or changed) keeps the `observed_at` at which it was first read like this:
    the blob then equals what a query of the stored prices gives for any later `as_of`.
    """
    before = None if previous is None else unpack(previous)
    if before is not None and kept_scopes:
        kept = {before.offer_id(row): before.offer(row) for row in range(before.rows) if before.text("scope", row) in kept_scopes}
        merged = kept | dict(offers)
        offers = {offer_id: merged[offer_id] for offer_id in sorted(merged)}
    columns = columns_of(list(offers.values()), offer_ids=list(offers))
    if before is not None and before.rows:
        _carry_observed_at(columns, before, touched)
    return PackedOffers(rows=columns.rows, blob=pack(columns))


def _carry_observed_at(columns: FeedColumns, before: FeedColumns, touched: Collection[str]) -> None:
    ids, old_ids = columns.arrays["offer_id"], before.arrays["offer_id"]
    order = np.argsort(old_ids)
    place = order[np.searchsorted(old_ids, ids, sorter=order).clip(max=len(order) - 1)]
    is_touched = np.isin(ids, np.array([int(offer_id, 16) for offer_id in touched], dtype=np.uint64))
    is_kept = (old_ids[place] == ids) & ~is_touched
    columns.arrays["observed_at"] = np.where(is_kept, before.arrays["observed_at"][place], columns.arrays["observed_at"])
