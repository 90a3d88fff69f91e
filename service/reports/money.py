"""Money: amounts in the report's currency, converted and rounded once, at the end, so that what is shown adds up."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from service.domain.report import ExchangeRate
from service.reports.model import Cell, Column, Kind, Table
from service.solver.words import about

# ISO 4217: digits after the point where they are not two.
_DIGITS: Final = {
    "BHD": 3, "BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "IQD": 3, "ISK": 0, "JOD": 3, "JPY": 0, "KMF": 0, "KRW": 0, "KWD": 3,
    "LYD": 3, "OMR": 3, "PYG": 0, "RWF": 0, "TND": 3, "UGX": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
}  # fmt: skip
WHOLE_FROM: Final = 1000  # a table with an amount of this size shows whole units


def digits_of(currency: str) -> int:
    """How many digits after the point amounts of a currency have."""
    return _DIGITS.get(currency, 2)


def converted(usd: float, rate: ExchangeRate) -> Decimal:
    """The amount in the report's currency, not rounded."""
    return Decimal(repr(usd)) * Decimal(repr(rate.per_usd))


def rounded(usd: float, rate: ExchangeRate, digits: int) -> Decimal:
    """Half to even."""
    return converted(usd, rate).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as text. `rounding` is the line that makes the shown amounts add up to the shown total; None: they do."""

    rows: tuple[tuple[str, ...], ...]
    rounding: tuple[str, ...] | None
    total: tuple[str, ...] | None


def shown(table: Table, rate: ExchangeRate) -> Shown:
    """The table's cells as text in the report's currency."""
    digits = table_digits(table, rate)
    rows = tuple(tuple(_text(cell, column, rate, digits) for cell, column in _cells(row, table)) for row in table.rows)
    if table.total is None:
        return Shown(rows, None, None)
    total = tuple(_text(cell, column, rate, digits) for cell, column in _cells(table.total, table))
    left = [_rounding(table, at, rate, digits) for at in range(len(table.columns))]
    if not any(left):
        return Shown(rows, None, total)
    return Shown(rows, ("Rounding", *(f"{one:,.{digits}f}" if one else "" for one in left[1:])), total)


def table_digits(table: Table, rate: ExchangeRate) -> int:
    """One number of digits for a whole table."""
    at = [number for number, column in enumerate(table.columns) if column.kind is Kind.MONEY]
    amounts = [abs(float(row[number] or 0.0)) for row in table.rows for number in at if not isinstance(row[number], str)]
    return 0 if max(amounts, default=0.0) * rate.per_usd >= WHOLE_FROM else digits_of(rate.currency)


def _cells(row: Sequence[Cell], table: Table) -> list[tuple[Cell, Column]]:
    return list(zip(row, table.columns, strict=True))


def _rounding(table: Table, at: int, rate: ExchangeRate, digits: int) -> Decimal:
    """What is missing between the rounded rows and the rounded total of a column."""
    if table.columns[at].kind is not Kind.MONEY or table.total is None or not isinstance(table.total[at], float):
        return Decimal(0)
    if table.name == "cash_by_year" and at == len(table.columns) - 1:  # a running sum, not one of its rows
        return Decimal(0)
    cells = [row[at] for row in table.rows]
    parts = sum((rounded(cell, rate, digits) for cell in cells if isinstance(cell, float)), Decimal(0))
    return rounded(float(table.total[at] or 0.0), rate, digits) - parts


def _text(cell: Cell, column: Column, rate: ExchangeRate, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if column.kind is Kind.MONEY:
        return f"{rounded(cell, rate, digits) + 0:,.{digits}f}"
    if column.kind is Kind.PRICE:
        return exact(cell)
    if column.kind is Kind.ESTIMATE:
        return about(cell)
    if column.kind is Kind.SHARE:
        return f"{cell * 100:.4g} %"
    return f"{cell:,.6g}"


def exact(usd: float) -> str:
    """A price to the micro-dollar, with two digits at least."""
    text = f"{usd:,.6f}".rstrip("0")
    return text.ljust(text.index(".") + 3, "0")
