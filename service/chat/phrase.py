"""Phrase: the canonical line of a reading; parsing it gives the same reading again."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from providers.offer import CapacityType
from service.chat.clauses import plain
from service.chat.reading import (
    BreakevenReading,
    CompareReading,
    ExplainReading,
    HistoryReading,
    Machine,
    PlainReading,
    PlanReading,
    Reading,
    Terms,
    UnwatchReading,
    WatchReading,
    WhyNotReading,
)

_CAPACITY: Final = {
    CapacityType.ON_DEMAND: "on-demand",
    CapacityType.SPOT: "spot",
    CapacityType.RESERVED: "reserved",
    CapacityType.SERVERLESS: "serverless",
    CapacityType.FREE_TIER: "free tier",
}
_UNITS: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def phrase_of(reading: Reading) -> str:
    """The line that says exactly this."""
    match reading:
        case PlanReading():
            return _joined("fastest" if reading.is_fastest else "cheapest", _terms(reading.terms))
        case CompareReading():
            return _joined("compare", " vs ".join(map(machine_phrase, reading.machines)), _terms(reading.terms))
        case BreakevenReading():
            return _joined("breakeven", machine_phrase(reading.machine), _terms(reading.terms))
        case HistoryReading():
            span = "" if reading.days is None else f"for {plain(reading.days)}d"
            return _joined("history", reading.gpu, _capacity(reading.capacity_types), _on(reading.providers), span)
        case ExplainReading():
            return f"explain {reading.rank}"
        case WhyNotReading():
            return f"why not {reading.provider}"
        case WatchReading():
            return _watch(reading)
        case UnwatchReading():
            return f"unwatch {reading.watch_id}"
        case PlainReading():
            return reading.verb


def machine_phrase(machine: Machine) -> str:
    """2x H100, or H100 where no count is said."""
    return machine.gpu if machine.count is None else f"{machine.count}x {machine.gpu}"


def amount_phrase(amount: float) -> str:
    """50M, 1.5B: the largest unit in which the amount has few digits."""
    for size, unit in _UNITS:
        if amount >= size and len(plain(amount / size)) <= 6 and (amount / size) * size == amount:
            return f"{plain(amount / size)}{unit}"
    return plain(amount)


def _watch(reading: WatchReading) -> str:
    return _joined(
        "watch",
        machine_phrase(Machine(gpu=reading.gpu, count=reading.gpu_count)),
        _capacity(reading.capacity_types),
        _cap(reading.max_usd_per_hour, "/h"),
        _cap(reading.max_usd_per_gpu_hour, "/gpu/h"),
        _in(reading.places),
        _on(reading.providers),
        "now" if reading.is_now else "",
    )


def _terms(terms: Terms) -> str:
    machines = [f"for {machine_phrase(machine)}" for machine in terms.machines]
    return _joined(
        terms.model or "",
        "" if terms.params_b is None else f"{plain(terms.params_b)}b",
        "" if terms.technique is None else terms.technique.value.replace("_", " "),
        "inference" if terms.is_inference else "",
        "" if terms.precision is None else terms.precision.value,
        *machines,
        "" if terms.tokens is None else f"{amount_phrase(terms.tokens)} tokens",
        "" if terms.requests_per_second is None else f"{plain(terms.requests_per_second)} rps",
        "" if terms.runs is None else f"{plain(terms.runs)} runs",
        "" if terms.runs_per_month is None else f"{plain(terms.runs_per_month)} runs per month",
        "" if terms.work_hours is None else f"for {plain(terms.work_hours)}h",
        "" if terms.horizon_months is None else f"for {terms.horizon_months} months",
        "" if terms.utilization is None else f"at {_percent(terms.utilization)}",
        *_limits(terms),
    )


def _limits(terms: Terms) -> tuple[str, ...]:
    return (
        "" if terms.deadline_hours is None else f"within {plain(terms.deadline_hours)}h",
        _cap(terms.max_usd_per_hour, "/h"),
        _cap(terms.max_usd_per_gpu_hour, "/gpu/h"),
        "" if terms.max_usd_total is None else f"total under ${plain(terms.max_usd_total)}",
        _in(terms.places),
        _capacity(terms.capacity_types),
        _on(terms.providers),
        f"not {' or '.join(terms.excluded_providers)}" if terms.excluded_providers else "",
        "" if terms.data_class is None else f"{terms.data_class.value.replace('_', '-')} data",
        *(regime.value.replace("_", " ") for regime in terms.regimes),
        "now" if terms.is_now else "",
        "" if terms.top is None else f"top {terms.top}",
        "" if terms.price_change is None else f"if prices {'+' if terms.price_change > 0 else ''}{_percent(terms.price_change)}",
        "" if terms.why_not is None else f"why not {terms.why_not}",
    )


def _percent(share: float) -> str:
    text = format(Decimal(repr(share)).scaleb(2), "f")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def _cap(usd: float | None, unit: str) -> str:
    return "" if usd is None else f"under ${plain(usd)}{unit}"


def _in(places: Sequence[str]) -> str:
    return f"in {' or '.join(places)}" if places else ""


def _capacity(kinds: Sequence[CapacityType]) -> str:
    return " or ".join(_CAPACITY[kind] for kind in kinds)


def _on(providers: Sequence[str]) -> str:
    return f"on {' or '.join(providers)}" if providers else ""


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
