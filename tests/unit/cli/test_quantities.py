"""Quantities as people type them."""

import pytest

from service.cli.exits import CommandError
from service.cli.quantities import amount, hours
from service.cli.render import about, usd


@pytest.mark.parametrize(
    ("text", "value"), [("50M", 50e6), ("1.5b", 1.5e9), ("250_000", 250_000), ("3k", 3000), ("2T", 2e12), ("1e6", 1e6)]
)
def test_amounts(text, value):
    assert amount(text, "--tokens") == value


@pytest.mark.parametrize(("text", "value"), [("36", 36), ("90min", 1.5), ("3d", 72), ("2w", 336), ("24h", 24)])
def test_hours(text, value):
    assert hours(text, "--deadline") == value


@pytest.mark.parametrize("text", ["", "fifty", "-5", "5 0", "1__0", "5x", "nan", "inf", "1e9999", "1e999", "५"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(CommandError, match="--tokens"):
        amount(text, "--tokens")


@pytest.mark.parametrize(
    ("value", "text"), [(1.5, "1.50"), (0.2024, "0.2024"), (0.5159, "0.5159"), (12, "12.00"), (None, "-"), (1234.5, "1,234.50")]
)
def test_prices_keep_every_digit_and_at_least_cents(value, text):
    assert usd(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.7673, "4.77"), (1234.5, "1,230"), (0.0465, "0.0465"), (99.96, "100"), (0, "0"), (None, "-"), (0.000123456, "0.000123")],
)
def test_estimates_show_three_significant_digits(value, text):
    assert about(value) == text
