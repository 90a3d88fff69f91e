"""Rows: the rows picked, priced exactly, as micro-dollars of each line per run, per month and over the horizon."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.domain.plan import CostBreakdown, CostLine
from service.domain.workload import Task
from service.solver.columns import Floats, Ints
from service.solver.cost import LINES, MICRO, Hours, cost_lines
from service.solver.pick import Rows
from service.solver.pricing import Pricing
from service.solver.work import Work

SAID: Final = {
    "compute": "hours of work at the price",
    "interruption": "work repeated after interruptions, checkpoints, and the starts of later sessions",
    "setup": "paid before useful work starts",
    "billing_increment": "rounded up to the billing step",
    "commitment": "committed and not used, and upfront fees",
    "storage": "disk asked for and not in the price",
    "egress": "moving the data, what is known of it",
}


@dataclass(slots=True)
class PricedRow:
    """One row with its cost. `lines` holds micro-dollars per line: of one run, of a month, over the horizon."""

    kind: int  # numbers into the market's tables
    seller: int
    terms: int
    source: int
    doubt: int  # how far the price is to be trusted, as in tables.py
    row: int  # market row index
    offer_id: int
    machine_usd: float  # of one machine per hour
    usd_per_hour: float  # of all machines, with the disk asked for beyond what the price holds
    usd_per_gpu_hour: float
    lines: list[list[int]]
    sums: list[int]
    low_usd: float  # of the ranking total
    high_usd: float
    stops: float
    paid_hours: float
    hours: tuple[float, float, float]  # of one run: low, mid, high
    nodes: int  # machines at most
    on_median: bool
    sessions: int  # that a run is split into
    wait_hours: float  # until a new week's quota


def priced(pricing: Pricing, rows: Rows) -> list[PricedRow]:
    """The rows priced, in the order given."""
    if not len(rows):
        return []
    groups, work, shapes = pricing.groups, pricing.work, pricing.shapes
    at, positions = rows.group, rows.position
    price, pace, kind = groups.row_usd_per_hour[positions], groups.pace[at], groups.kind[at]
    hours, nodes = pricing.mid, np.rint(shapes.nodes[kind])
    unit = np.stack(_lines(pricing, at, price, hours), axis=1)
    views = np.array([1.0, work.runs_per_month or 0.0, work.runs_in_all])
    micros = np.rint(unit[:, :, None] * (views * MICRO)).astype(np.int64)  # row, line, view
    ranked = 1.0 if work.runs is not None else work.runs_per_month or 0.0
    sums = micros.sum(axis=1)
    total = sums[:, 0 if work.runs is not None else 1] / MICRO
    low = np.minimum(_rounded(_total(pricing, at, price, pricing.low) * ranked), total)  # by lines, rounding may differ
    high = np.maximum(_rounded(_total(pricing, at, price, pricing.high) * ranked), total)
    hourly = _rounded((price + pricing.disk_usd_per_hour(at)) * nodes)
    span = np.maximum(_rounded(np.stack((shapes.low[kind], shapes.mid[kind], shapes.high[kind]), axis=1)), 1 / MICRO)
    fields = zip(
        kind.tolist(), groups.seller[at].tolist(), groups.terms[at].tolist(), groups.source[at].tolist(),
        groups.doubt[at].tolist(), groups.row[positions].tolist(), groups.row_id[positions].tolist(), price.tolist(),
        hourly.tolist(), _rounded(hourly / (groups.gpu_count[at] * nodes)).tolist(), micros.tolist(), sums.tolist(),
        low.tolist(), high.tolist(), hours.stops[pace].tolist(), hours.paid[pace].tolist(), map(tuple, span.tolist()),
        nodes.astype(np.int64).tolist(), pricing.on_median(at).tolist(), hours.sessions[pace].tolist(),
        hours.waits[pace].tolist(), strict=True,
    )  # fmt: skip
    return [PricedRow(*values) for values in fields]


def _rounded(values: Floats) -> Floats:
    """To micros, as every figure of an answer is."""
    return np.asarray(np.rint(values * MICRO) / MICRO, dtype=np.float64)


def _lines(pricing: Pricing, at: Ints, own: Floats, hours: Hours) -> list[Floats]:
    price = pricing.price_used(at, own)
    return cost_lines(price, hours, pricing.groups.pace[at], pricing.job, pricing.extras(at, price, hours))


def _total(pricing: Pricing, at: Ints, own: Floats, hours: Hours) -> Floats:
    """What the lines add up to, without them."""
    price, pace = pricing.price_used(at, own), pricing.groups.pace[at]
    return price * hours.machines[pace] * hours.billed[pace] + pricing.extras(at, price, hours).usd


def breakdown(
    lines: Iterable[tuple[str, Sequence[int]]],
    sums: Sequence[int],
    work: Work,
    *,
    low_usd: float,
    high_usd: float,
    explained: dict[str, str],
) -> CostBreakdown:
    """Named lines of micro-dollars (of a run, of a month, over the horizon) as dollars; an empty line is left out."""
    is_service, monthly = work.task is Task.INFER, work.runs_per_month is not None
    shown = tuple(
        CostLine(  # a run, a month, the horizon
            name, None if is_service else run / MICRO, month / MICRO if monthly else None, horizon / MICRO, explained[name]
        )
        for name, (run, month, horizon) in lines
        if horizon or run or name == "compute"
    )
    per_run, per_month, over = sums
    return CostBreakdown(
        lines=shown,
        usd_per_run=None if is_service else per_run / MICRO,
        usd_per_month=per_month / MICRO if monthly else None,
        usd_over_horizon=over / MICRO,
        low_usd=low_usd,
        high_usd=high_usd,
        ranking_usd=(per_run if work.runs is not None else per_month) / MICRO,
        ranking_period=work.ranking_period,
    )


def cloud_breakdown(one: PricedRow, work: Work) -> CostBreakdown:
    """The breakdown of a priced row."""
    lines = zip(LINES, one.lines, strict=True)
    return breakdown(lines, one.sums, work, low_usd=one.low_usd, high_usd=one.high_usd, explained=SAID)
