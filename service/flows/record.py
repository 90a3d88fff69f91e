"""Record: what a provider answers now, scrubbed, as the text of a fixture that gives the same offers."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import httpx
from pydantic import SecretStr

from providers.base import Adapter, Json
from providers.errors import InvalidInput, OptimizerError, ProviderNeedsKey
from providers.offer import Batch, Offer
from service.flows.gates import counts_by_reason
from service.flows.scrub import scrubbed

_MARK: Final = "\x02exact:"
_MARKED: Final = re.compile(r'"\\u0002exact:([^"]*)"')


class ScrubFault(OptimizerError):
    """The scrubbed answer would not do: it still holds a credential, or gives other offers than the answer itself."""

    code = "scrub-fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The fixture's text and what its adapter makes of it."""

    text: str
    offers: int
    rejected: Mapping[str, int]
    failed_scopes: Mapping[str, str]


def record(adapter: Adapter, http: httpx.Client, clock: Callable[[], datetime]) -> Recording:
    """Reads the live service once; the text is what the adapter's `parse` takes.

    Raises:
        InvalidInput: the adapter reads no service.
        ProviderError: no key, or no answer that can be read.
        ScrubFault: see there; nothing of it may be kept.
    """
    if not hasattr(adapter, "base_url"):
        raise InvalidInput("this provider is a table of its own: there is no live service to record")
    if missing := adapter.missing_credentials():
        raise ProviderNeedsKey(adapter.name, missing)
    payload, at = adapter.fetch(http), clock()
    secrets = _secrets_of(adapter)
    clean = scrubbed(payload, secrets=secrets)
    before, after = adapter.parse(payload, at), adapter.parse(clean, at)
    if _sold(before) != _sold(after):
        raise ScrubFault("the scrubbed answer gives other offers than the answer itself: a name was taken for an id")
    text = _as_text(clean)
    if any(secret in text or json.dumps(secret)[1:-1] in text for secret in secrets):
        raise ScrubFault("a credential stands in the scrubbed answer")
    return Recording(
        text=text, offers=len(after.offers), rejected=counts_by_reason(after), failed_scopes=dict(after.failed_scopes)
    )


def _secrets_of(adapter: Any) -> tuple[str, ...]:
    held = (getattr(adapter, one.name) for one in fields(adapter))
    return tuple(value.get_secret_value() for value in held if isinstance(value, SecretStr) and value.get_secret_value())


def _sold(batch: Batch) -> Counter[tuple[Any, ...]]:
    """What is sold where at what price, ids apart."""
    return Counter(map(_what, batch.offers))


def _what(offer: Offer) -> tuple[Any, ...]:
    return (offer.tier, offer.gpu, offer.gpu_count, offer.capacity_type, offer.region, offer.country, offer.usd_per_hour)


def _as_text(payload: Json) -> str:
    """JSON with every number as it came: a price is not rounded on its way into a fixture."""

    def exact(value: Any) -> str:
        if isinstance(value, Decimal):
            return f"{_MARK}{value}"
        raise TypeError(f"{type(value).__name__} in an answer")

    return _MARKED.sub(r"\1", json.dumps(payload, indent=1, default=exact)) + "\n"
