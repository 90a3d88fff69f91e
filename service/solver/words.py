"""Words: numbers as an answer shows them. Prices stand exact, estimates with three significant digits."""

import math


def usd(value: float) -> str:
    """A price, exact to micro-dollars, with at least two decimals: 4, 0.4175 -> "$4.00", "$0.4175"."""
    text = f"{value:,.6f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"${whole}.{decimals.ljust(2, '0')}"


def about_usd(value: float) -> str:
    """An estimated amount of dollars with three significant digits."""
    return f"${about(value)}"


def about(value: float) -> str:
    """An estimate with three significant digits at most: 1234.5 -> "1,230", 0.04567 -> "0.0457"."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "never"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if digits <= 0:
        return f"{rounded:,.0f}"
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def about_hours(hours: float) -> str:
    """A duration in the unit that reads best."""
    if hours < 1:
        return f"{about(hours * 60)} min"
    if hours > 1000:
        return f"{about(hours / 730)} months"
    return f"{about(hours)} h"


def percent(fraction: float) -> str:
    """A share in percent with one decimal at most."""
    text = f"{fraction * 100:.1f}"
    return f"{text.removesuffix('.0')} %"


def age(hours: float) -> str:
    """How long ago, in minutes, hours or days."""
    if hours < 1:
        return f"{round(hours * 60)} min"
    if hours < 48:
        return f"{about(hours)} h"
    return f"{about(hours / 24)} days"
