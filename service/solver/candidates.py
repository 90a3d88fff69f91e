"""Candidates: what is left after the mask, priced, with every row that is not counted under one reason."""

from dataclasses import dataclass

import numpy as np

from service.domain.request import Constraints
from service.solver.columns import Array, Bools, Floats, Ints
from service.solver.eligible import Mask
from service.solver.pick import Candidates, rows_under
from service.solver.pricing import Pricing
from service.solver.reasons import CODE, PASS, REASONS
from service.solver.tables import GroupTable


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates, those that only the data's class keeps out, and the count of rows left out by reason code."""

    allowed: Candidates
    blocked: Candidates
    left_out: list[int]  # rows by reason code
    first_reason: Array  # per group; PASS where rows are left


def find(pricing: Pricing, mask: Mask, constraints: Constraints) -> Found:
    """Prices every group that passes all but the class of the data, and counts the rest."""
    groups = pricing.groups
    at = np.flatnonzero(mask.other == PASS)
    hours, own = pricing.mid, groups.usd_per_hour[at]
    slope = (hours.billed * hours.machines)[groups.pace[at]]
    price = pricing.price_used(at, own)
    extras = pricing.extras(at, price, hours)
    offset = extras.usd + np.zeros(len(at))
    if extras.commitment_usd is not None:  # a part of it follows the price
        fixed = pricing.extras(at, np.zeros(len(at)), hours)
        per_usd = (offset - fixed.usd) / np.where(price > 0, price, 1.0)  # a free tier has no commitment
        slope, offset = slope + per_usd, fixed.usd + np.zeros(len(at))
    if pricing.use_medians:
        on_median = pricing.on_median(at)
        offset = np.where(on_median, slope * price + offset, offset)
        slope = np.where(on_median, 0.0, slope)
    reason = np.minimum(mask.other, mask.policy)
    left_out = np.bincount(reason, weights=groups.size, minlength=len(REASONS))[: len(REASONS)].astype(np.int64)
    clear = mask.policy[at] == PASS
    counts = groups.size[at]
    if mask.rows is not None or capped(constraints):
        counts = _count_under_caps(pricing, constraints, at, slope, offset, mask, clear, left_out)
    made = Candidates(groups=groups, at=at, slope=slope, offset=offset, counts=counts, in_region=mask.rows)
    if clear.all():
        nothing = made.only(np.zeros(len(at), dtype=np.bool_))
        return Found(allowed=made, blocked=nothing, left_out=left_out.tolist(), first_reason=reason)
    return Found(allowed=made.only(clear), blocked=made.only(~clear), left_out=left_out.tolist(), first_reason=reason)


def _count_under_caps(
    pricing: Pricing,
    constraints: Constraints,
    at: Ints,
    slope: Floats,
    offset: Floats,
    mask: Mask,
    clear: Array,
    left_out: Ints,
) -> Ints:
    """Rows of each group within regions and caps; what falls out is added to `left_out`, cap after cap."""
    groups = pricing.groups
    counts = groups.size[at]
    cap = np.full(len(at), np.inf)
    counts = _within(groups, at, mask.in_region, "residency", counts, clear, left_out)
    counts = _within(groups, at, mask.rows, "reliability", counts, clear, left_out)
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
    for name, under in steps:
        kept = rows_under(groups, at, under * (1 + 1e-12), mask.rows)
        left_out[CODE[name]] += int((counts - kept)[clear].sum())
        counts = kept
    return counts


def _within(groups: GroupTable, at: Ints, rows: Bools | None, name: str, counts: Ints, clear: Array, left_out: Ints) -> Ints:
    """Rows of each group that are among `rows`; what falls out is added to `left_out`."""
    if rows is None:
        return counts
    kept = rows_under(groups, at, np.full(len(at), np.inf), rows)
    left_out[CODE[name]] += int((counts - kept)[clear].sum())
    return kept


def capped(constraints: Constraints) -> bool:
    """Is any price cap set."""
    caps = (constraints.max_usd_per_hour, constraints.max_usd_per_gpu_hour, constraints.max_usd_total)
    return any(cap is not None for cap in caps)
