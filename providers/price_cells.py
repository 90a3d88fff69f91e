"""Cells of one row of a price table: each is read or refused by its column's name, never repeated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from providers.base import Refused
from providers.offer import MALFORMED, NO_PRICE
from providers.prices import MAXIMUM_USD_PER_GPU_HOUR, plain_decimal, price

E = TypeVar("E", bound=StrEnum)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Cells:
    """One row by column. Every method raises Refused with the column in its detail."""

    row: Mapping[str, str]

    def text(self, column: str, *, longest: int = 200) -> str:
        """The cell without blanks around it, "" where it is absent."""
        cell = (self.row.get(column) or "").strip()
        if len(cell) > longest or _CONTROL.search(cell):
            raise _malformed(column, f"longer than {longest} characters" if len(cell) > longest else "control characters")
        return cell

    def required_text(self, column: str) -> str:
        if not (cell := self.text(column, longest=100)):
            raise _malformed(column, "empty")
        return cell

    def decimal(self, column: str, *, least: Decimal, most: Decimal) -> Decimal | None:
        """A finite number in the range; None for an empty cell."""
        if not (cell := self.text(column)):
            return None
        number = plain_decimal(cell)
        if number is None:
            raise _malformed(column, "not a plain number (a point for decimals, no thousands)")
        if not least <= number <= most:
            raise _malformed(column, f"not from {least:f} to {most:f}")
        return number

    def number(self, column: str, *, least: float = 0.0, most: float) -> float | None:
        found = self.decimal(column, least=Decimal(repr(least)), most=Decimal(repr(most)))
        return None if found is None else float(found)

    def usd_per_hour(self, column: str, *, gpu_count: float) -> Decimal | None:
        """A price of the whole machine, at most 1,000 USD per GPU-hour; None for an empty cell."""
        if not (cell := self.text(column)):
            return None
        try:
            return price(cell, maximum_usd=MAXIMUM_USD_PER_GPU_HOUR * max(1, round(gpu_count)))
        except Refused as refusal:
            raise Refused(NO_PRICE, f"column {column}: {refusal.detail}") from None

    def choice(self, column: str, kind: type[E], *, default: E) -> E:
        if not (cell := self.text(column)):
            return default
        try:
            return kind(cell.casefold())
        except ValueError:
            pass
        raise _malformed(column, f"none of {', '.join(member.value for member in kind)}")

    def day(self, column: str) -> date | None:
        """YYYY-MM-DD; None for an empty cell."""
        if not (cell := self.text(column)):
            return None
        try:
            if _DAY.fullmatch(cell):
                return date.fromisoformat(cell)
        except ValueError:
            pass
        raise _malformed(column, "not a day as YYYY-MM-DD")


def _malformed(column: str, fault: str) -> Refused:
    return Refused(MALFORMED, f"column {column}: {fault}")
