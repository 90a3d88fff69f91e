"""Swings: what each input alone moves the net present value of a purchase by, and which move it most."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from service.solver.purchase import PresentValue, Purchase, npv_usd, value_of
from service.solver.uncertainty import Range

FALLING, RISING = -0.12, 0.15  # of the cloud price, a year
MOST_SWINGS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """What one input alone moves: net present value at its low and its high end."""

    name: str
    low: float  # of the input
    high: float
    npv_at_low_usd: float
    npv_at_high_usd: float

    @property
    def usd(self) -> float:
        """The size of the swing."""
        return abs(self.npv_at_high_usd - self.npv_at_low_usd)


def swings(bought: Purchase, ranges: Mapping[str, Range]) -> list[Swing]:
    """The inputs that move the net present value most, largest first.

    Args:
        ranges: by input, low and high as factors on the base; for the cloud price's yearly change as it is.
    """
    base, found = value_of(bought), []
    slopes = _slopes(base)
    for name, (low, high) in ranges.items():
        at_low, at_high = (_npv_at(bought, base, slopes, name, factor) for factor in (low, high))
        found.append(Swing(name=name, low=low, high=high, npv_at_low_usd=at_low, npv_at_high_usd=at_high))
    return sorted((one for one in found if one.usd > 0), key=lambda one: (-one.usd, one.name))[:MOST_SWINGS]


def _slopes(base: PresentValue) -> dict[str, float]:
    """What the value gains by an input's own size: these inputs are in it as factors."""
    energy, used = -(base.busy_energy + base.idle_energy), base.gained - base.busy_energy
    return {
        "cloud_price": base.gained,
        "utilization": used,
        "availability": used,
        "capex": base.resale - base.capex - base.maintenance,  # a dearer machine costs more to keep and sells for more
        "maintenance": -base.maintenance,
        "staff": -base.staff,
        "electricity": energy,
        "pue": energy,
        "resale": base.resale,
        "colocation_and_software": -base.other,
    }


def _npv_at(bought: Purchase, base: PresentValue, slopes: Mapping[str, float], name: str, factor: float) -> float:
    """The value with one input at another size."""
    match name:
        case "utilization":
            return base.usd + slopes[name] * (min(factor, 1 / bought.utilization) - 1)
        case "cloud_price_change_per_year":
            return npv_usd(replace(bought, change_per_year=factor))
        case "life":
            return npv_usd(replace(bought, months=max(1, round(bought.months * factor))))
        case "discount_rate":
            return npv_usd(replace(bought, rate_fraction=bought.rate_fraction * factor))
        case "lead_time":
            return npv_usd(replace(bought, lead_months=bought.lead_months * factor))
        case _:
            return base.usd + slopes[name] * (factor - 1)
