"""Conversion factors; the only place where one stands.

GiB is 2**30 bytes, GB is 10**9. A month is 730 hours.
"""

from decimal import Decimal

GIB = 2**30
GB = 10**9
MIB = 2**20
HOURS_PER_MONTH = 730
HOURS_PER_YEAR = 8760
HOURS_PER_DAY = 24
SECONDS_PER_HOUR = 3600
MONTHS_PER_YEAR = 12
MICRO_USD = 10**6


def gib_from_bytes(size_bytes: float) -> float:
    """Bytes to GiB (2**30)."""
    return size_bytes / GIB


def gib_from_mib(size_mib: float) -> float:
    """MiB (2**20) to GiB."""
    return size_mib / 1024


def gb_from_mib(size_mib: float) -> float:
    """MiB (2**20 bytes) to decimal GB."""
    return size_mib * MIB / GB


def gib_from_gb(size_gb: float) -> float:
    """Decimal GB to GiB."""
    return size_gb * GB / GIB


def gb_from_gib(size_gib: float) -> float:
    """GiB to decimal GB."""
    return size_gib * GIB / GB


def usd_from_cents(cents: int | Decimal) -> Decimal:
    """US cents to dollars, exact."""
    return Decimal(cents) / 100


def usd_per_hour_from_month(usd_per_month: Decimal) -> Decimal:
    """Dollars per month of 730 h to dollars per hour, exact to the context's precision."""
    return usd_per_month / HOURS_PER_MONTH


def micro_usd(usd: Decimal) -> int:
    """Dollars to whole micro-dollars, half to even: what storage holds."""
    return int((usd * MICRO_USD).to_integral_value())


def usd_from_micro(micro: int) -> Decimal:
    """Whole micro-dollars to dollars, exact."""
    return Decimal(micro) / MICRO_USD


def meets_memory_gb(memory_gib: float | None, *, at_least_gb: float | None = None, at_most_gb: float | None = None) -> bool:
    """Whether a machine's RAM is within what a user asks in "GB". Unknown RAM meets no bound.

    Hosts report "16 GB" as 16000 MB or as 16384 MB, and users mean either. The wider reading counts on both sides: a GB
    is 1000 of the host's MB (1/1024 GiB each) as a lower bound and 1024 as an upper one.
    """
    if memory_gib is None:
        return at_least_gb is None and at_most_gb is None
    reported_mb = memory_gib * 1024
    return (at_least_gb is None or reported_mb >= at_least_gb * 1000) and (at_most_gb is None or reported_mb <= at_most_gb * 1024)
