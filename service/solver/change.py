"""Change: how the cost of a plan's first option moved between two plans, as price, volume and mix effects that add up."""

import math
from typing import Final

from service.domain.plan import Plan, PlanOption
from service.domain.saved import CostChange
from service.solver.cost import MICRO
from service.solver.words import about, about_hours, about_usd, percent

_FIXED: Final = "on_prem"  # own hardware costs the same whatever its hours, but for these lines
_BY_THE_HOUR: Final = ("electricity", "marginal")


def label_of(option: PlanOption) -> str:
    """An option in a few words: who, what, where, how bought."""
    cards = f"{option.gpu_count * option.nodes:g} x {option.gpu}"
    where = option.region or option.country or ""
    bought = option.capacity_type.replace("_", " ")
    if option.kind == "on_prem":
        return f"own hardware {option.instance_type}: {cards}"
    return f"{option.provider} {option.instance_type or option.tier}: {cards}, {where + ', ' if where else ''}{bought}"


def identity_of(option: PlanOption) -> tuple[object, ...]:
    """The same for the same thing bought in the same way, whatever it costs and wherever it ranks."""
    return (
        option.kind, option.provider, option.tier, option.instance_type, option.gpu, option.gpu_count, option.region, option.zone,
        option.capacity_type, option.price.offer_id,
    )  # fmt: skip


def cost_change(before: Plan, after: Plan) -> CostChange:
    """The change of the first option's cost: per month where both plans have months, else per run.

    With rate r = cost over hours and h = hours of the period: volume = r0 (h1 - h0), price = (r1 - r0) h1, both of the old
    option, and mix = the new option's cost less the old option's new cost. Own hardware has fixed lines: there, volume is
    the part of its electricity that follows hours, and price is the rest. Price is what is left, so that the three add up.
    """
    if not before.options or not after.options:
        side = "before" if not before.options else "now"
        return _not_comparable(before, after, f"nothing fitted {side}")
    old, new = before.options[0], after.options[0]
    view = _view(old, new)
    if view is None:
        return _not_comparable(before, after, "one plan is for single runs and the other by the month")
    kept = next((one for one in after.options if identity_of(one) == identity_of(old)), None)
    first, last = _micro(_cost(old, view)), _micro(_cost(new, view))
    middle = last if kept is None else _micro(_cost(kept, view))
    volume = 0 if kept is None else _micro(_volume(old, kept, view, runs=_runs_ratio(before, after, view)))
    mix = last - middle if kept is not None else last - first
    price = last - first - volume - mix
    return CostChange(
        period=view,
        before=label_of(old),
        after=label_of(new),
        before_usd=first / MICRO,
        after_usd=last / MICRO,
        difference_usd=(last - first) / MICRO,
        difference_fraction=None if first == 0 else round((last - first) / first, 9),
        price_usd=price / MICRO,
        volume_usd=volume / MICRO,
        mix_usd=mix / MICRO,
        explained=_explained(old, new, kept, first=first, last=last),
    )


def _view(old: PlanOption, new: PlanOption) -> str | None:
    for name in ("per_month", "per_run"):
        if _total(old, name) is not None and _total(new, name) is not None:
            return name
    return None


def _total(option: PlanOption, view: str) -> float | None:
    return option.cost.usd_per_month if view == "per_month" else option.cost.usd_per_run


def _cost(option: PlanOption, view: str) -> float:
    return _total(option, view) or 0.0


def _runs_ratio(before: Plan, after: Plan, view: str) -> float:
    """How many times as many runs the period has."""
    if view == "per_run" or before.request_echo["usage"] == after.request_echo["usage"]:
        return 1.0
    given = [plan.request_echo["usage"]["runs_per_month"] for plan in (before, after)]
    if None in given:  # as exact as rounded totals allow
        given = [
            (cost.usd_per_month or 0.0) / (cost.usd_per_run or math.inf) for cost in (p.options[0].cost for p in (before, after))
        ]
    first, last = given
    return float(last / first) if first else 1.0


def _volume(old: PlanOption, kept: PlanOption, view: str, *, runs: float) -> float:
    ratio = kept.hours.mid / old.hours.mid * runs
    moving = _cost(old, view)
    if old.kind == _FIXED:
        named = [line for line in old.cost.lines if line.name in _BY_THE_HOUR]
        moving = sum((line.usd_per_month if view == "per_month" else line.usd_per_run) or 0.0 for line in named)
    return moving * (ratio - 1)


def _micro(usd: float) -> int:
    return round(usd * MICRO)


def _explained(old: PlanOption, new: PlanOption, kept: PlanOption | None, *, first: int, last: int) -> str:
    if first == last and identity_of(old) == identity_of(new):
        return "Nothing changed."
    share = "" if first == 0 else f" ({percent(abs(last - first) / first)})"
    moved = "the same" if first == last else f"{about_usd(abs(last - first) / MICRO)} {'more' if last > first else 'less'}{share}"
    text = f"From {about_usd(first / MICRO)} to {about_usd(last / MICRO)}: {moved}."
    if kept is None:
        return f"{text} {label_of(old)} is not among the options any more, so all of it counts as mix."
    if identity_of(old) != identity_of(new):
        text += f" {label_of(new)} is now before {label_of(old)}."
    if kept.hours.mid != old.hours.mid:
        text += f" A run takes {about_hours(kept.hours.mid)} instead of {about_hours(old.hours.mid)}."
    if kept.usd_per_hour != old.usd_per_hour:
        text += f" An hour costs ${about(kept.usd_per_hour)} instead of ${about(old.usd_per_hour)}."
    return text


def _not_comparable(before: Plan, after: Plan, reason: str) -> CostChange:
    first = before.options[0] if before.options else None
    last = after.options[0] if after.options else None
    shown = last or first
    return CostChange(
        period="per_run" if shown is None else shown.cost.ranking_period,
        before=None if first is None else label_of(first),
        after=None if last is None else label_of(last),
        before_usd=None if first is None else first.cost.ranking_usd,
        after_usd=None if last is None else last.cost.ranking_usd,
        difference_usd=None,
        difference_fraction=None,
        price_usd=None,
        volume_usd=None,
        mix_usd=None,
        explained=f"Not comparable: {reason}.",
    )
