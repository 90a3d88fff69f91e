"""Market: the immutable columns of every feed with their groups, statuses and medians; what a plan reads.

Building it costs one pass over each changed feed (its groups are kept with its columns) and a merge of small
tables: what is judged once per request (machine kinds, sellers, terms, sources) is numbered over all feeds.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np

from providers.offer import Offer
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.solver.columns import Bools, FeedColumns, Ints, pack_offers, unpack
from service.solver.groups import FeedGroups, groups_of, split_by
from service.solver.listing import OfferFilter, Sort, select
from service.solver.memo import Memo
from service.solver.merge import merged, region_class
from service.solver.standing import NOTHING_ELSE, Standing
from service.solver.suspect import suspect_rows
from service.solver.tables import GroupTable, MedianKey, PriceMedian

__all__ = ["FeedColumns", "FeedStatus", "Market", "OfferFilter", "PriceMedian", "pack_offers", "region_class", "unpack"]

STALE_AFTER_MISSES: Final = 3
_REMEMBERED: Final = 8192  # mostly rows as options show them, some 2 KiB each


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedStatus:
    """Where the prices of one adapter stand. `scopes` holds the last success per failure domain (an AWS region)."""

    name: str
    enabled: bool = True
    needs_key: bool = False
    state: str = "ok"  # ok, degraded, stale, failing, disabled, needs_key, never
    last_success_at: datetime | None = None
    last_attempt_at: datetime | None = None
    interval_seconds: int = 300
    error: str | None = None  # the error's code
    offers: int = 0
    rejected: int = 0
    truncated: bool = False
    scopes: Mapping[str, datetime] = field(default_factory=dict)

    def seen_at(self, scope: str = "") -> datetime | None:
        """When the feed, or one failure domain of it, last answered."""
        return self.scopes.get(scope, self.last_success_at)

    def age_hours(self, now: datetime, scope: str = "") -> float | None:
        """Hours since it last answered; None if it never did."""
        seen = self.seen_at(scope)
        return None if seen is None else max(0.0, (now - seen).total_seconds() / 3600)

    def is_stale(self, now: datetime, scope: str = "") -> bool:
        """True from three missed refreshes on, or when it never answered."""
        age = self.age_hours(now, scope)
        return age is None or age * 3600 > STALE_AFTER_MISSES * self.interval_seconds


@dataclass(frozen=True, eq=False)
class Market:
    """One snapshot of all prices. Row indices run over the feeds in their order."""

    feeds: tuple[FeedColumns, ...]
    feed_names: tuple[str, ...]
    bases: tuple[int, ...]  # row index of each feed's first row
    grouped: tuple[FeedGroups, ...]
    groups: GroupTable
    suspect: tuple[Bools, ...]  # per feed, per row
    statuses: tuple[FeedStatus, ...]
    snapshot_id: str
    as_of: datetime | None
    medians: Mapping[MedianKey, PriceMedian]
    calibration: Calibration = UNCALIBRATED  # the user's own factors on our estimates
    memo: Memo = field(init=False, repr=False, default_factory=lambda: Memo(_REMEMBERED))
    standing: Standing = NOTHING_ELSE  # policy, acceptances and measured use

    @classmethod
    def build(
        cls,
        feeds: Mapping[str, FeedColumns],
        statuses: Sequence[FeedStatus],
        *,
        snapshot_id: str,
        as_of: datetime | None,
        medians: Mapping[MedianKey, PriceMedian] | None = None,
        calibration: Calibration = UNCALIBRATED,
        standing: Standing = NOTHING_ELSE,
    ) -> "Market":
        """The market of these feeds; feeds whose columns are the same objects as before are not grouped again."""
        names = tuple(sorted(feeds))
        columns = tuple(feeds[name] for name in names)
        for feed in columns:
            groups_of(feed)
        suspect = suspect_rows(columns)
        grouped = tuple(split_by(feed, marked) for feed, marked in zip(columns, suspect, strict=True))
        sizes = [feed.rows for feed in columns]
        return cls(
            feeds=columns,
            feed_names=names,
            bases=tuple(int(base) for base in np.cumsum([0, *sizes])),
            grouped=grouped,
            groups=merged(columns, grouped, suspect, medians or {}),
            suspect=suspect,
            statuses=tuple(sorted(statuses, key=lambda status: status.name)),
            snapshot_id=snapshot_id,
            as_of=as_of,
            medians=medians or {},
            calibration=calibration,
            standing=standing,
        )

    @property
    def offers(self) -> int:
        """How many offers there are."""
        return self.bases[-1]

    def status(self, feed: str) -> FeedStatus | None:
        """The feed's status, None when there is none."""
        return self._by_name.get(feed)

    @cached_property
    def _by_name(self) -> dict[str, FeedStatus]:
        return {status.name: status for status in self.statuses}

    def place(self, index: int) -> tuple[int, int]:
        """The feed's number and the row inside it."""
        feed = bisect_right(self.bases, index) - 1
        return feed, index - self.bases[feed]

    def offer(self, index: int) -> Offer:
        """The offer at a row index, exact."""
        feed, row = self.place(index)
        return self.feeds[feed].offer(row)

    def select(self, wanted: OfferFilter, *, sort: Sort = "usd_per_gpu_hour") -> Ints:
        """Row indices of the offers that pass the filters, in the order asked."""
        return select(self, wanted, sort=sort)
