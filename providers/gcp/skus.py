"""One SKU of the Cloud Billing catalog: its price per hour and unit, how it is bought, and which part of a machine it is.

`usageType` lies: rows of Calendar Mode, flex-start and some spot slices are marked OnDemand, so the description is read
too. Dollars are `units` (text) plus `nanos`; a part is priced by the card, the vCPU, the GiB of memory or the GiB of disk.
Source: Cloud Billing Catalog API reference, recorded pages and SKU descriptions of 2023 to 2026, read 2026-10.
"""

import re
from decimal import Decimal
from enum import StrEnum

from pydantic import BaseModel, Field

from providers.base import Refused
from providers.gcp.shapes import SSD, core_part, gpu_part, memory_part
from providers.offer import MALFORMED, NO_GPU, NO_PRICE, NOT_ON_DEMAND, OUT_OF_SCOPE
from providers.prices import price
from providers.units import GB, GIB, HOURS_PER_MONTH

NANO = Decimal(10**9)
MAXIMUM_USD = Decimal(1_000)  # of one part
# Words of a description without the maker's: accelerator. The mega card has three names, one of them only on demand.
_ACCELERATORS = {
    "t4": "nvidia-tesla-t4",
    "v100": "nvidia-tesla-v100",
    "p100": "nvidia-tesla-p100",
    "p4": "nvidia-tesla-p4",
    "l4": "nvidia-l4",
    "a100": "nvidia-tesla-a100",
    "a100 80gb": "nvidia-a100-80gb",
    "h100 80gb": "nvidia-h100-80gb",
    "h100 80gb plus": "nvidia-h100-mega-80gb",
    "h100 80gb mega": "nvidia-h100-mega-80gb",
    "h100 mega 80gb": "nvidia-h100-mega-80gb",
    "h200 141gb": "nvidia-h200-141gb",
    "a4 b200 (1 slice)": "nvidia-b200",
    "rtx 6000 96gb": "nvidia-rtx-pro-6000",
}
_PREFIX = re.compile(r"^(?:spot preemptible|preemptible|dws defined duration|dws flex start|(?:dws )?calendar mode) ")
_TAIL = re.compile(r" (?:attached to|running in|in) ")
_HOST = re.compile(
    r"^(?P<family>a2|a3 ?plus|a3 ?mega|a3 ?ultra|a3|g2|g4|n1)(?: predefined)?(?: instance)? (?P<what>core|cpu|ram)$"
)
_OTHER_PRODUCTS = ("sole tenancy", "custom", "premium", "vgpu", "vws", "virtual workstation", "suspended", "upgrade")


class Bought(StrEnum):
    """How a part is bought, in the words of the catalogue."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    FLEX_START = "flex-start"  # DWS: waits for capacity, runs a defined time
    CALENDAR = "calendar mode"  # DWS: booked ahead
    COMMITMENT = "commitment"
    RESERVED = "reserved"


class _Money(BaseModel):
    currencyCode: str
    units: str | int = 0
    nanos: int = 0


class _Tier(BaseModel):
    startUsageAmount: float = 0
    unitPrice: _Money


class _Expression(BaseModel):
    usageUnit: str
    tieredRates: list[_Tier]


class _Pricing(BaseModel):
    pricingExpression: _Expression


class _Category(BaseModel):
    resourceGroup: str = ""
    usageType: str


class Sku(BaseModel):
    """One row of the catalogue, as far as it is read."""

    skuId: str = Field(min_length=1, max_length=64)
    description: str = Field(max_length=300)
    category: _Category
    serviceRegions: list[str]
    pricingInfo: list[_Pricing]

    @property
    def words(self) -> str:
        return " ".join(self.description.casefold().split())

    @property
    def bought(self) -> Bought:
        return bought(self.words, self.category.usageType)

    def usd_per_hour(self, part: str) -> Decimal:
        """Of one unit of this part.

        Raises:
            Refused: no price, another currency than USD, or a unit this part is not sold in.
        """
        if not self.pricingInfo:
            raise Refused(NO_PRICE, "no price")
        expression = self.pricingInfo[0].pricingExpression
        first = [tier for tier in expression.tieredRates if tier.startUsageAmount == 0]
        if not first:
            raise Refused(NO_PRICE, "no price for the first hour")
        money = first[-1].unitPrice
        if money.currencyCode != "USD":
            raise Refused(NO_PRICE, "not in USD")
        if not re.fullmatch(r"-?\d{1,9}", str(money.units), re.ASCII) or abs(money.nanos) >= NANO:
            raise Refused(NO_PRICE, "no number")
        usd = price(Decimal(str(money.units)) + Decimal(money.nanos) / NANO, maximum_usd=MAXIMUM_USD)
        return usd * _per_hour(expression.usageUnit, part)


def _per_hour(unit: str, part: str) -> Decimal:
    """What a price in this unit is multiplied by to be per hour and card, vCPU or GiB."""
    factors = {"h": Decimal(1)}
    if part == SSD or part.endswith("memory"):
        per_gib = Decimal(GIB) / GB  # of a price by the decimal GB
        factors = {"GiBy.h": Decimal(1), "GBy.h": per_gib}
        if part == SSD:
            factors |= {"GiBy.mo": Decimal(1) / HOURS_PER_MONTH, "GBy.mo": per_gib / HOURS_PER_MONTH}
    if unit not in factors:
        raise Refused(MALFORMED, "a unit that this part is not sold in")
    return factors[unit]


def bought(words: str, usage_type: str) -> Bought:
    """By the description first; `usageType` only adds what it says of spot and commitments."""
    if words.startswith("commitment") or usage_type.startswith("Commit"):
        return Bought.COMMITMENT
    if "calendar mode" in words:
        return Bought.CALENDAR
    if "dws" in words.split() or "flex start" in words or "flex-start" in words or "defined duration" in words:
        return Bought.FLEX_START
    if words.startswith("reserved ") or " reserved " in words:
        return Bought.RESERVED
    return Bought.SPOT if usage_type == "Preemptible" or "spot" in words.split() else Bought.ON_DEMAND


def part_of(words: str) -> str | None:
    """The part of a machine that a description means; None for what is none."""
    core = _TAIL.split(_PREFIX.sub("", words), maxsplit=1)[0].strip()
    if core == "ssd backed local storage":
        return SSD
    if host := _HOST.match(core):
        family = host["family"].replace(" ", "").replace("mega", "plus")
        return memory_part(family) if host["what"] == "ram" else core_part(family)
    name = " ".join(word for word in core.replace("(1 gpu slice)", "(1 slice)").split() if word not in ("nvidia", "tesla", "gpu"))
    accelerator = _ACCELERATORS.get(name)
    return None if accelerator is None else gpu_part(accelerator)


def check_kind(words: str, kind: Bought) -> None:
    """Raises Refused for what is neither an hour of an ordinary machine nor one of a spot machine."""
    if kind not in (Bought.ON_DEMAND, Bought.SPOT):
        raise Refused(NOT_ON_DEMAND, kind.value)
    if any(word in words for word in _OTHER_PRODUCTS):
        raise Refused(OUT_OF_SCOPE, "a part of another product")
    if "tpu" in words:
        raise Refused(NO_GPU, "a TPU")
