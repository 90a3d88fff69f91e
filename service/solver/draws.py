"""Draws: the fixed table of points that a Monte Carlo is reckoned on. The same count gives the same points, always.

Each column is a Kronecker sequence n x sqrt(prime) mod 1, ranked into equal strata, so that every single input is spread
evenly at any count; normal columns are its quantiles. The path of the cloud price is a Brownian motion by the first terms
of its Karhunen-Loeve series. Resale follows the price at the path's end, since both follow how scarce the cards are.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from providers.units import MONTHS_PER_YEAR

Floats = NDArray[np.float64]
INPUTS: Final = ("utilization", "capex", "maintenance", "staff", "electricity", "availability", "resale")
PLAN_DRAWS: Final = 1_000
REPORT_DRAWS: Final = 10_000
RESALE_CORRELATION: Final = 0.7  # of resale with the cloud price at the end of the life; an estimate
_TERMS: Final = 6  # of the series: 97 % of the variance at the end of the path
_PRIMES: Final = (2, 3, 5, 11, 17, 31, 37, 43, 61, 97, 107, 131, 157)  # whose columns correlate by under 0.04 in pairs


@dataclass(frozen=True, eq=False)
class Draws:
    """Points of one count."""

    count: int
    inputs: dict[str, Floats]  # by input, numbers between 0 and 1
    roots: dict[str, tuple[Floats, Floats]]  # by input, the square roots of them and of what they lack to 1
    shocks: Floats  # (terms, count), standard normal

    def triangular(self, name: str, low: float, mode: float, high: float) -> Floats:
        """The input's points as a triangular distribution."""
        if high <= low:
            return np.full(self.count, mode)
        (up, down), width = self.roots[name], high - low
        rising = low + up * math.sqrt(width * (mode - low))
        falling = high - down * math.sqrt(width * (high - mode))
        made: Floats = np.where(self.inputs[name] < (mode - low) / width, rising, falling)
        return made


@lru_cache(maxsize=4)
def draws_of(count: int) -> Draws:
    """The table of this many points."""
    unit = np.array([_strata(count, prime) for prime in _PRIMES])
    normal = NormalDist()
    shocks = np.array([[normal.inv_cdf(one) for one in row] for row in unit[:_TERMS].tolist()])
    inputs = dict(zip(INPUTS, unit[_TERMS:], strict=True))
    own = np.array([normal.inv_cdf(one) for one in inputs["resale"].tolist()])
    end = shocks.T @ _terms(np.ones(1))[:, 0]
    end = end / end.std()
    resale = RESALE_CORRELATION * end + math.sqrt(1 - RESALE_CORRELATION**2) * own
    inputs["resale"] = (np.argsort(np.argsort(resale)) + 0.5) / count
    return Draws(count=count, inputs=inputs, roots=roots_of(inputs), shocks=shocks)


def roots_of(inputs: dict[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
    """What a triangular distribution needs of each input."""
    return {name: (np.sqrt(unit), np.sqrt(1 - unit)) for name, unit in inputs.items()}


def _strata(count: int, prime: int) -> Floats:
    points = np.arange(1, count + 1) * math.sqrt(prime) % 1.0
    made: Floats = (np.argsort(np.argsort(points)) + 0.5) / count
    return made


def _terms(parts: Floats) -> Floats:
    """The series at these parts of the whole time, for a motion of variance 1 at its end."""
    halves = (np.arange(_TERMS) + 0.5) * math.pi
    made: Floats = math.sqrt(2) * np.sin(halves[:, None] * parts[None, :]) / halves[:, None]
    return made


@dataclass(frozen=True, eq=False)
class PricePaths:
    """Factors on today's cloud price by month of use, log-normal without drift."""

    factors: Floats  # (draws, months)
    summed: Floats  # the same, added up to each month


def price_paths(draws: Draws, *, months: int, lead_months: int, volatility: float) -> PricePaths:
    """The paths of the months of use, which begin when the hardware has come.

    Args:
        volatility: of the price's logarithm over a year.
    """
    if draws.count > PLAN_DRAWS:  # too large to be kept for every life that a request may name
        return _paths(draws, months, lead_months, volatility)
    return _kept_paths(draws, months, lead_months, volatility)


@lru_cache(maxsize=8)
def _kept_paths(draws: Draws, months: int, lead_months: int, volatility: float) -> PricePaths:
    return _paths(draws, months, lead_months, volatility)


def _paths(draws: Draws, months: int, lead_months: int, volatility: float) -> PricePaths:
    whole = months + lead_months
    at = np.arange(lead_months + 1, whole + 1) / whole
    scale = volatility * math.sqrt(whole / MONTHS_PER_YEAR)
    factors = np.exp(scale * (draws.shocks.T @ _terms(at)))
    return PricePaths(factors=factors, summed=np.cumsum(factors, axis=1))


def quantiles(values: Floats, shares: tuple[float, float, float] = (0.1, 0.5, 0.9)) -> tuple[float, float, float]:
    """The order statistics at these shares: exact, and fit for infinities."""
    low, middle, high = (max(0, math.ceil(share * len(values)) - 1) for share in shares)
    sorted_there = np.partition(values, (low, middle, high))
    return float(sorted_there[low]), float(sorted_there[middle]), float(sorted_there[high])
