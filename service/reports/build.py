"""Build: from plans as they were answered to the report. Pure: the same inputs make the same report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from service.domain.report import ReportInputs, ReportPlan
from service.domain.request import OnPremPool
from service.domain.saved import OwnHardwareInputs
from service.reports.cashflow import by_month_table, by_year_table, decision_table
from service.reports.figure import Figure
from service.reports.finance import in_period, money_of
from service.reports.model import Cell, Column, Kind, PlanMoney, Report, Section, Table
from service.reports.plan_charts import plan_figures
from service.reports.registers import (
    assumptions_table,
    change_table,
    components_table,
    evidence_table,
    excluded_table,
    options_table,
)
from service.reports.risks import futures_table, risk_rows, scenario_table, tornado_table
from service.reports.words import recommendation, sentence_of
from service.solver.identity import SOLVER_VERSION

VERSION: Final = "0.1.0"
_OWN_ASSUMPTIONS: Final = (
    ("month", "730", "hours", "convention of every amount here", ""),
    ("discounting", "end of each month", "", "convention of the cash flow", ""),
)


def build_report(inputs: ReportInputs, extra_figures: Mapping[str, Sequence[Figure]] | None = None) -> Report:
    """The report. `extra_figures` are added to the charts of a plan, by its id (price history)."""
    money = tuple(money_of(plan, inputs) for plan in inputs.plans)
    figures = {
        plan.plan_id: _figures(number, plan, (extra_figures or {}).get(plan.plan_id, ()))
        for number, plan in enumerate(inputs.plans, 1)
    }
    return Report(
        title=inputs.title,
        recommendation=recommendation(money, inputs),
        currency=inputs.rate.currency,
        rate=inputs.rate,
        period=inputs.period,
        horizon_months=inputs.horizon_months,
        as_of=min((plan.plan.prices.as_of for plan in inputs.plans if plan.plan.prices.as_of is not None), default=None),
        input_hash=input_hash(inputs),
        plan_ids=tuple(plan.plan_id for plan in inputs.plans),
        versions={"gpuplan": VERSION, "solver": SOLVER_VERSION},
        money=money,
        sections=_sections(inputs, money, figures),
        charts={f"{plan}.{one.name.partition('-')[2]}": one for plan, found in figures.items() for one in found},
        stamp=inputs.created_at,
        warnings=tuple(_warnings(inputs)),
    )


def input_hash(inputs: ReportInputs) -> str:
    """16 hex digits over all that decides the content."""
    parts = [
        inputs.title,
        *(f"{plan.hashes.input}{plan.hashes.answer}{plan.name}{plan.owner}{plan.state}" for plan in inputs.plans),
        *(plan.before.plan_id for plan in inputs.plans if plan.before is not None),
        str(inputs.period),
        str(inputs.horizon_months),
        str(inputs.rate),
        VERSION,
    ]
    return sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _figures(number: int, plan: ReportPlan, extra: Sequence[Figure]) -> tuple[Figure, ...]:
    pools = {str(one.pool["name"]): pool_of(one) for one in plan.own}
    drawn = [*plan_figures(plan.plan, pools), *extra]
    return tuple(replace(one, name=f"plan{number}-{one.name}") for one in drawn)


def pool_of(inputs: OwnHardwareInputs) -> OnPremPool:
    """The pool as it was given."""
    return OnPremPool.model_validate({name: value for name, value in inputs.pool.items() if value is not None}, strict=False)


def _warnings(inputs: ReportInputs) -> list[str]:
    found = [] if inputs.rate.warning is None else [inputs.rate.warning]
    for plan in inputs.plans:
        if stale := [feed.name for feed in plan.plan.prices.providers if feed.stale]:
            found.append(f"{plan.name}: prices of {', '.join(stale)} were stale.")
        if plan.plan.solver_version != SOLVER_VERSION:
            found.append(f"{plan.name} was solved by version {plan.plan.solver_version}, this is {SOLVER_VERSION}.")
    return found


def _sections(inputs: ReportInputs, money: Sequence[PlanMoney], figures: Mapping[str, tuple[Figure, ...]]) -> tuple[Section, ...]:
    months = inputs.horizon_months
    made = [Section(title="Summary", sentences=(inputs.plans[0].plan.prices.explained,), tables=(_summary(inputs, money),))]
    for number, one in enumerate(money, 1):
        made.append(_plan_section(number, one, months, figures[one.source.plan_id]))
    made.append(Section(title="Cash flow", sentences=(_CASH_WORDS,), tables=(by_year_table(money),)))
    changed = change_table(inputs.plans)
    words = () if changed is not None else ("No plan of this name and owner was reviewed before.",)
    made.append(Section(title="Change since the last review", sentences=words, tables=() if changed is None else (changed,)))
    made.append(Section(title="Risks in money", tables=(_risks(money, months),)))
    made.append(Section(title="Approval", tables=(_approvals(inputs.plans),)))
    appendix = (
        by_month_table(money),
        excluded_table(inputs.plans),
        assumptions_table(inputs.plans, _OWN_ASSUMPTIONS),
        evidence_table(inputs.plans),
        _versions(inputs),
    )
    made += [Section(title=table.title, tables=(table,), is_appendix=True) for table in appendix]
    return tuple(made)


_CASH_WORDS: Final = (
    "Cash as it is paid: hardware in the first month and resold at the end of its life, its work rented until it runs."
    " Without the recommendation the baseline would be paid."
)


def _summary(inputs: ReportInputs, money: Sequence[PlanMoney]) -> Table:
    months = inputs.horizon_months
    rows = []
    for one in money:
        budget = in_period(one, inputs.period)
        chosen = math.fsum(month.chosen_usd for month in one.months)
        baseline = math.fsum(month.baseline_usd for month in one.months)
        source, label = one.source, "nothing fits" if one.chosen is None else one.chosen.label
        rows.append((source.name, source.owner, source.state, label, budget, chosen, baseline, chosen - baseline))
    totals = [math.fsum(float(row[at]) for row in rows) for at in range(4, 8)]
    columns = (
        *(Column(title=title) for title in ("Plan", "Owner", "State", "Recommended")),
        Column(title=f"{inputs.period[0]:%Y-%m-%d} to {inputs.period[1]:%Y-%m-%d}", kind=Kind.MONEY),
        Column(title=f"{months} months", kind=Kind.MONEY),
        Column(title="Baseline", kind=Kind.MONEY),
        Column(title="Difference", kind=Kind.MONEY),
    )
    return Table(
        name="summary",
        title="What is asked for",
        columns=columns,
        rows=tuple(rows),
        total=("Total", "", "", "", *totals),
        note="Baseline: the cheapest on-demand offer of each plan. All amounts are estimates; cash as it is paid.",
    )


def _plan_section(number: int, money: PlanMoney, months: int, figures: tuple[Figure, ...]) -> Section:
    tables = [options_table(money, months)]
    if money.chosen is not None:
        tables.append(components_table(money.chosen, months, money.recurring))
        tables.append(scenario_table(money, months))
    tables += [one for one in (decision_table(money), futures_table(money), tornado_table(money, months)) if one is not None]
    return Section(title=f"{number}. {money.source.name}", sentences=sentence_of(money), tables=tuple(tables), figures=figures)


def _risks(money: Sequence[PlanMoney], months: int) -> Table:
    rows = [row for one in money for row in risk_rows(one, months)]
    columns = (
        *(Column(title=title) for title in ("Plan", "Risk", "How it is reckoned")),
        Column(title=f"{months} months", kind=Kind.MONEY),
    )
    return Table(name="risks", title="Risks in money", columns=columns, rows=tuple(rows), note="Each alone: they do not add up.")


def _approvals(plans: Sequence[ReportPlan]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for plan in plans:
        given = plan.approval
        if given is None:
            rows.append((plan.name, plan.owner, plan.state, "", None, "", None, ""))
        else:
            until = f"{given.valid_until:%Y-%m-%d}"
            rows.append((plan.name, plan.owner, plan.state, given.by, given.limit_usd, until, given.allowed_drift_fraction, ""))
    columns = (
        *(Column(title=title) for title in ("Plan", "Owner", "State", "Approved by")),
        Column(title="Limit", kind=Kind.MONEY),
        Column(title="Valid until"),
        Column(title="Allowed drift", kind=Kind.SHARE),
        Column(title="Signature and date"),
    )
    return Table(name="approval", title="Approval", columns=columns, rows=tuple(rows))


def _versions(inputs: ReportInputs) -> Table:
    rate = inputs.rate
    rows: list[tuple[str, str]] = [("gpuplan", VERSION), ("solver", SOLVER_VERSION), ("input of this report", input_hash(inputs))]
    if rate.day is not None:
        rows.append(("exchange rate", f"{rate.per_usd:.6g} {rate.currency} per USD on {rate.day.isoformat()}, {rate.source}"))
    for plan in inputs.plans:
        hashes = plan.hashes
        rows.append((f"{plan.name}: plan", f"{plan.plan_id}, evaluated at {plan.plan.evaluated_at:%Y-%m-%d %H:%M} UTC"))
        rows.append((f"{plan.name}: prices", f"snapshot {hashes.snapshot_id}; {plan.plan.prices.explained}"))
        rows.append((f"{plan.name}: hashes", f"request {hashes.request}, pools {hashes.pools}, tables {hashes.tables}"))
        rows.append((f"{plan.name}: policy", f"policy {hashes.policy}, evidence {hashes.evidence}, answer {hashes.answer}"))
    columns = (Column(title="What"), Column(title="Which"))
    return Table(name="versions", title="Versions and hashes", columns=columns, rows=tuple(rows))
