"""Quotas: which rows are within what the account may hold at once, and by how much the others are over.

Only the rows of a provider that a quota names are looked at, so that a request without quotas costs nothing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from providers.errors import InvalidInput
from providers.sellers import is_known_seller
from providers.units import HOURS_PER_MONTH
from service.domain.request import Quota, QuotaUnit
from service.domain.workload import Task
from service.solver.columns import Bools, Floats, Ints
from service.solver.market import Market
from service.solver.pricing import Pricing

_ROUNDING: Final = 1e-9  # a need equal to its limit is within it


@dataclass(frozen=True, eq=False)
class Quotas:
    """Per row along GroupTable.row: is it within every quota that names its place, and what share of its need is missing."""

    asked: tuple[Quota, ...]
    within: Bools
    missing_fraction: Floats  # of the quota that it is furthest over; 1 for a limit of 0; infinite where the need is unknown
    needed: Floats  # in the unit of that quota
    worst: Ints  # number of that quota; -1: none

    def said(self, position: int) -> str:
        """A row's need beside the limit that it is furthest over."""
        quota, need = self.asked[int(self.worst[position])], float(self.needed[position])
        unit, place = quota.unit.value, f" in {quota.region}" if quota.region is not None else ""
        takes = f"an unknown number of {unit}" if np.isnan(need) else f"{need:g} {unit}"
        return f"takes {takes} at once, the quota at {quota.provider}{place} is {quota.limit}"


def quotas_of(market: Market, asked: tuple[Quota, ...], pricing: Pricing) -> Quotas | None:
    """Every row judged by the quotas asked; None where none are.

    Raises:
        InvalidInput: no provider or region of the market has the name, so that nothing would be bounded.
    """
    if not asked:
        return None
    groups = market.groups
    size = len(groups.row)
    missing, needed, worst = np.zeros(size), np.zeros(size), np.full(size, -1, dtype=np.int64)
    machines, of_row = _machines_at_once(pricing)[groups.kind], np.repeat(np.arange(len(groups)), groups.size)
    for number, quota in enumerate(asked):
        rows = _rows_named(market, quota, number)
        if not len(rows):
            continue
        group = of_row[rows]
        need = machines[group] * _units_each(market, quota.unit, rows, groups.gpu_count[group])
        over = np.where(np.isnan(need), np.inf, np.maximum(0.0, 1 - quota.limit * (1 + _ROUNDING) / np.maximum(need, _ROUNDING)))
        worse = over > missing[rows]
        missing[rows[worse]], needed[rows[worse]], worst[rows[worse]] = over[worse], need[worse], number
    return Quotas(asked=asked, within=worst < 0, missing_fraction=missing, needed=needed, worst=worst)


def _machines_at_once(pricing: Pricing) -> Floats:
    """Per kind, the machines of a run, times the runs that a month's work needs side by side; 1 where it does not run."""
    shapes, work = pricing.shapes, pricing.work
    if work.task is Task.INFER or work.runs_per_month is None:
        return shapes.nodes
    months = np.nan_to_num(shapes.mid) * work.runs_per_month / HOURS_PER_MONTH
    return np.asarray(shapes.nodes * np.maximum(1.0, np.ceil(months - _ROUNDING)), dtype=np.float64)


def _rows_named(market: Market, quota: Quota, number: int) -> Ints:
    """Positions along GroupTable.row of the rows that the quota bounds."""
    groups, sellers = market.groups, market.groups.sellers.all
    names = sorted({seller.provider for seller in sellers})
    if quota.provider not in names and is_known_seller(quota.provider):
        return np.zeros(0, dtype=np.int64)
    if quota.provider not in names:
        raise InvalidInput("no provider has this name", pointer=f"/constraints/quotas/{number}/provider", allowed=tuple(names))
    is_named = np.array([seller.provider == quota.provider for seller in sellers], dtype=np.bool_)[groups.seller]
    rows = np.flatnonzero(np.repeat(is_named, groups.size))
    if quota.region is None:
        return rows
    here = _in_region(market, quota.region, groups.row[rows])
    if not here.any():
        raise InvalidInput(
            "the provider lists nothing in a region of this name",
            pointer=f"/constraints/quotas/{number}/region",
            allowed=_regions_of(market, groups.row[rows]),
        )
    kept: Ints = rows[here]
    return kept


def _units_each(market: Market, unit: QuotaUnit, rows: Ints, gpu_count: Floats) -> Floats:
    """What one machine takes, NaN where it is unknown; a part of a card takes a whole one."""
    if unit is QuotaUnit.INSTANCES:
        return np.ones(len(rows))
    if unit is QuotaUnit.GPUS:
        return np.ceil(gpu_count)
    vcpus: Floats = np.concatenate([feed.arrays["vcpus"] for feed in market.feeds])
    return vcpus[market.groups.row[rows]]


def _in_region(market: Market, region: str, rows: Ints) -> Bools:
    """Of market rows: does the region have this name."""
    parts = []
    for feed in market.feeds:
        named = np.array([word == region for word in (*feed.words["region"], None)], dtype=np.bool_)
        parts.append(named[feed.arrays["region"]])
    found: Bools = np.concatenate(parts)[rows]
    return found


def _regions_of(market: Market, rows: Ints) -> tuple[str, ...]:
    places = (market.place(row) for row in rows.tolist())
    return tuple(sorted({region for feed, row in places if (region := market.feeds[feed].text("region", row))}))
