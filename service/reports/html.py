"""HTML: the report as one page that needs nothing else, for a browser and for the PDF."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, select_autoescape
from markupsafe import Markup

from service.reports.figure import Figure, svg_of
from service.reports.model import Kind, Report, Section, Table
from service.reports.money import Shown, shown

MOST_WIDE: Final = 44  # characters of a column of words, before it breaks its lines
SHORT: Final = 14  # a column of words that is not made narrower than its longest word
UPRIGHT, ACROSS = 104, 158  # characters that stand beside each other on a page


def html_of(report: Report) -> str:
    """The page as text. Everything but our own style sheet and drawings is escaped."""
    template = _environment().get_template("report.html")
    return template.render(
        report=report,
        facts=facts_of(report),
        css=Markup(_asset("report.css")),  # noqa: S704 - our own file
        screen_css=Markup(_asset("screen.css")),  # noqa: S704 - the same
        sections=[_section(section, report) for section in report.sections],
    )


def facts_of(report: Report) -> list[tuple[str, str]]:
    """What stands under the title."""
    rate = report.rate
    return [
        ("Period", f"{report.period[0]:%Y-%m-%d} to {report.period[1]:%Y-%m-%d}"),
        ("Horizon", f"{report.horizon_months} months"),
        (
            "Currency",
            report.currency
            if rate.day is None
            else f"{report.currency}, {rate.per_usd:.6g} per USD on {rate.day}; charts in USD",
        ),
        ("Prices as of", "unknown" if report.as_of is None else f"{report.as_of:%Y-%m-%d %H:%M} UTC"),
        ("Input", report.input_hash),
        ("Made at", f"{report.stamp:%Y-%m-%d %H:%M:%S} UTC"),
    ]


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    is_figure: bool


@dataclass(frozen=True, slots=True)
class _Foot:
    cells: tuple[_Cell, ...]
    is_rounding: bool


def _section(section: Section, report: Report) -> dict[str, Any]:
    return {
        "title": section.title,
        "sentences": section.sentences,
        "landscape": section.is_appendix,
        "figures": [{"svg": _drawn(one), "title": one.title, "summary": one.summary} for one in section.figures],
        "tables": [
            _table(one, report, across=section.is_appendix, is_alone=one.title == section.title) for one in section.tables
        ],
    }


def _drawn(figure: Figure) -> Markup:
    return Markup(svg_of(figure))  # noqa: S704 - made by our own renderer, which escapes


def _table(table: Table, report: Report, *, across: bool, is_alone: bool) -> dict[str, Any]:
    figures = [column.kind is not Kind.WORDS for column in table.columns]
    text = shown(table, report.rate)

    def cells(row: tuple[str, ...]) -> tuple[_Cell, ...]:
        return tuple(_Cell(value, is_figure) for value, is_figure in zip(row, figures, strict=True))

    foot = [] if text.rounding is None else [_Foot(cells(text.rounding), True)]
    foot += [] if text.total is None else [_Foot(cells(text.total), False)]
    return {
        "name": table.name,
        "title": "" if is_alone else titled(table, report),
        "columns": [
            {"title": column.title, "is_figure": is_figure, "width": width}
            for column, is_figure, width in zip(table.columns, figures, _widths(table, text, across=across), strict=True)
        ],
        "rows": [cells(row) for row in text.rows],
        "foot": foot,
        "note": table.note,
    }


def _widths(table: Table, text: Shown, *, across: bool) -> list[float]:
    """Share of the page in percent: a figure or a short word takes what it needs, sentences share what is left.

    A fixed layout is laid out in a fifth of the time that the widths of 2,000 cells take.
    """
    rows = [*text.rows, *([text.total] if text.total else [])]
    needs = []
    for at, column in enumerate(table.columns):
        longest = max((len(row[at]) for row in rows), default=0)
        word = max(map(len, column.title.split()), default=1)
        needs.append(float(max(longest if column.kind is not Kind.WORDS else min(longest, MOST_WIDE), word) + 2))
    whole = ACROSS if across else UPRIGHT
    kept = [column.kind is not Kind.WORDS or need <= SHORT for need, column in zip(needs, table.columns, strict=True)]
    fixed = sum(need for need, is_kept in zip(needs, kept, strict=True) if is_kept)
    words = sum(needs) - fixed
    squeeze = min(1.0, max(0.2, (whole - fixed) / words)) if words else 1.0
    shares = [need if is_kept else need * squeeze for need, is_kept in zip(needs, kept, strict=True)]
    return [round(100 * share / sum(shares), 3) for share in shares]


def titled(table: Table, report: Report) -> str:
    """The title, with the currency where amounts are in it."""
    has_money = any(column.kind is Kind.MONEY for column in table.columns)
    return f"{table.title} ({report.currency})" if has_money else table.title


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_asset), autoescape=select_autoescape(default=True), trim_blocks=True, keep_trailing_newline=True
    )


@cache
def _asset(name: str) -> str:
    return files("service.reports").joinpath("templates", name).read_text(encoding="utf-8")
