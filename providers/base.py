"""The adapter contract: `fetch` does I/O, `parse` is pure, and `collect` counts every row that became no offer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar

import httpx
from pydantic import ValidationError

from providers.errors import InvalidInput, ProviderPayloadInvalid, UnknownGpu
from providers.offer import DUPLICATE, MALFORMED, UNKNOWN_GPU, Batch, Offer, Rejected

Json = Any  # what a JSON parser gives


class Adapter(ABC):
    """Reads one provider. Its fields are its settings (base URL, credentials); it keeps no other state."""

    name: ClassVar[str]
    needs_key: ClassVar[bool] = False  # True: it can read nothing without credentials
    has_spot: ClassVar[bool] = False
    default_interval_seconds: ClassVar[int] = 300
    enabled_by_default: ClassVar[bool] = True
    is_shipped: ClassVar[bool] = False  # True: its dated table comes with the product, so no network is needed

    @abstractmethod
    def fetch(self, http: httpx.Client) -> Json:
        """All pages of the provider's answer. Raises ProviderError; a failed page fails the fetch."""

    @abstractmethod
    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        """Offers and counted refusals. Pure. Raises ProviderPayloadInvalid when there is no catalogue in it."""

    def missing_credentials(self) -> str | None:
        """Which setting is missing, in words without a value; None when the adapter can run."""
        return None


class Refused(Exception):
    """Raised while a row is read to refuse it with a reason of its own (see the constants in offer.py)."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


def rows_at(provider: str, payload: Json, key: str) -> list[tuple[str, Json]]:
    """The named rows under `key`: a map's items, or a list's members under their index.

    Raises:
        ProviderPayloadInvalid: there is no such key, or neither a map nor a list under it, or it is empty.
    """
    found = payload.get(key) if isinstance(payload, Mapping) else None
    if isinstance(found, Mapping):
        rows = [(str(name), row) for name, row in found.items()]
    elif isinstance(found, list):
        rows = [(str(index), row) for index, row in enumerate(found)]
    else:
        raise ProviderPayloadInvalid(provider, f"the answer holds no {key!r} map or list")
    if not rows:
        raise ProviderPayloadInvalid(provider, f"the answer's {key!r} is empty")
    return rows


def collect(
    rows: Iterable[tuple[str, Json]], offers_of: Callable[[Json], Iterator[Offer] | Iterable[Offer]], **batch: Any
) -> Batch:
    """A Batch of all offers that `offers_of` makes of each row; what it refuses becomes a counted Rejected.

    A row is taken whole or not at all. Of offers with one `offer_id` the first is kept and the others counted.
    """
    offers: dict[str, Offer] = {}
    rejected: list[Rejected] = list(batch.pop("rejected", ()))
    row_count = 0
    for row_name, row in rows:
        row_count += 1
        try:
            made = list(offers_of(row))
        except Refused as refusal:
            rejected.append(Rejected(reason=refusal.reason, row=row_name, detail=refusal.detail))
            continue
        except UnknownGpu as error:
            rejected.append(Rejected(reason=UNKNOWN_GPU, row=row_name, detail=error.raw_name or str(error)))
            continue
        except (ValidationError, InvalidInput, ArithmeticError, ValueError, TypeError, KeyError) as error:
            rejected.append(Rejected(reason=MALFORMED, row=row_name, detail=_first_fault(error)))
            continue
        for offer in made:
            if offer.offer_id in offers:
                rejected.append(Rejected(reason=DUPLICATE, row=row_name, detail=offer.offer_id))
            else:
                offers[offer.offer_id] = offer
    batch.setdefault("row_count", row_count)
    return Batch(offers=tuple(offers.values()), rejected=tuple(rejected), **batch)


def _first_fault(error: Exception) -> str:
    """Where and what, without the value: a provider's answer is not ours to repeat."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return type(error).__name__
