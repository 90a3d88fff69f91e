"""Amounts: converted and rounded once, and a rounding line where what is shown would not add up."""

from datetime import date

import pytest

from service.domain.report import ExchangeRate
from service.reports.model import Column, Kind, Table
from service.reports.money import digits_of, exact, rounded, shown


def rate(currency, per_usd):
    return ExchangeRate(currency=currency, per_usd=per_usd, day=date(2026, 9, 18), source="test")


def table(*amounts, total=None):
    columns = (Column(title="Line"), Column(title="Amount", kind=Kind.MONEY))
    rows = tuple((f"line {at}", amount) for at, amount in enumerate(amounts))
    return Table(name="t", title="T", columns=columns, rows=rows, total=None if total is None else ("Total", total))


@pytest.mark.parametrize(("currency", "digits"), [("USD", 2), ("EUR", 2), ("JPY", 0), ("KRW", 0), ("KWD", 3)])
def test_currencies_have_their_digits(currency, digits):
    assert digits_of(currency) == digits


def test_half_goes_to_the_even_neighbour_once():
    dollar = rate("USD", 1.0)
    assert [str(rounded(usd, dollar, 2)) for usd in (0.125, 0.135, 2.675)] == ["0.12", "0.14", "2.68"]
    # 1.005 EUR at 0.5: 0.5025, rounded from there and not from 1.00 or 1.01
    assert str(rounded(1.005, rate("EUR", 0.5), 2)) == "0.50"


def test_a_rounding_line_makes_the_shown_amounts_add_up():
    # three times 0.333 is 0.999: shown 0.33 + 0.33 + 0.33 and 1.00, one cent is missing
    found = shown(table(0.333, 0.333, 0.333, total=0.999), rate("USD", 1.0))
    assert [row[1] for row in found.rows] == ["0.33"] * 3
    assert found.rounding == ("Rounding", "0.01")
    assert found.total == ("Total", "1.00")


def test_no_rounding_line_where_nothing_is_missing():
    assert shown(table(1.0, 2.0, total=3.0), rate("USD", 1.0)).rounding is None


def test_large_tables_show_whole_units_and_yen_never_parts():
    assert shown(table(1234.56, 2.0), rate("USD", 1.0)).rows[0][1] == "1,235"
    assert shown(table(4.2), rate("JPY", 150.0)).rows[0][1] == "630"
    assert shown(table(-0.001), rate("USD", 1.0)).rows[0][1] == "0.00"


def test_prices_stay_exact():
    assert [exact(usd) for usd in (4.0, 0.4175, 1234.000001)] == ["4.00", "0.4175", "1,234.000001"]
    assert float(exact(0.2024)) == pytest.approx(0.2024)
