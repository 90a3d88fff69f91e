import math

import pytest

from service.solver.words import about, about_hours, age, percent, usd


@pytest.mark.parametrize(
    ("value", "text"),
    [(4, "$4.00"), (0.4175, "$0.4175"), (55.04, "$55.04"), (1234.5, "$1,234.50"), (0.000001, "$0.000001"), (0.1, "$0.10")],
)
def test_prices_are_exact(value, text):
    assert usd(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1,230"), (999.4, "999"), (999.6, "1,000"), (0.04567, "0.0457"), (0.00001234, "0.000012"), (0, "0"),
        (-1234.5, "-1,230"), (-0.5, "-0.5"), (math.inf, "never"), (123456789.0, "123,000,000"), (2.0, "2"),
    ],
)  # fmt: skip
def test_estimates_have_three_digits(value, text):
    assert about(value) == text


@pytest.mark.parametrize(
    ("hours", "text"), [(0.5, "30 min"), (1, "1 h"), (2555, "2,560 h"), (17520, "2 years"), (0.0166, "0.996 min")]
)
def test_durations(hours, text):
    assert about_hours(hours) == text


def test_shares_and_ages():
    assert [percent(0.5), percent(0.2961), percent(-0.1136)] == ["50 %", "29.6 %", "-11.4 %"]
    assert [age(0), age(0.25), age(12), age(49)] == ["less than a minute", "15 min", "12 h", "2.04 days"]
