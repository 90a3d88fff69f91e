"""Candidates: what is left after the mask, priced, with every row that is not counted under one reason."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.domain.request import Constraints
from service.solver.columns import Array, Bools, Floats
from service.solver.eligible import Mask
from service.solver.pick import Candidates, rows_under
from service.solver.pricing import Pricing
from service.solver.reasons import CODE
from service.solver.sieve import Passing

_ROUNDING: Final = 1e-12  # a price equal to its cap is within it


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates, those that only the data's class keeps out, and the count of rows left out by reason code."""

    allowed: Candidates
    blocked: Candidates
    left_out: list[int]  # rows by reason code
    first_reason: Array  # per group; PASS where rows are left


def find(pricing: Pricing, mask: Mask, constraints: Constraints) -> Found:
    """Prices every group that passes all but the class of the data, and counts the rest."""
    sieve = mask.sieve
    left_out = list(sieve.left_out)
    allowed = _priced(pricing, sieve.allowed, mask.rows)
    blocked = _priced(pricing, sieve.blocked, mask.rows)
    if mask.rows is not None or capped(constraints):
        allowed, fallen = _under_caps(pricing, constraints, allowed, mask)
        for code, count in fallen.items():
            left_out[code] += count
        blocked, _ = _under_caps(pricing, constraints, blocked, mask)
    return Found(allowed=allowed, blocked=blocked, left_out=left_out, first_reason=sieve.reason)


def _priced(pricing: Pricing, passing: Passing, rows: Bools | None) -> Candidates:
    """The groups that pass with the cost of a run as slope x price + offset."""
    groups, hours, at = pricing.groups, pricing.mid, passing.at
    slope, offset = pricing.billed_machine_hours[passing.pace], passing.nothing
    if pricing.has_extras:
        price = pricing.price_used(at, passing.usd_per_hour)
        extras = pricing.extras(at, price, hours)
        offset = offset + extras.usd
        if extras.commitment_usd is not None:  # a part of it follows the price
            fixed = pricing.extras(at, passing.nothing, hours)
            per_usd = (offset - fixed.usd) / np.where(price > 0, price, 1.0)  # a free tier has no commitment
            slope, offset = slope + per_usd, fixed.usd + passing.nothing
    if pricing.use_medians:
        on_median = pricing.on_median(at)
        price = pricing.price_used(at, passing.usd_per_hour)
        offset = np.where(on_median, slope * price + offset, offset)
        slope = np.where(on_median, 0.0, slope)
    return Candidates(groups=groups, passing=passing, slope=slope, offset=offset, counts=passing.size, in_region=rows)


def _under_caps(pricing: Pricing, constraints: Constraints, found: Candidates, mask: Mask) -> tuple[Candidates, dict[int, int]]:
    """The candidates with only the rows within regions and caps, and by reason code how many fell out, cap after cap."""
    groups, at, slope, offset = pricing.groups, found.at, found.slope, found.offset
    counts, cap = found.counts, np.full(len(at), np.inf)
    steps: list[tuple[str, Floats]] = []
    if constraints.max_usd_per_hour is not None:
        nodes = pricing.shapes.nodes[groups.kind[at]]
        cap = np.minimum(cap, constraints.max_usd_per_hour / nodes - pricing.disk_usd_per_hour(at))
        steps.append(("max_usd_per_hour", cap))
    if constraints.max_usd_per_gpu_hour is not None:
        cap = np.minimum(cap, constraints.max_usd_per_gpu_hour * groups.gpu_count[at])
        steps.append(("max_usd_per_gpu_hour", cap))
    if constraints.max_usd_total is not None:
        run_usd = constraints.max_usd_total / pricing.work.runs_in_all
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(slope > 0, (run_usd - offset) / slope, np.where(offset <= run_usd, np.inf, -np.inf))
        cap = np.minimum(cap, most)
        steps.append(("max_usd_total", cap))
    fallen = {}
    for name, rows in mask.sieve.cuts:
        kept = rows_under(groups, at, np.full(len(at), np.inf), rows)
        fallen[CODE[name]] = int((counts - kept).sum())
        counts = kept
    for name, under in steps:
        kept = rows_under(groups, at, under * (1 + _ROUNDING), found.in_region)
        fallen[CODE[name]] = int((counts - kept).sum())
        counts = kept
    return replace(found, counts=counts, is_cut=True), fallen


def capped(constraints: Constraints) -> bool:
    """Is any price cap set."""
    caps = (constraints.max_usd_per_hour, constraints.max_usd_per_gpu_hour, constraints.max_usd_total)
    return any(cap is not None for cap in caps)
