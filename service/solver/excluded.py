"""Excluded: every offer left out, counted under its first reason, with an example, the nearest miss and what would admit it."""

from functools import partial

import numpy as np

from service.domain.plan import Exclusion
from service.domain.request import Constraints
from service.domain.workload import Task
from service.solver.candidates import Found
from service.solver.columns import Array, Floats, Ints
from service.solver.eligible import Mask
from service.solver.pricing import Pricing
from service.solver.quotas import Quotas
from service.solver.reasons import CODE, EXPLAINED, PASS, REASONS, WOULD_ADMIT
from service.solver.tables import GroupTable
from service.solver.words import about, about_hours, about_usd, usd

_CAPS = ("max_usd_per_hour", "max_usd_per_gpu_hour", "max_usd_total")
_BY_THE_CASE = frozenset({*_CAPS, "too_slow", "quota", "price_age"})  # their words hold hours, needs and ages of the request
_BY_THE_JOB = frozenset({"vram", "precision", "software_unverified", "parallelism"})  # their words hold estimates


def exclusions(pricing: Pricing, mask: Mask, found: Found, constraints: Constraints) -> tuple[Exclusion, ...]:
    """One Exclusion per reason that left rows out, in the order in which reasons are tried."""
    made = []
    for code, count in enumerate(found.left_out):
        if count == 0:
            continue
        make = _exclusion if REASONS[code] in _BY_THE_CASE or found.allowed.is_cut else _kept
        made.append(make(code, count, pricing, mask, found, constraints))
    return tuple(made)


def _kept(code: int, count: int, pricing: Pricing, mask: Mask, found: Found, constraints: Constraints) -> Exclusion:
    """What follows from the sieve alone, or from it and the job on each kind of machine."""
    job = (pricing.work.need, pricing.shapes.choice.step.tobytes()) if REASONS[code] in _BY_THE_JOB else ()
    key = ("exclusion", code, *job)
    return mask.sieve.kept.get(key, partial(_exclusion, code, count, pricing, mask, found, constraints))


def _exclusion(code: int, count: int, pricing: Pricing, mask: Mask, found: Found, constraints: Constraints) -> Exclusion:
    name, groups = REASONS[code], pricing.groups
    group = _cheapest(groups, found.first_reason, code)
    if group is None:  # only rows of groups of which others passed
        group = _thinned(found)
    return Exclusion(
        reason=name,
        count=count,
        explained=_explained(name, constraints, mask, groups, group),
        example=None if group is None else label(groups, group),
        nearest_miss=_nearest(name, pricing, mask, found),
        would_admit=_admits(name, pricing, mask, group),
    )


def label(groups: GroupTable, group: int) -> str:
    """A group in words: provider, tier, card, count, kind and its lowest price."""
    kind, seller = groups.kinds.all[int(groups.kind[group])], groups.sellers.all[int(groups.seller[group])]
    terms = groups.terms_all[int(groups.terms[group])]
    place = f" in {seller.country}" if seller.country else ""
    return (
        f"{seller.provider} {seller.tier} {kind.gpu_count:g} x {kind.gpu} {terms.capacity_type}{place}"
        f" at {usd(float(groups.usd_per_hour[group]))}/h"
    )


def _cheapest(groups: GroupTable, first_reason: Array, code: int) -> int | None:
    """The group of this reason with the lowest price per GPU; None where there is none."""
    by_price = first_reason[groups.by_price] == code
    at = int(np.argmax(by_price)) if len(by_price) else 0
    return int(groups.by_price[at]) if len(by_price) and by_price[at] else None


def _thinned(found: Found) -> int | None:
    """The cheapest group that a cap or a region emptied or thinned."""
    allowed = found.allowed
    over = np.flatnonzero(allowed.counts < allowed.groups.size[allowed.at])
    if len(over) == 0:
        return None
    price = allowed.groups.usd_per_hour[allowed.at[over]]
    return int(allowed.at[over[np.argmin(allowed.slope[over] * price + allowed.offset[over])]])


def _explained(name: str, constraints: Constraints, mask: Mask, groups: GroupTable, group: int | None) -> str:
    said = EXPLAINED[name]
    if name == "data_sensitivity" and group is not None:
        return f"{said}: {mask.sieve.judged.missing[int(groups.seller[group])]}"
    if name == "max_usd_per_hour":
        return f"{said} ({usd(constraints.max_usd_per_hour or 0)} for the whole machine or cluster, not per GPU)"
    if name == "max_usd_per_gpu_hour":
        return f"{said} ({usd(constraints.max_usd_per_gpu_hour or 0)} for each GPU, not for the machine)"
    if name == "max_usd_total":
        return f"{said} of {usd(constraints.max_usd_total or 0)} over all runs"
    return said


def _admits(name: str, pricing: Pricing, mask: Mask, group: int | None) -> str | None:
    if name in ("precision", "vram", "software_unverified", "parallelism") and group is not None:
        kind = int(pricing.groups.kind[group])
        detail = pricing.shapes.choice.estimates[kind].detail
        if name == "precision" and ": use " in detail:
            return f"precision {detail.split(': use ')[1]}"
    if name in ("data_sensitivity", "regime", "isolation") and group is not None:
        return mask.sieve.judged.admits[int(pricing.groups.seller[group])] or WOULD_ADMIT[name]
    if name == "too_slow" and pricing.work.task is Task.INFER:
        return "looser latency targets, or a higher workload.max_replicas"
    return WOULD_ADMIT[name]


def _nearest(name: str, pricing: Pricing, mask: Mask, found: Found) -> str | None:
    """The offer that misses by least, in words with its figure; None where nothing can be nearer."""
    groups, shapes = pricing.groups, pricing.shapes
    if name in _CAPS:
        return _nearest_cap(name, pricing, found)
    if name == "quota" and mask.sieve.quotas is not None:
        return _nearest_quota(pricing, mask, mask.sieve.quotas, found)
    at = np.flatnonzero(found.first_reason == CODE[name])
    if len(at) == 0:
        return None
    kind = groups.kind[at]
    if name == "vram":
        short = np.array([estimate.shortfall_gib for estimate in shapes.choice.estimates])[kind]
        best = int(at[_least(short, groups, at)])
        estimate = shapes.choice.estimates[int(groups.kind[best])]
        return f"{label(groups, best)}: {about(estimate.shortfall_gib)} GiB a GPU short of {about(estimate.vram.safe_gib)}"
    if name == "too_slow":
        return _nearest_slow(pricing, at)
    if name == "price_age":
        ages = np.array([np.inf if age.hours is None else age.hours for age in mask.ages])[groups.source[at]]
        best = int(at[_least(ages, groups, at)])
        old = mask.ages[int(groups.source[best])].hours
        return f"{label(groups, best)}: " + ("age unknown" if old is None else f"{about(old)} h old")
    if name == "disk":
        best = int(at[_least(-groups.money["disk_max_gb"][at], groups, at)])
        return f"{label(groups, best)}: up to {about(float(groups.money['disk_max_gb'][best]))} GB"
    return label(groups, int(at[_least(np.zeros(len(at)), groups, at)]))


def _nearest_slow(pricing: Pricing, at: Ints) -> str:
    """The one that is late by least: by latency of a service, else by hours of a run."""
    groups, shapes = pricing.groups, pricing.shapes
    kind, estimates = groups.kind[at], shapes.choice.estimates
    late = np.array([estimate.times_over_target for estimate in estimates])[kind]
    hours = np.nan_to_num(shapes.mid[kind], nan=np.inf)
    best = int(at[np.lexsort((groups.usd_per_hour[at], hours, late))[0]])
    estimate = estimates[int(groups.kind[best])]
    if pricing.work.task is not Task.INFER:
        return f"{label(groups, best)}: about {about_hours(float(shapes.mid[groups.kind[best]]))} a run"
    if estimate.meets_targets:
        return f"{label(groups, best)}: more replicas are needed than workload.max_replicas"
    return f"{label(groups, best)}: {estimate.detail}, {about(estimate.times_over_target)} times what is asked for"


def _nearest_quota(pricing: Pricing, mask: Mask, quotas: Quotas, found: Found) -> str | None:
    """The row that the least raise of a limit would admit, the cheapest of them."""
    groups = pricing.groups
    might = np.isin(found.first_reason, (PASS, CODE["quota"]))
    before = [rows for name, rows in mask.sieve.cuts if name != "quota"]
    out = np.repeat(might, groups.size) & ~quotas.within & (before[-1] if before else True)
    at = np.flatnonzero(out)
    if len(at) == 0:
        return None
    best = int(at[np.lexsort((groups.row_usd_per_hour[at], quotas.missing_fraction[at]))[0]])
    group = int(np.searchsorted(groups.start, best, side="right")) - 1
    return f"{label(groups, group)}: {quotas.said(best)}"


def _least(values: Floats, groups: GroupTable, at: Ints) -> int:
    """Where the values are least, the cheaper first."""
    return int(np.lexsort((groups.usd_per_hour[at], values))[0])


def _nearest_cap(name: str, pricing: Pricing, found: Found) -> str | None:
    """The cheapest by the capped measure among the rows that stand next over the caps."""
    groups, shapes, allowed = pricing.groups, pricing.shapes, found.allowed
    over = allowed.counts < groups.size[allowed.at]
    at = allowed.at[over]
    if len(at) == 0:
        return None
    kind, price = groups.kind[at], groups.row_usd_per_hour[groups.start[at] + allowed.counts[over]]
    hourly = (price + pricing.disk_usd_per_hour(at)) * shapes.nodes[kind]
    if name == "max_usd_per_gpu_hour":
        hourly = price / groups.gpu_count[at]
    if name == "max_usd_total":
        hourly = (allowed.slope[over] * price + allowed.offset[over]) * pricing.work.runs_in_all
    best = int(np.argmin(hourly))
    text = {"max_usd_per_hour": " an hour", "max_usd_per_gpu_hour": " per GPU-hour", "max_usd_total": " in all"}[name]
    figure = about_usd(float(hourly[best])) if name == "max_usd_total" else usd(float(hourly[best]))
    return f"{label(groups, int(at[best]))}: {figure}{text}"
