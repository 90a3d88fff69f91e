"""One row of Vast's answer, what its flags mean, and which of several rows of one machine counts."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, StrictBool, StrictInt

from providers.base import Json, Refused
from providers.offer import DUPLICATE, Availability, Rejected
from providers.places import country_of
from providers.prices import price
from providers.units import gib_from_mib

_Amount = Annotated[FiniteFloat, Field(ge=0)]
_Id = Annotated[StrictInt, Field(ge=0)]


class Row(BaseModel):
    id: _Id
    machine_id: _Id
    gpu_name: str
    gpu_ram: Annotated[FiniteFloat, Field(gt=0)]
    num_gpus: Annotated[StrictInt, Field(ge=1, le=64)]
    gpu_frac: _Amount | None = None
    dph_base: Any = None
    min_bid: Any = None
    is_bid: StrictBool | None = None
    rentable: StrictBool | None = None
    rented: StrictBool | None = None
    hosting_type: StrictInt | None = None
    verification: str | None = None
    verified: StrictBool | None = None
    geolocation: str | None = None
    storage_cost: _Amount | None = None
    disk_space: _Amount | None = None
    inet_up_cost: _Amount | None = None
    inet_down_cost: _Amount | None = None
    cpu_cores: _Amount | None = None
    cpu_cores_effective: _Amount | None = None
    cpu_ram: _Amount | None = None
    cpu_arch: str | None = None
    bw_nvlink: _Amount | None = None
    duration: _Amount | None = None
    credit_discount_max: Any = None  # the most that prepaying saves, a share; null or 0: nothing
    reliability2: Annotated[FiniteFloat, Field(ge=0, le=1)] | None = None

    @property
    def tier(self) -> str:
        """A data centre counts only while the vendor has verified the machine."""
        if not (self.verification == "verified" or (self.verification is None and self.verified)):
            return "unverified"
        return "datacenter" if (self.hosting_type or 0) > 0 else "verified"

    @property
    def availability(self) -> Availability:
        """Of this very machine at this moment."""
        if self.rented or self.rentable is False:
            return Availability.UNAVAILABLE
        return Availability.AVAILABLE if self.rentable else Availability.UNKNOWN

    @property
    def place(self) -> str | None:
        """What the host says, in one short line."""
        return " ".join((self.geolocation or "").split())[:60] or None

    @property
    def country(self) -> str | None:
        """The host's own word: good enough to show, and its tenancy tells that it proves no residency."""
        return country_of("vast", self.geolocation)

    @property
    def memory_gib(self) -> float | None:
        """RAM of this offer. Whether `cpu_ram` is the machine's or the share is not settled: the smaller is taken."""
        if self.cpu_ram is None:
            return None
        share = self.cpu_cores_effective / self.cpu_cores if self.cpu_cores and self.cpu_cores_effective else self.gpu_frac
        return None if share is None else gib_from_mib(self.cpu_ram * min(share, 1))


def in_order_of_price(rows: Iterable[Json]) -> tuple[list[tuple[str, Json]], list[Rejected]]:
    """Rows that can be rented first, then by price, whatever the server's order: of one machine's the first is kept.

    An id that came before is refused here.
    """
    named: dict[str, Json] = {}
    repeated: list[Rejected] = []
    for index, row in enumerate(rows):
        ask = row.get("id") if isinstance(row, dict) else None
        name = str(ask) if type(ask) is int else f"row {index}"
        if name in named:
            repeated.append(Rejected(reason=DUPLICATE, row=name, detail="the id came before"))
        else:
            named[name] = row

    def order(item: tuple[str, Json]) -> tuple[bool, Decimal, str]:
        row = item[1] if isinstance(item[1], dict) else {}
        try:
            asked = price(row.get("dph_base"))
        except Refused:
            asked = Decimal("Infinity")
        return row.get("rentable") is not True, asked, item[0]

    return sorted(named.items(), key=order), repeated
