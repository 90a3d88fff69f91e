"""Options: the rows picked, as the answer shows them, with exact cost lines, flags and the sentences of why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from service.domain.estimate import Estimate, Range
from service.domain.plan import CostBreakdown, CostLine, OptionPrice, OptionVram, PlanOption
from service.domain.workload import Task
from service.solver.columns import FeedColumns
from service.solver.cost import LINES, MICRO, Machines, cost_lines, paid_hours, total
from service.solver.deadline import band_of
from service.solver.eligible import Age, Mask
from service.solver.market import Market
from service.solver.order import Shown
from service.solver.pick import Row
from service.solver.pricing import Pricing
from service.solver.words import about_hours, about_usd, percent, usd
from service.solver.work import Work

_SAID: Final = {
    "compute": "hours of work at the price",
    "interruption": "work repeated after interruptions, and checkpoints",
    "setup": "paid before useful work starts",
    "billing_increment": "rounded up to the billing step",
    "commitment": "committed and not used, and upfront fees",
    "storage": "disk asked for and not in the price",
    "egress": "moving the data, what is known of it",
}


def breakdown(
    unit_usd: dict[str, float], work: Work, *, low_usd: float, high_usd: float, explained: dict[str, str] | None = None
) -> CostBreakdown:
    """Lines per run, per month and over the horizon; each rounded first, each total the sum of its rounded lines."""
    is_service, monthly, runs = work.task is Task.INFER, work.runs_per_month, work.runs_in_all
    said = explained or _SAID
    lines, sums = [], [0, 0, 0]
    for name, value in unit_usd.items():
        if value == 0 and name != "compute":
            continue
        micros = (round(value * MICRO), round(value * (monthly or 0.0) * MICRO), round(value * runs * MICRO))
        sums = [total + part for total, part in zip(sums, micros, strict=True)]
        lines.append(
            CostLine(
                name=name,
                usd_per_run=None if is_service else micros[0] / MICRO,
                usd_per_month=None if monthly is None else micros[1] / MICRO,
                usd_over_horizon=micros[2] / MICRO,
                explained=said.get(name, ""),
            )
        )
    per_run, per_month, over = (value / MICRO for value in sums)
    is_once = work.runs is not None
    scale = 1.0 if is_once else monthly or 0.0
    return CostBreakdown(
        lines=tuple(lines),
        usd_per_run=None if is_service else per_run,
        usd_per_month=None if monthly is None else per_month,
        usd_over_horizon=over,
        low_usd=round(low_usd * scale, 6),
        high_usd=round(high_usd * scale, 6),
        ranking_usd=per_run if is_once else per_month,
        ranking_period=work.ranking_period,
    )


def cloud_options(market: Market, pricing: Pricing, rows: Sequence[Row], mask: Mask, deadline_hours: float | None) -> list[Shown]:
    """The picked rows as options, in the order given; rank and tie group are set later."""
    if not rows:
        return []
    groups = market.groups
    at = np.array([row.group for row in rows], dtype=np.int64)
    positions = np.array([row.position for row in rows], dtype=np.int64)
    price = groups.row_usd_per_hour[positions]
    mid = pricing.machines(at, price)
    lines = cost_lines(mid, pricing.job)
    low, high = (total(cost_lines(pricing.machines(at, price, side), pricing.job)).tolist() for side in ("low", "high"))
    values = np.stack([lines[name] for name in LINES]).T.tolist()
    paid = paid_hours(mid, pricing.job).tolist()
    stops = _stops(mid, paid)
    made = []
    for i, (index, market_row) in enumerate(zip(at.tolist(), groups.row[positions].tolist(), strict=True)):
        one = _One(
            market=market, pricing=pricing, group=index, row=market_row, machine_usd=float(price[i]),
            lines=dict(zip(LINES, values[i], strict=True)), low_usd=low[i], high_usd=high[i], paid=paid[i], stops=stops[i],
            age=mask.ages[int(groups.source[index])], shares_kernel=bool(mask.judged.shares_kernel[int(groups.seller[index])]),
            deadline_hours=deadline_hours,
        )  # fmt: skip
        made.append(_shown(one))
    return made


def _stops(machines: Machines, paid: list[float]) -> list[float]:
    mean = (machines.hours_between_stops / np.maximum(machines.machines, 1.0)).tolist()
    return [hours / between for hours, between in zip(paid, mean, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _One:
    """All that one row's option is made from."""

    market: Market
    pricing: Pricing
    group: int
    row: int
    machine_usd: float
    lines: dict[str, float]
    low_usd: float
    high_usd: float
    paid: float
    stops: float
    age: Age
    shares_kernel: bool
    deadline_hours: float | None


def _shown(one: _One) -> Shown:
    groups, pricing = one.market.groups, one.pricing
    number, row = one.market.place(one.row)
    feed = one.market.feeds[number]
    kind_at = int(groups.kind[one.group])
    kind, seller = groups.kinds.all[kind_at], groups.sellers.all[int(groups.seller[one.group])]
    terms, source = groups.terms_all[int(groups.terms[one.group])], groups.sources[int(groups.source[one.group])]
    shapes = pricing.shapes
    estimate = shapes.fits[int(shapes.step[kind_at])].estimates[kind_at]
    nodes = round(float(shapes.nodes[kind_at]))
    hours = Range(low=float(shapes.low[kind_at]), mid=float(shapes.mid[kind_at]), high=float(shapes.high[kind_at]))
    at = np.array([one.group])
    hourly = (one.machine_usd + float(pricing.disk_usd_per_hour(at)[0])) * nodes
    cost = breakdown(one.lines, pricing.work, low_usd=one.low_usd, high_usd=one.high_usd)
    flags, dominated = _flags(one, feed, row, estimate)
    option = PlanOption(
        rank=0,
        kind="cloud",
        provider=seller.provider,
        tier=seller.tier,
        instance_type=feed.text("instance_type", row),
        gpu=kind.gpu,
        form_factor=kind.form_factor,
        gpu_count=kind.gpu_count,
        nodes=nodes,
        region=feed.text("region", row),
        zone=feed.text("zone", row),
        country=seller.country,
        capacity_type=terms.capacity_type,
        tenancy=seller.tenancy,
        availability=terms.availability,
        arch=kind.arch,
        strategy=estimate.strategy,
        vram=vram_of(estimate),
        hours=hours,
        usd_per_hour=round(hourly, 6),
        usd_per_gpu_hour=round(hourly / (kind.gpu_count * nodes), 6),
        cost=cost,
        usd_per_million_tokens=per_million_tokens(cost, pricing.work),
        deadline=band_of(
            deadline_hours=one.deadline_hours, low=hours.low, high=hours.high,
            setup_hours=pricing.job.setup_hours, paid_hours=one.paid, stops=one.stops,
        ),
        flags=flags,
        tie_group=0,
        why="",
        price=_price(one, feed, row, terms.price_basis),
    )  # fmt: skip
    is_clean = not source.is_dated and "suspect" not in flags
    return Shown(option=_explained(option, one, dominated), is_clean=is_clean, row=one.row)


def vram_of(estimate: Estimate) -> OptionVram:
    """The need beside what the card leaves, per GPU."""
    return OptionVram(
        need_gib=round(estimate.vram.safe_gib, 3),
        point_gib=round(estimate.vram.point_gib, 3),
        usable_gib=round(estimate.vram.usable_gib, 3),
        headroom_gib=round(estimate.vram.headroom_gib, 3),
    )


def per_million_tokens(cost: CostBreakdown, work: Work) -> float | None:
    """USD per million tokens trained, or generated at the rate asked; None where no tokens are counted."""
    usd = cost.usd_per_month if work.task is Task.INFER else cost.usd_per_run
    return None if not work.tokens_per_run or usd is None else round(usd / work.tokens_per_run * 1e6, 6)


def _flags(one: _One, feed: FeedColumns, row: int, estimate: Estimate) -> tuple[tuple[str, ...], float | None]:
    """The flags, and the on-demand price of the same machine where it is not above the spot price."""
    groups, flags = one.market.groups, []
    number, _ = one.market.place(one.row)
    terms, source = groups.terms_all[int(groups.terms[one.group])], groups.sources[int(groups.source[one.group])]
    kind = groups.kinds.all[int(groups.kind[one.group])]
    if one.age.stale:
        flags.append("stale")
    if source.is_dated:
        flags.append("dated")
    if one.age.undated:
        flags.append("undated")
    if bool(one.market.suspect[number][row]):
        flags.append("suspect")
    twin = int(one.market.grouped[number].twin[row])
    on_demand = None if twin < 0 else float(feed.usd_per_hour[twin])
    dominated = on_demand if on_demand is not None and on_demand < one.machine_usd else None
    if dominated is not None:
        flags.append("dominated")
    if kind.arch == "arm64":
        flags.append("arm64")
    if one.shares_kernel:
        flags.append("shared_kernel")
    if estimate.low_headroom:
        flags.append("low_headroom")
    if terms.capacity_type == "spot" and not one.pricing.job.resumes and not one.pricing.job.is_service:
        flags.append("no_resume")
    return tuple(flags), dominated


def _price(one: _One, feed: FeedColumns, row: int, basis: str) -> OptionPrice:
    source = one.market.groups.sources[int(one.market.groups.source[one.group])]
    status = one.market.status(source.feed)
    seen: datetime = feed.observed_at(row)
    if not source.is_dated and status is not None and (last := status.seen_at(source.scope)) is not None:
        seen = max(seen, last)
    on_median = bool(one.pricing.on_median(np.array([one.group]))[0])
    return OptionPrice(
        offer_id=feed.offer_id(row),
        observed_at=seen,
        as_of=None if source.as_of is None else source.as_of.isoformat(),
        source=feed.text("source", row) or source.feed,
        basis="median_30d" if on_median else basis,
        feed=source.feed,
    )


def _explained(option: PlanOption, one: _One, on_demand: float | None) -> PlanOption:
    """The option with two or three sentences made from its numbers."""
    return replace(option, why=" ".join(_sentences(option, one, on_demand)))


def _sentences(option: PlanOption, one: _One, on_demand: float | None) -> list[str]:
    machines = "" if option.nodes == 1 else f"{option.nodes} machines of "
    where = option.region or option.country or "an unnamed place"
    sentences = [
        f"{machines}{option.gpu_count:g} x {option.gpu} at {option.provider} in {where} for {usd(option.usd_per_hour)} an hour"
        f" ({option.capacity_type.replace('_', ' ')})."
    ]
    spare = f"{option.vram.need_gib:.1f} of {option.vram.usable_gib:.1f} GiB a GPU are needed"
    if one.pricing.job.is_service:
        sentences.append(f"{spare}; {option.strategy}, up {about_hours(option.hours.mid)} a month.")
    else:
        sentences.append(f"{spare}; {option.strategy} takes about {about_hours(option.hours.mid)} a run.")
    period = option.cost.ranking_period.replace("_", " ")
    text = f"Expected total {about_usd(option.cost.ranking_usd)} {period}"
    again = one.lines["interruption"]
    if again > 0:
        scale = one.pricing.work.runs_per_month or 1.0
        text += f", of which {about_usd(again * scale)} is work repeated after interruptions"
    sentences.append(text + ".")
    if on_demand is not None:
        saving = 1 - one.machine_usd / on_demand
        sentences.append(f"On demand the same machine costs {usd(on_demand)}: this spot price saves {percent(saving)}.")
    return sentences
