"""JSON with exact prices: what stands in an answer as 0.1 is 0.1, and what no float can hold is not finite."""

import json
from decimal import Decimal

from providers.base import Json
from providers.errors import ProviderPayloadInvalid

_TOO_LARGE_EXPONENT = 308  # of a float64


def parse_json(provider: str, body: bytes) -> Json:
    """The parsed body. A number with a point or an exponent is Decimal, a whole number int.

    NaN, Infinity and what a float cannot hold (1e999, which Decimal would take for finite) become float nan and inf:
    an adapter then refuses that row, not the catalogue. Of a key that stands twice the last value counts.

    Raises:
        ProviderPayloadInvalid: HTML, an empty body, broken JSON, or nesting too deep to be a catalogue.
    """
    try:
        return json.loads(body, parse_float=_exact, parse_int=_whole)
    except (ValueError, RecursionError):
        pass  # raised below: a JSONDecodeError holds the whole text and must not be chained
    kind = "HTML instead of JSON" if body.lstrip()[:1] == b"<" else "an empty body" if not body.strip() else "broken JSON"
    raise ProviderPayloadInvalid(provider, f"the answer is {kind}")


def _exact(text: str) -> Decimal | float:
    number = Decimal(text)
    return float("-inf" if number < 0 else "inf") if number.adjusted() >= _TOO_LARGE_EXPONENT else number


def _whole(text: str) -> int | float:
    return int(text) if len(text) < _TOO_LARGE_EXPONENT else float("-inf" if text.startswith("-") else "inf")
