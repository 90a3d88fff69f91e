"""Words: how figures, times and codes stand on a page. Prices exact, estimates with three digits at most."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from service.domain.plan import PlanOption
from service.reports.chart_parts import signed_usd
from service.solver.words import about, about_hours, about_usd, age, percent, usd

NOTHING: Final = "–"
_PERIODS: Final = {"per_run": "per run", "per_month": "per month", "over_horizon": "over the horizon"}
_FLAGS: Final = {
    "stale": "The price is older than three refreshes.",
    "dated": "A list price with a date, not read from the provider now.",
    "undated": "A list price whose date is not known.",
    "suspect": "The price is far below its like: check it before relying on it.",
    "dominated": "Spot that costs more than on demand.",
    "arm64": "An ARM machine: check that your images run on it.",
    "shared_kernel": "Containers of several customers share one kernel.",
    "low_headroom": "Within 5 % of the memory of the card.",
    "no_resume": "A stop starts the run again from zero.",
    "software_unverified": "It is not known that the software runs there.",
}


def words(code: str) -> str:
    """A code as words: on_demand -> on demand."""
    return code.replace("_", " ")


def period(code: str) -> str:
    """The period of an amount, in words."""
    return _PERIODS.get(code, words(code))


def flag(code: str) -> str:
    """What a flag means."""
    return _FLAGS.get(code, words(code))


def moment(value: datetime | None) -> str:
    """An instant in UTC to the minute."""
    return NOTHING if value is None else f"{value:%Y-%m-%d %H:%M} UTC"


def flags(option: PlanOption) -> tuple[str, ...]:
    """The flags that say something of their own: an undated price is a dated one, too."""
    return tuple(code for code in option.flags if code != "dated" or "undated" not in option.flags)


def money(value: float) -> str:
    """A line of a cost: cents, or four digits where it is less than a dollar."""
    return f"${value:,.2f}" if abs(value) >= 1 or value == 0 else f"${value:.4g}"


def cards(option: PlanOption) -> str:
    """2 x 8 x H100-SXM: machines, cards of each, card."""
    each = f"{option.gpu_count:g} × {option.gpu}" if option.gpu_count != 1 else option.gpu
    return f"{option.nodes} × {each}" if option.nodes > 1 else each


def place(option: PlanOption) -> str:
    """Country and zone or region, as far as they are known."""
    return ", ".join(part for part in (option.country, option.zone or option.region) if part) or "place unknown"


def or_nothing(shown: Callable[[Any], str]) -> Callable[[Any], str]:
    """The same words, with a dash where there is no value."""
    return lambda value: NOTHING if value is None else shown(value)


FILTERS: Final = {
    "usd": or_nothing(usd),
    "about_usd": or_nothing(about_usd),
    "about": or_nothing(about),
    "signed_usd": or_nothing(signed_usd),
    "money": or_nothing(money),
    "flags": flags,
    "hours": or_nothing(about_hours),
    "age": or_nothing(age),
    "percent": or_nothing(lambda share: percent(share).replace(" ", "\u00a0")),
    "words": words,
    "period": period,
    "flag": flag,
    "moment": moment,
    "cards": cards,
    "place": place,
}
