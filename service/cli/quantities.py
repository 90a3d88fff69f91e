"""Reading quantities as people type them: 50M tokens, 3d, 2x H100."""

import re

from service.cli.exits import USAGE, CommandError

_MULTIPLES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_HOURS = {"": 1.0, "h": 1.0, "m": 1 / 60, "min": 1 / 60, "d": 24.0, "w": 168.0}
_NUMBER = re.compile(r"^([0-9]+(?:_[0-9]{3})*(?:\.[0-9]+)?(?:e[0-9]{1,2})?)\s*([a-z]*)$")


def _read(text: str, units: dict[str, float], option: str, example: str) -> float:
    found = _NUMBER.match(text.strip().lower())
    if found is None or found[2] not in units:
        raise CommandError(f"{option}: not a quantity; write it like {example}", code=USAGE)
    return float(found[1].replace("_", "")) * units[found[2]]


def amount(text: str | None, option: str) -> float | None:
    """A plain amount with an optional k, M, B or T."""
    return None if text is None else _read(text, _MULTIPLES, option, "50M, 1.5B or 250000")


def hours(text: str | None, option: str) -> float | None:
    """Hours, or minutes (90min), days (3d), weeks (2w)."""
    return None if text is None else _read(text, _HOURS, option, "36, 90min, 3d or 2w")
