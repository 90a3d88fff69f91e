"""Policy price: what the class of the data costs, the best offer that it blocks beside the best that it allows."""

import numpy as np

from service.domain.plan import PlanOption, PolicyPrice, PolicySide
from service.domain.request import Constraints, DataSensitivity
from service.solver.candidates import Found
from service.solver.eligible import Mask
from service.solver.pick import Rows, cheapest
from service.solver.pricing import Pricing
from service.solver.words import about_usd, usd


def policy_price(
    data_class: DataSensitivity,
    constraints: Constraints,
    pricing: Pricing,
    mask: Mask,
    found: Found,
    allowed: PlanOption | None,
) -> PolicyPrice | None:
    """None for public data; else both sides, null with the reason where there is none."""
    if data_class is DataSensitivity.PUBLIC and not constraints.regimes and constraints.min_isolation is None:
        return None
    rows = cheapest(found.blocked, 1)
    blocked = _blocked(pricing, mask, rows)
    blocked_usd = float(found.blocked.usd_per_run.min()) * (pricing.work.runs_per_month or 1.0) if len(rows) else None
    side = None
    if allowed is not None:
        side = PolicySide(
            provider=allowed.provider, tier=allowed.tier, gpu=allowed.gpu, usd_per_hour=allowed.usd_per_hour, reason=None
        )
    difference = None if blocked is None or side is None else round(side.usd_per_hour - blocked.usd_per_hour, 6)
    dearer = None if allowed is None or blocked_usd is None else allowed.cost.ranking_usd - blocked_usd
    version = mask.sieve.judged.policy_version
    reason = _reason(version, data_class, blocked, side, dearer, pricing.work.period_said)
    if mask.sieve.judged.acceptances:
        reason += f" Acceptances that count: {', '.join(mask.sieve.judged.acceptances)}."
    if mask.sieve.judged.not_counted:
        reason += f" Not registered here or out of date, so that they admit nothing: {', '.join(mask.sieve.judged.not_counted)}."
    return PolicyPrice(
        best_blocked=blocked,
        best_allowed=side,
        usd_per_hour_difference=difference,
        reason=reason,
        policy_version=version,
    )


def _blocked(pricing: Pricing, mask: Mask, rows: Rows) -> PolicySide | None:
    if not len(rows):
        return None
    groups, group = pricing.groups, int(rows.group[0])
    kind, seller = int(groups.kind[group]), int(groups.seller[group])
    machine = float(groups.row_usd_per_hour[rows.position[0]])
    if pricing.disk_gb is not None:
        machine += float(pricing.disk_usd_per_hour(np.array([group]))[0])
    return PolicySide(
        provider=groups.sellers.all[seller].provider,
        tier=groups.sellers.all[seller].tier,
        gpu=groups.kinds.all[kind].gpu,
        usd_per_hour=round(machine * round(float(pricing.shapes.nodes[kind])), 6),
        reason=mask.sieve.judged.missing[seller],
    )


def _reason(
    version: str,
    data_class: DataSensitivity,
    blocked: PolicySide | None,
    allowed: PolicySide | None,
    dearer: float | None,
    period: str,
) -> str:
    """What the class costs in totals of equal work: prices per hour of different cards say nothing."""
    meets = f"Offers shown meet policy table {version} for {data_class.value} data"
    if blocked is None:
        return f"{meets}; it blocks no offer that fits otherwise."
    best = f"{blocked.gpu} at {blocked.provider} {blocked.tier}, {usd(blocked.usd_per_hour)} an hour"
    text = f"{meets}; the best that it blocks is {best}"
    if allowed is None or dearer is None:
        return f"{text}, and no cloud offer is left."
    if dearer <= 0:
        return f"{text}: no cheaper for this work than the best that is left, so the class costs nothing here."
    return f"{text}: the class costs about {about_usd(dearer)} {period} more."
