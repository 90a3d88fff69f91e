"""An offer as stored text and back, and the fingerprint by which a refresh sees what changed."""

import dataclasses
from hashlib import blake2b
from operator import attrgetter
from typing import Any

from pydantic import TypeAdapter

from providers.offer import Offer

_ADAPTER = TypeAdapter(Offer)
# When it was read is no part of what it is; sets have no order, so they are sorted apart.
_COMPARED = tuple(f.name for f in dataclasses.fields(Offer) if f.name not in ("observed_at", "attestations"))
_VALUES = attrgetter(*_COMPARED)


def offer_to_text(offer: Offer) -> str:
    """The whole offer as JSON; what equals its default is left out."""
    return _ADAPTER.dump_json(offer, exclude_defaults=True).decode()


def offer_from_text(text: str | bytes) -> Offer:
    """The offer again, exact."""
    return _ADAPTER.validate_json(text)


def fingerprint(offer: Offer) -> str:
    """16 hex digits over everything but `observed_at`: the same in every process and on every machine."""
    values: list[Any] = list(map(str, _VALUES(offer)))
    if offer.attestations:
        values.extend(sorted(offer.attestations))
    return blake2b("\x1f".join(values).encode(), digest_size=8).hexdigest()
