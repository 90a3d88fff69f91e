"""An offer as stored text and back, and the fingerprint by which a refresh sees what changed."""

import dataclasses
from hashlib import blake2b
from operator import attrgetter

from pydantic import TypeAdapter

from providers.offer import Offer

_ADAPTER = TypeAdapter(Offer)
# When it was read is no part of what it is; sets have no order, so they are sorted apart.
_COMPARED = tuple(f.name for f in dataclasses.fields(Offer) if f.name not in ("observed_at", "attestations"))
_ENUMS = {"capacity_type", "tenancy", "price_basis", "interconnect", "fabric", "arch", "availability"}
# A hundred thousand offers are compared at every refresh: this is the quickest way that Python has.
_VALUES = attrgetter(*(f"{name}._value_" if name in _ENUMS else name for name in _COMPARED))
_TEXT = "\x1f".join(["%s"] * len(_COMPARED))


def offer_to_text(offer: Offer) -> str:
    """The whole offer as JSON; what equals its default is left out."""
    return _ADAPTER.dump_json(offer, exclude_defaults=True).decode()


def offer_from_text(text: str | bytes) -> Offer:
    """The offer again, exact."""
    return _ADAPTER.validate_json(text)


def fingerprint(offer: Offer) -> str:
    """16 hex digits over everything but `observed_at`: the same in every process and on every machine."""
    text = _TEXT % _VALUES(offer)
    if offer.attestations:
        text = "\x1f".join((text, *sorted(offer.attestations)))
    return blake2b(text.encode(), digest_size=8).hexdigest()
