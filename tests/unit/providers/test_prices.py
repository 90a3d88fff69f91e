"""Only positive finite amounts are prices, and they are exact."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import Refused
from providers.exact_json import parse_json
from providers.offer import NO_PRICE
from providers.prices import price


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("3.990"), "3.99"),
        (4, "4"),
        (0.1, "0.1"),
        ("32.7726000000", "32.7726"),
        (" 1.5 ", "1.5"),
        ("1e-3", "0.001"),
        (100_000, "100000"),
    ],
)
def test_a_price_is_exact(value, expected):
    assert price(value) == Decimal(expected)


@pytest.mark.parametrize(
    "value",
    [
        None,
        0,
        0.0,
        "0.0000000000",
        -1,
        "-0.5",
        math.nan,
        math.inf,
        -math.inf,
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("sNaN"),
        True,
        "",
        "free",
        "1,000",
        "NaN",
        "Infinity",
        "0x10",
        "1_000",
        "٣",
        {},
        [1],
        "1e9999",
        100001,
        Decimal("1e999"),
    ],
)
def test_what_is_no_price_is_refused(value):
    with pytest.raises(Refused) as caught:
        price(value)
    assert caught.value.reason == NO_PRICE


def test_the_bound_is_the_callers():
    assert price(1000, maximum_usd=Decimal(1000)) == 1000
    with pytest.raises(Refused, match="above 1,000 USD"):
        price("1000.01", maximum_usd=Decimal(1000))


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e308", b"9" * 5000])
def test_what_no_float_holds_is_dropped_by_the_row_not_by_the_catalogue(text):
    answer = parse_json("acme", b'[{"p": ' + text + b'}, {"p": 2.50}]')
    with pytest.raises(Refused):
        price(answer[0]["p"])
    assert price(answer[1]["p"]) == Decimal("2.5")


@given(st.decimals(min_value="0.000001", max_value=99_999, places=6))
def test_json_keeps_every_digit_of_a_price(amount):
    assert price(parse_json("acme", str(amount).encode())) == amount
