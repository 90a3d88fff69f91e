"""Markdown: the report for a pull request, its title first."""

import re
from typing import Final

from service.reports.html import facts_of, titled
from service.reports.model import Kind, Report, Section, Table
from service.reports.money import shown

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#|~])")
_LEADING: Final = re.compile(r"^(\s*)([-+=]|\d+[.)])", re.MULTILINE)
_LEFT_OUT: Final = frozenset({"cash_by_month"})  # rows that nobody reads in a pull request: they are in the other formats


def render(report: Report) -> bytes:
    """The text, in UTF-8."""
    lines = [f"# {plain(report.title)}", "", f"**{plain(report.recommendation)}**", ""]
    lines += [f"- {name}: {plain(value)}" for name, value in facts_of(report)]
    lines += ["", *(f"> {plain(warning)}" for warning in report.warnings)]
    for section in report.sections:
        lines += _section(section, report)
    lines += ["", "---", "", plain(report.footer), ""]
    return "\n".join(lines).encode()


def _section(section: Section, report: Report) -> list[str]:
    lines = ["", f"## {plain(section.title)}", ""]
    for sentence in section.sentences:
        lines += [plain(sentence), ""]
    for figure in section.figures:
        lines += [f"{plain(figure.title)}: {plain(figure.summary)}", ""]
    for table in section.tables:
        if table.name not in _LEFT_OUT:
            lines += _table(table, report)
    return lines


def _table(table: Table, report: Report) -> list[str]:
    text = shown(table, report.rate)
    rows = [*text.rows, *((text.rounding,) if text.rounding else ()), *((text.total,) if text.total else ())]
    sides = ["---" if column.kind is Kind.WORDS else "---:" for column in table.columns]
    lines = [f"### {plain(titled(table, report))}", "", _row([plain(column.title) for column in table.columns]), _row(sides)]
    lines += [_row([plain(cell) for cell in row]) for row in rows]
    return [*lines, "", *([plain(table.note), ""] if table.note else [])]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """Text that no Markdown reader takes for a mark, a link or HTML; on one line."""
    one_line = " ".join(text.split())
    return _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", one_line))
