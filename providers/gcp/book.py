"""Prices of parts by region and way of buying, and what a machine costs of the parts of one region.

A machine is never put together from two regions. A part without a price drops the machine there, and the part is named.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, TypeVar

from pydantic import ValidationError

from providers.base import Json, Refused
from providers.gcp.skus import Sku
from providers.offer import DUPLICATE, MALFORMED, Rejected

K = TypeVar("K")


class MissingPart(Exception):
    """Raised where a part of a machine has no price; `part` names it."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


@dataclass(frozen=True, slots=True)
class PriceBook(Generic[K]):
    """(key, region) -> part -> dollars per hour and unit. The key says how, and for Vertex what for, a part is bought."""

    label: str = "sku"  # what its rows are called
    prices: dict[tuple[K, str], dict[str, Decimal]] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    def read(self, rows: Iterable[Json], place_of: Callable[[Sku], tuple[K, str]]) -> None:
        """Enters each row under what `place_of` says; what it refuses is counted."""
        for index, raw in enumerate(rows):
            name = f"{self.label} {index}"
            try:
                sku = Sku.model_validate(raw)
                key, part = place_of(sku)
                usd = sku.usd_per_hour(part)
            except Refused as refusal:
                self.rejected.append(Rejected(reason=refusal.reason, row=name, detail=refusal.detail))
            except (ValidationError, ValueError, ArithmeticError) as error:
                self.rejected.append(Rejected(reason=MALFORMED, row=name, detail=_fault(error)))
            else:
                self._enter(name, key, part, sku.serviceRegions, usd)

    def _enter(self, name: str, key: K, part: str, regions: list[str], usd: Decimal) -> None:
        """Of two prices of one part at one place the dearer counts: a machine is then never too cheap."""
        repeated = 0
        for region in dict.fromkeys(regions):
            held = self.prices.setdefault((key, region), {})
            repeated += part in held
            held[part] = max(usd, held.get(part, usd))
        if repeated:
            self.rejected.append(Rejected(reason=DUPLICATE, row=name, detail=f"another price of {part} in {repeated} regions"))

    def regions(self, key: K) -> list[str]:
        """Where anything is priced under this key, in order."""
        return sorted(region for held, region in self.prices if held == key)

    def at(self, key: K, region: str) -> Mapping[str, Decimal]:
        """Part -> price; empty where there is none."""
        return self.prices.get((key, region), {})


def cost(needed: Mapping[str, int], prices: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Part -> dollars per hour of all its units. Raises MissingPart for the first without a price."""
    for part in needed:
        if part not in prices:
            raise MissingPart(part)
    return {part: prices[part] * count for part, count in needed.items()}


def told(lines: Mapping[str, Decimal]) -> str:
    """The lines of a price in words."""
    return "USD per hour: " + ", ".join(f"{part} {usd:.6f}" for part, usd in lines.items())


def _fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:120]}"
    return type(error).__name__
