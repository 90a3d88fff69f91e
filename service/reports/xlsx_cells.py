"""Cells of the workbook: formats, sheets that print well, and formulas written together with their value."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from service.reports.model import Report
from service.reports.money import digits_of

LINE_POINTS: Final = 15
FOOTER_MOST: Final = 240  # characters that a page footer may have
_NOT_A_NAME: Final = re.compile(r"[^a-z0-9_]")


def name_of(value: float) -> str:
    """A number as a formula writes it."""
    return repr(float(value))


def defined_name(number: int, what: str) -> str:
    """The name of an input of a plan: only our own words, never the user's."""
    return f"plan{number}_{_NOT_A_NAME.sub('_', what.lower())}"


class Book:
    """A workbook under construction, with its formats."""

    def __init__(self, workbook: Any, report: Report) -> None:
        self.workbook, self.report = workbook, report
        digits = digits_of(report.currency)
        money = "#,##0" + ("." + "0" * digits if digits else "")
        self._made: dict[tuple[Any, ...], Any] = {}
        self.title = self._format(bold=True, font_size=14)
        self.head = self._format(bold=True, bottom=1, text_wrap=True, valign="bottom")
        self.wrapped = self._format(text_wrap=True, valign="top", indent=1)
        self.lead = self._format(text_wrap=True, valign="top")
        self.note = self._format(italic=True, font_color="#57606A")
        self.plain = self._format(num_format="#,##0.######")
        self.share = self._format(num_format="0.0%")
        self.price = self._format(num_format="#,##0.00####")
        self.month = self._format(num_format="yyyy-mm")
        self.input = self._format(num_format="#,##0.00####", bg_color="#FFF8DC", font_color="#0B3D91")
        self.money = self._format(num_format=money)
        self.money_bold = self._format(num_format=money, bold=True, top=1)
        self.usd = self._format(num_format="#,##0.00")
        self.usd_bold = self._format(num_format="#,##0.00", bold=True, top=1)
        self.truth = self._format(bold=True)

    def _format(self, **properties: Any) -> Any:
        return self.workbook.add_format(properties)

    def sheet(self, name: str) -> Any:
        """A new sheet."""
        return self.workbook.add_worksheet(name)

    def live(self, sheet: Any, row: int, column: int, formula: str, value: float | str | bool, *, bold: bool = False) -> None:
        """A formula in the report's currency with its value, so that a reader without a calculator sees it too."""
        self.formula(sheet, row, column, formula, value, self.money_bold if bold else self.money)

    def formula(self, sheet: Any, row: int, column: int, formula: str, value: float | str | bool, form: Any) -> None:
        """A formula with its value."""
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("a workbook holds no number that is not finite")
        sheet.write_formula(row, column, formula, form, value)

    def fit(self, sheet: Any, row: int, texts: Mapping[str, int]) -> None:
        """Makes a row high enough for its texts, each with the width of its column: readers do not all do it themselves."""
        lines = max((math.ceil((len(text) + 2) / width) for text, width in texts.items()), default=1)
        if lines > 1:
            sheet.set_row(row, LINE_POINTS * lines)

    def name(self, name: str, sheet: str, row: int, column: int) -> None:
        """Gives a cell a name."""
        letter = chr(ord("A") + column)
        self.workbook.define_name(name, f"='{sheet}'!${letter}${row + 1}")

    def finish(self, sheet: Any, last_row: int, last_column: int) -> None:
        """Print area, orientation and the imprint on every page."""
        sheet.print_area(0, 0, max(0, last_row), max(0, last_column))
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.fit_to_pages(1, 0)
        imprint = self.report.footer[:FOOTER_MOST].replace("&", "&&")
        sheet.set_footer(f"&L&7{imprint}&R&7&P / &N")
