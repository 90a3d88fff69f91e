"""Candidates: what is left after the mask, priced, with every row that is not counted under one reason."""

from dataclasses import dataclass

import numpy as np

from service.domain.request import Constraints
from service.solver.columns import Array, Floats, Ints
from service.solver.cost import cost_lines, never_ends, total
from service.solver.eligible import Mask
from service.solver.pick import Candidates, rows_under
from service.solver.pricing import Pricing
from service.solver.reasons import CODE, PASS, REASONS


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates, those that only the data's class keeps out, and the count of rows left out by reason code."""

    allowed: Candidates
    blocked: Candidates
    left_out: Ints  # rows by reason code
    first_reason: Array  # per group; PASS where rows are left
    run_usd: Floats  # per group the cost of a run at its cheapest row; NaN where it was not priced


def find(pricing: Pricing, mask: Mask, constraints: Constraints) -> Found:
    """Prices every group that passes all but the class of the data, and counts the rest."""
    groups = pricing.groups
    other = mask.other
    at = np.flatnonzero(other == PASS)
    price = groups.usd_per_hour[at]
    machines = pricing.machines(at, price)
    endless = never_ends(machines, pricing.job)
    if endless.any():
        other = other.copy()
        other[at[endless]] = CODE["interruptions"]
        at, price = at[~endless], price[~endless]
        machines = pricing.machines(at, price)
    lines = cost_lines(machines, pricing.job)
    usd = total(lines)
    offset = lines["storage"] + lines["egress"] + pricing.upfront(at, machines)
    # Rows of a free tier all cost 0 an hour: their runs cost the offset, whatever the slope.
    slope = np.where(pricing.on_median(at) | (price == 0), 0.0, (usd - offset) / np.where(price == 0, 1.0, price))
    offset = np.where(pricing.on_median(at), usd, offset)
    run_usd = np.full(len(groups), np.nan)
    run_usd[at] = usd
    in_region, reason = mask.in_region, np.minimum(other, mask.policy)
    left_out = np.zeros(len(REASONS), dtype=np.int64)
    outside = np.bincount(reason, weights=groups.size, minlength=PASS + 1)[: len(REASONS)]
    left_out += outside.astype(np.int64)
    clear = mask.policy[at] == PASS
    counts = _count_under_caps(pricing, constraints, at, slope, offset, mask, clear, left_out)
    made = Candidates(groups=groups, at=at, slope=slope, offset=offset, counts=counts, in_region=in_region)
    return Found(
        allowed=made.only(mask.policy == PASS),
        blocked=made.only(mask.policy != PASS),
        left_out=left_out,
        first_reason=reason,
        run_usd=run_usd,
    )


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
    if mask.in_region is None and not capped(constraints):
        return counts
    cap = np.full(len(at), np.inf)
    steps: list[tuple[str, Floats]] = [("residency", cap)]
    shapes, kind = pricing.shapes, groups.kind[at]
    if constraints.max_usd_per_hour is not None:
        cap = np.minimum(cap, constraints.max_usd_per_hour / shapes.nodes[kind] - pricing.disk_usd_per_hour(at))
        steps.append(("max_usd_per_hour", cap))
    if constraints.max_usd_per_gpu_hour is not None:
        cap = np.minimum(cap, constraints.max_usd_per_gpu_hour * groups.kinds.gpu_count[kind])
        steps.append(("max_usd_per_gpu_hour", cap))
    if constraints.max_usd_total is not None:
        run_usd = constraints.max_usd_total / pricing.work.runs_in_all
        with np.errstate(divide="ignore"):
            most = np.where(slope > 0, (run_usd - offset) / slope, np.where(offset <= run_usd, np.inf, -np.inf))
        cap = np.minimum(cap, most)
        steps.append(("max_usd_total", cap))
    for name, under in steps:
        kept = rows_under(groups, at, under * (1 + 1e-12), mask.in_region)
        left_out[CODE[name]] += int((counts - kept)[clear].sum())
        counts = kept
    return counts


def capped(constraints: Constraints) -> bool:
    """Is any price cap set."""
    caps = (constraints.max_usd_per_hour, constraints.max_usd_per_gpu_hour, constraints.max_usd_total)
    return any(cap is not None for cap in caps)
