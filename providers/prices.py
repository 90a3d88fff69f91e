"""Reading a price out of a provider's answer: exact, and nothing that is not a positive finite amount."""

import re
from decimal import Decimal, InvalidOperation

from providers.base import Json, Refused
from providers.offer import NO_PRICE

MAXIMUM_USD_PER_HOUR = Decimal(100_000)  # of one machine: far above any sold, far below a parsing accident
MAXIMUM_USD_PER_GPU_HOUR = Decimal(1_000)
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def price(value: Json, *, maximum_usd: Decimal = MAXIMUM_USD_PER_HOUR) -> Decimal:
    """A JSON number or decimal text as an exact amount above 0 and at most `maximum_usd`.

    A float is read by its shortest text, so 0.1 is 0.1. Nothing is rounded here.

    Raises:
        Refused: with NO_PRICE, for null, 0, a negative, NaN, infinity, an absurd amount and anything that is no number.
    """
    amount = plain_decimal(value)
    if amount is None:
        raise Refused(NO_PRICE, "no number")
    if not amount.is_finite():
        raise Refused(NO_PRICE, "not finite")
    if amount <= 0:
        raise Refused(NO_PRICE, "zero" if amount == 0 else "negative")
    if amount > maximum_usd:
        raise Refused(NO_PRICE, f"above {maximum_usd:,} USD")
    return amount


def plain_decimal(value: Json) -> Decimal | None:
    """A JSON number or plain ASCII decimal text (no thousands, no decimal comma) as an exact number; None for the rest."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        try:
            return Decimal(value.strip())
        except InvalidOperation:
            return None
    return None
