"""JSON: the report for a program: figures in US dollars and in the report's currency, tables as rows, plans whole."""

import json
from typing import Any

from pydantic import TypeAdapter

from service.domain.plan import Plan
from service.reports.model import Cell, Column, Kind, PlanMoney, Report, Section, Table
from service.reports.money import digits_of, rounded

_PLAN = TypeAdapter(Plan)


def render(report: Report) -> bytes:
    """The document, in UTF-8; only `created_at` differs between two of the same inputs."""
    rate = report.rate
    made = {
        "title": report.title,
        "recommendation": report.recommendation,
        "created_at": f"{report.stamp:%Y-%m-%dT%H:%M:%SZ}",
        "is_estimate": True,
        "input_hash": report.input_hash,
        "versions": dict(report.versions),
        "plan_ids": list(report.plan_ids),
        "period": {"start": report.period[0].isoformat(), "end": report.period[1].isoformat()},
        "horizon_months": report.horizon_months,
        "currency": report.currency,
        "exchange_rate": {
            "per_usd": rate.per_usd, "day": None if rate.day is None else rate.day.isoformat(), "source": rate.source,
            "warning": rate.warning,
        },
        "prices_as_of": None if report.as_of is None else report.as_of.isoformat(),
        "warnings": list(report.warnings),
        "money": [_money(one, report) for one in report.money],
        "sections": [_section(one, report) for one in report.sections],
        "plans": [json.loads(_PLAN.dump_json(one.source.plan)) for one in report.money],
    }  # fmt: skip
    return json.dumps(made, ensure_ascii=False, allow_nan=False, indent=1).encode()


def _money(one: PlanMoney, report: Report) -> dict[str, Any]:
    return {
        "plan_id": one.source.plan_id,
        "name": one.source.name,
        "owner": one.source.owner,
        "state": one.source.state,
        "recommended": None if one.chosen is None else one.chosen.label,
        "baseline": None if one.baseline is None else one.baseline.label,
        "npv_of_owning_usd": one.npv_own_usd,
        "payback_months": one.payback_months,
        "discounted_payback_months": one.discounted_payback_months,
        "value_left_usd": one.left_usd,
        "discount_rate_fraction": one.rate_fraction,
        "months": [
            {
                "month": f"{month.first_day:%Y-%m}",
                "recommended": _both(month.chosen_usd, report),
                "baseline": _both(month.baseline_usd, report),
                "own": None if month.own_usd is None else _both(month.own_usd, report),
            }
            for month in one.months
        ],
    }


def _section(section: Section, report: Report) -> dict[str, Any]:
    return {
        "title": section.title,
        "sentences": list(section.sentences),
        "tables": [_table(one, report) for one in section.tables],
        "charts": [
            {
                "name": one.name,
                "title": one.title,
                "summary": one.summary,
                "columns": list(one.columns),
                "rows": [list(row) for row in one.rows],
            }
            for one in section.figures
        ],
    }


def _table(table: Table, report: Report) -> dict[str, Any]:
    def cells(row: tuple[Cell, ...]) -> list[Any]:
        return [_cell(cell, column, report) for cell, column in zip(row, table.columns, strict=True)]

    return {
        "name": table.name,
        "title": table.title,
        "columns": [{"title": column.title, "kind": column.kind.value} for column in table.columns],
        "rows": [cells(row) for row in table.rows],
        "total": None if table.total is None else cells(table.total),
        "note": table.note,
    }


def _cell(cell: Cell, column: Column, report: Report) -> Any:
    return _both(cell, report) if column.kind is Kind.MONEY and isinstance(cell, float | int) else cell


def _both(usd: float, report: Report) -> dict[str, Any]:
    shown = rounded(usd, report.rate, digits_of(report.currency)) + 0
    return {"usd": round(usd, 6), "amount": str(shown), "currency": report.currency}
