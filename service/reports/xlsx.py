"""XLSX: a workbook that finance can change: inputs with names, live formulas with their values, and checks."""

import io
from typing import Any, Final

import xlsxwriter

from service.reports.model import Cell, Column, Kind, Report, Table
from service.reports.money import converted, digits_of, exact
from service.reports.xlsx_cells import Book, name_of
from service.reports.xlsx_checks import write_checks
from service.reports.xlsx_model import write_cash, write_decisions, write_inputs, write_options
from service.solver.words import about

_SHEETS: Final = {
    "scenarios": "Scenarios", "futures": "Futures", "tornado": "Tornado", "change": "Change", "risks": "Risks",
    "approval": "Approval", "excluded": "Left out", "assumptions": "Assumptions", "evidence": "Price evidence",
    "versions": "Versions",
}  # fmt: skip
MOST_WIDE: Final = 60


def render(report: Report) -> bytes:
    """The workbook; the same report gives the same bytes."""
    out = io.BytesIO()
    # Text stays text: nothing that a user wrote becomes a formula, a link or a number.
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(out, options) as workbook:
        workbook.set_properties({"title": report.title, "comments": report.footer, "created": report.stamp.replace(tzinfo=None)})
        workbook.set_calc_mode("auto")
        book = Book(workbook, report)
        summary = book.sheet("Summary")
        write_inputs(book)
        write_options(book)
        cash = write_cash(book)
        write_decisions(book, cash)
        _write_summary(book, summary, cash)
        for name, title in _SHEETS.items():
            _write_tables(book, title, [(one, where) for one, where in _tables(report) if one.name == name])
        write_checks(book, cash)
    return out.getvalue()


def _tables(report: Report) -> list[tuple[Table, str]]:
    return [(table, section.title) for section in report.sections for table in section.tables]


def _write_summary(book: Book, sheet: Any, cash: dict[str, Any]) -> None:
    report = book.report
    sheet.set_column(0, 0, 44)
    sheet.set_column(1, 2, 20)
    sheet.set_column(3, 3, 60)
    sheet.set_column(4, 7, 18)
    sheet.write_string(0, 0, report.title, book.title)
    sheet.merge_range(1, 0, 1, 7, "", book.lead)
    sheet.write_string(1, 0, report.recommendation, book.lead)
    sheet.set_row(1, 48)
    facts = [
        ("Currency", report.currency),
        ("Prices as of", "" if report.as_of is None else f"{report.as_of:%Y-%m-%d %H:%M} UTC"),
    ]
    facts += [("Input", report.input_hash), ("Made at", f"{report.stamp:%Y-%m-%d %H:%M:%S} UTC"), ("Kind", "estimate, no bill")]
    for at, (label, value) in enumerate(facts, 3):
        sheet.write_string(at, 0, label, book.head)
        sheet.write_string(at, 1, value)
    top = 4 + len(facts)
    money = report.currency
    heads = ("Plan", "Owner", "State", "Recommended", f"In the period ({money})", f"Horizon ({money})", f"Baseline ({money})")
    for column, words in enumerate((*heads, f"Difference ({money})")):
        sheet.write_string(top, column, words, book.head)
    for number, one in enumerate(report.money, 1):
        row = top + number
        chosen = "nothing fits" if one.chosen is None else one.chosen.label
        for column, words in enumerate((one.source.name, one.source.owner, one.source.state, chosen)):
            sheet.write_string(row, column, words, book.wrapped)
        book.fit(sheet, row, {one.source.name: 44, one.source.owner: 20, chosen: 60})
        sums = cash["sums"][number]
        for column, key in enumerate(("period", "chosen", "baseline"), 4):
            book.live(sheet, row, column, f"={sums[key][0]}*fx_rate", sums[key][1] * report.rate.per_usd)
        value = (sums["chosen"][1] - sums["baseline"][1]) * report.rate.per_usd
        book.live(sheet, row, 7, f"=F{row + 1}-G{row + 1}", value)
    last = top + len(report.money) + 1
    sheet.write_string(last, 0, "Total", book.head)
    totals = {}
    for column, key in enumerate(("period", "chosen", "baseline", "difference"), 4):
        letter = "EFGH"[column - 4]
        parts = cash["sums"].values()
        value = sum(
            (one["chosen"][1] - one["baseline"][1] if key == "difference" else one[key][1]) * report.rate.per_usd for one in parts
        )
        book.live(sheet, last, column, f"=SUM({letter}{top + 2}:{letter}{last})", value, bold=True)
        totals[key] = f"Summary!${letter}${last + 1}"
    cash["totals"] = totals
    sheet.freeze_panes(top + 1, 1)
    book.finish(sheet, last, 7)


def _write_tables(book: Book, title: str, tables: list[tuple[Table, str]]) -> None:
    """The tables of one kind under each other; money in the report's currency, live by the rate."""
    if not tables:
        return
    sheet = book.sheet(title)
    row, columns = 0, 0
    widest: dict[int, int] = {}
    starts: list[tuple[int, Table]] = []
    for table, where in tables:
        sheet.write_string(row, 0, table.title if len(tables) == 1 else f"{where}: {table.title}", book.title)
        for at, column in enumerate(table.columns):
            words = f"{column.title} ({book.report.currency})" if column.kind is Kind.MONEY else column.title
            sheet.write_string(row + 1, at, words, book.head)
        for line, cells in enumerate(table.rows, row + 2):
            for at, (cell, column) in enumerate(zip(cells, table.columns, strict=True)):
                _write_cell(book, sheet, line, at, cell, column)
                widest[at] = max(widest.get(at, 8), len(column.title) + 2, min(MOST_WIDE, len(_text(cell, column)) + 2))
        if table.note:
            sheet.write_string(row + 2 + len(table.rows), 0, table.note, book.note)
        columns = max(columns, len(table.columns))
        starts.append((row + 2, table))
        row += len(table.rows) + 4
    for at, width in widest.items():
        sheet.set_column(at, at, min(MOST_WIDE, width))
    for first, table in starts:
        for line, cells in enumerate(table.rows, first):
            book.fit(sheet, line, {cell: min(MOST_WIDE, widest[at]) for at, cell in enumerate(cells) if isinstance(cell, str)})
    sheet.freeze_panes(2 if len(tables) == 1 else 0, 1)
    book.finish(sheet, row, columns - 1)


def _write_cell(book: Book, sheet: Any, row: int, column: int, cell: Cell, kind: Column) -> None:
    if cell is None:
        sheet.write_blank(row, column, None)
    elif isinstance(cell, str):
        sheet.write_string(row, column, cell, book.wrapped)
    elif kind.kind is Kind.MONEY:
        book.live(sheet, row, column, f"={name_of(cell)}*fx_rate", float(converted(cell, book.report.rate)))
    elif kind.kind is Kind.SHARE:
        sheet.write_number(row, column, cell, book.share)
    else:
        sheet.write_number(row, column, cell, book.price if kind.kind in (Kind.PRICE, Kind.ESTIMATE) else book.plain)


def _text(cell: Cell, column: Column) -> str:
    if isinstance(cell, str) or cell is None:
        return cell or ""
    return exact(cell) if column.kind is Kind.PRICE else about(cell) + "." * digits_of("USD")
