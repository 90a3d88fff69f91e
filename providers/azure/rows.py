"""Which row of Azure's retail prices is what: Linux on demand, spot, low priority, a reservation, or none of our business.

Nothing but words tells them apart: productName ends in "Windows" or in " Win" for Windows, skuName or meterName hold
"Spot" and "Low Priority", `type` is Reservation. isPrimaryMeterRegion says nothing (false on ordinary on-demand rows).
A reservation states "1 Hour" and the price of its whole term.
Source: Retail Prices API, recorded answers of 2026 and its documentation, read 2026-10.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field, field_validator

from providers.base import Refused
from providers.offer import MALFORMED, NO_PRICE, OUT_OF_SCOPE
from providers.prices import MAXIMUM_USD_PER_HOUR, plain_decimal, price
from providers.units import HOURS_PER_YEAR

SERVICE = "Virtual Machines"
_TERM_YEARS = {"1 Year": 1, "3 Years": 3}
_NOT_A_MACHINE_OF_OURS = ("dedicated host", "dedicatedhost", "cloud services", "cloudservices", "expired", "promo")


class Kind(StrEnum):
    """What a row sells."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    LOW_PRIORITY = "low_priority"
    RESERVATION = "reservation"


class _SavingsPlan(BaseModel):
    retailPrice: Any = None
    term: str = ""


class Row(BaseModel):
    """One item of the price list, as far as it is read."""

    currencyCode: str
    retailPrice: Any = None
    armRegionName: str = Field(max_length=64)
    effectiveStartDate: datetime
    effectiveEndDate: datetime | None = None
    productName: str
    skuName: str
    meterName: str
    serviceName: str
    unitOfMeasure: str
    type: str
    armSkuName: str = Field(default="", max_length=64)
    reservationTerm: str = ""
    tierMinimumUnits: float = 0
    savingsPlan: list[_SavingsPlan] = []

    @field_validator("effectiveStartDate", "effectiveEndDate")
    @classmethod
    def _aware(cls, value: datetime | None) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value

    @property
    def kind(self) -> Kind:
        """By words; see the module.

        Raises:
            Refused: the row sells no Linux machine by the hour or by a reservation.
        """
        if self.serviceName != SERVICE:
            raise Refused(OUT_OF_SCOPE, "another service than virtual machines")
        product, words = self.productName.casefold(), f"{self.skuName} {self.meterName}".casefold()
        if product.rstrip().endswith((" windows", " win")) or " windows" in product or " win " in product:
            raise Refused(OUT_OF_SCOPE, "Windows")
        if any(word in product or word in words for word in _NOT_A_MACHINE_OF_OURS):
            raise Refused(OUT_OF_SCOPE, "a dedicated host, a cloud service or a discontinued meter")
        if self.type == "Reservation":
            return Kind.RESERVATION
        if self.type != "Consumption":
            raise Refused(OUT_OF_SCOPE, "a development and test price")
        if "low priority" in words:
            return Kind.LOW_PRIORITY
        return Kind.SPOT if " spot" in words else Kind.ON_DEMAND

    @property
    def term_years(self) -> int:
        """Length of a reservation; 0 for everything else."""
        if self.type != "Reservation":
            return 0
        if (years := _TERM_YEARS.get(self.reservationTerm)) is None:
            raise Refused(MALFORMED, "the term of the reservation is neither 1 nor 3 years")
        return years

    @property
    def precedence(self) -> tuple[datetime, Decimal]:
        """Orders rows of one machine: by the day it begins, then by price; what is no price comes last, so it is seen."""
        amount = plain_decimal(self.retailPrice)
        is_number = amount is not None and amount.is_finite()
        return self.effectiveStartDate, amount if is_number and amount is not None else Decimal("Infinity")

    def usd_per_hour(self) -> Decimal:
        """Dollars per hour of the machine, a reservation's spread over the hours of its term.

        Raises:
            Refused: another unit, another currency, or no price.
        """
        if self.currencyCode != "USD":
            raise Refused(NO_PRICE, "not in USD")
        if self.unitOfMeasure != "1 Hour":
            raise Refused(MALFORMED, "the unit is not one hour")
        hours = self.term_years * HOURS_PER_YEAR
        return price(self.retailPrice, maximum_usd=MAXIMUM_USD_PER_HOUR * (hours or 1)) / (hours or 1)

    def savings_plans(self) -> Iterable[tuple[int, Decimal]]:
        """Years and dollars per hour of each savings plan on this machine."""
        for plan in self.savingsPlan:
            if (years := _TERM_YEARS.get(plan.term)) is not None:
                yield years, price(plan.retailPrice)

    def check_in_force(self, now: datetime) -> None:
        """Raises Refused for a price of a later day, of a day gone by, or of a quantity above the first."""
        if self.effectiveStartDate > now:
            raise Refused(OUT_OF_SCOPE, "takes effect later")
        if self.effectiveEndDate is not None and self.effectiveEndDate <= now:
            raise Refused(OUT_OF_SCOPE, "no longer in force")
        if self.tierMinimumUnits > 0:
            raise Refused(OUT_OF_SCOPE, "a price for large quantities")
