"""Echo: how a line was read, in words, with the class of data that is in force."""

from service.chat.clauses import plain
from service.chat.phrase import phrase_of
from service.chat.reading import BreakevenReading, CompareReading, PlanReading, Reading, Terms
from service.domain.request import DataSensitivity

_PLACES = {
    "EU": "EU (its 27 members)",
    "EEA": "EEA (EU, Iceland, Liechtenstein, Norway)",
    "EUROPE": "Europe (EEA, UK, Switzerland and neighbours)",
}


def echo_of(reading: Reading, default_sensitivity: DataSensitivity) -> str:
    """The reading as one line: the canonical phrase, what its caps and places mean, and the data class."""
    parts = [phrase_of(reading)]
    if isinstance(reading, PlanReading | CompareReading | BreakevenReading):
        parts += _meanings(reading.terms)
        given = reading.terms.data_class
        parts.append(f"data class {(given or default_sensitivity).value}{'' if given else ' (default)'}")
    elif places := getattr(reading, "places", ()):
        parts += [_PLACES[place] for place in places if place in _PLACES]
    return " · ".join(parts)


def _meanings(terms: Terms) -> list[str]:
    said = []
    if terms.max_usd_per_hour is not None:
        said.append(f"at most ${plain(terms.max_usd_per_hour)} an hour for the whole instance")
    if terms.max_usd_per_gpu_hour is not None:
        said.append(f"at most ${plain(terms.max_usd_per_gpu_hour)} an hour for one GPU")
    if terms.max_usd_total is not None:
        said.append(f"at most ${plain(terms.max_usd_total)} for the whole work")
    said += [_PLACES[place] for place in terms.places if place in _PLACES]
    if not terms.capacity_types:
        said.append("on-demand or spot")
    if terms.is_now:
        said.append("in stock now")
    return said
