"""Words: numbers as an answer shows them. Prices stand exact, estimates with three significant digits."""

import math

from providers.units import HOURS_PER_YEAR


def usd(value: float) -> str:
    """A price, exact to micro-dollars, with at least two decimals: 4, 0.4175 -> "$4.00", "$0.4175"."""
    text = f"{value:,.6f}".rstrip("0")
    at = text.index(".")
    return f"${text}" if len(text) - at > 2 else f"${text.ljust(at + 3, '0')}"


def about_usd(value: float) -> str:
    """An estimated amount of dollars with three significant digits."""
    return f"${about(value)}"


def about(value: float) -> str:
    """An estimate with three significant digits at most: 1234.5 -> "1,230", 0.04567 -> "0.0457"."""
    if 1e-4 <= value < 999.5:
        return f"{value:.3g}"
    if not math.isfinite(value):
        return "never"
    if value < 0:
        return f"-{about(-value)}"
    if value >= 999.5:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{float(f'{value:.3g}'):f}" if value >= 1e-6 else "0"


def about_hours(hours: float) -> str:
    """A duration in the unit that reads best."""
    if hours < 1:
        return f"{about(hours * 60)} min"
    if hours > HOURS_PER_YEAR:
        return f"{about(hours / HOURS_PER_YEAR)} years"
    return f"{about(hours)} h"


def laid_out(strategy: str, gpus: float) -> str:
    """How work lies on GPUs: single -> "on one GPU", ddp of 8 -> "on 8 GPUs (ddp)"."""
    if gpus <= 1:
        return "on one GPU" if gpus == 1 else f"on {gpus:g} of a GPU"
    if strategy == "single":
        return f"on one GPU of {gpus:g}"
    return f"on {gpus:g} GPUs" + ("" if strategy == "as stated" else f" ({strategy.replace('_', ' ')})")


def percent(fraction: float) -> str:
    """A share in percent with one decimal at most."""
    text = f"{fraction * 100:.1f}"
    return f"{text.removesuffix('.0')} %"


def age(hours: float) -> str:
    """How long ago, in minutes, hours or days."""
    if hours * 60 < 1:
        return "less than a minute"
    if hours < 1:
        return f"{round(hours * 60)} min"
    if hours < 48:
        return f"{about(hours)} h"
    return f"{about(hours / 24)} days"
