"""What one row of Vast's answer offers: the machine on demand, from the least accepted bid, and prepaid.

Prepaid ("reserved"): a host lets a renter pay in advance for a discount, up to the row's credit_discount_max. The vendor
publishes no discount by term, so the most is taken for the whole time that the host promises to stay: an estimate.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from math import floor
from typing import Final

from providers.gpus import find_gpu
from providers.interconnect import interconnect_of
from providers.offer import Arch, CapacityType, Offer, PriceBasis, Tenancy
from providers.prices import plain_decimal, price
from providers.units import HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_HOUR
from providers.vast.row import Row

NAME: Final = "vast"
SOURCE: Final = "Vast.ai API, POST /api/v0/bundles/"
MOST_DISCOUNT: Final = Decimal("0.5")  # "up to 50 %" in the vendor's documentation, read 2026-09
RELIABILITY_STEP: Final = 0.01  # the host's score moves a little at every reading
_HOURS_PER_VENDOR_MONTH: Final = 720
_ARCHITECTURES: Final = {"amd64": Arch.X86_64, "arm64": Arch.ARM64}


def offers_of(row: Row, observed_at: datetime) -> Iterator[Offer]:
    """On demand; spot where the bid is below that; reserved where a discount is given and the host stays a month.

    Raises:
        Refused: the price is none.
        UnknownGpu: the name is no card of the table.
    """
    on_demand = _on_demand(row, observed_at)
    yield on_demand
    bid = price(row.min_bid) if row.min_bid else None  # 0 is a placeholder for "no bids here"
    if bid is not None and bid < on_demand.usd_per_hour:
        yield replace(on_demand, capacity_type=CapacityType.SPOT, price_basis=PriceBasis.BID_FLOOR, usd_per_hour=bid)
    months = int((on_demand.host_lifetime_hours or 0) // HOURS_PER_MONTH)  # whole ones: the offer keeps its id for a while
    discount = _discount(row)
    if discount is not None and months >= 1:
        yield replace(
            on_demand,
            capacity_type=CapacityType.RESERVED,
            price_basis=PriceBasis.ESTIMATE,
            usd_per_hour=on_demand.usd_per_hour * (1 - discount),
            term_months=float(months),
            upfront_usd=Decimal(0),  # paid in advance, but it is the hours that cost
            notes=(f"estimate: the most that prepaying saves with this host, {discount:.0%}, for its whole promised time",),
        )


def _discount(row: Row) -> Decimal | None:
    """The most that prepaying saves; None for none, and for a figure over what the vendor documents."""
    share = plain_decimal(row.credit_discount_max)
    return share if share is not None and share.is_finite() and 0 < share <= MOST_DISCOUNT else None


def _on_demand(row: Row, observed_at: datetime) -> Offer:
    match = find_gpu(row.gpu_name, memory_mib=row.gpu_ram)
    return Offer(
        feed=NAME,
        provider=NAME,
        tier=row.tier,
        instance_type=None,
        gpu=match.gpu.name,
        gpu_count=row.num_gpus,
        gpu_memory_gb=match.gpu.memory_gb,
        gpu_memory_reported_mib=row.gpu_ram,
        gpu_raw_name=row.gpu_name,
        form_factor=match.form_factor,
        interconnect=interconnect_of(match, measured_gb_per_s=row.bw_nvlink or 0),
        capacity_type=CapacityType.ON_DEMAND,
        tenancy=Tenancy.PROVIDER_DATACENTER if row.tier == "datacenter" else Tenancy.COMMUNITY_HOST,
        region=row.place,
        country=row.country,
        machine_id=str(row.machine_id),
        availability=row.availability,
        usd_per_hour=price(row.dph_base),
        storage_usd_per_gb_month=_usd_per_gb_month(row.storage_cost),
        egress_usd_per_gb=_usd(row.inet_up_cost),
        ingress_usd_per_gb=_usd(row.inet_down_cost),
        arch=_ARCHITECTURES.get(row.cpu_arch or "", Arch.UNKNOWN),
        vcpus=row.cpu_cores_effective or None,
        memory_gib=row.memory_gib,
        disk_included_gb=0,
        disk_max_gb=row.disk_space,
        reliability_fraction=_whole(row.reliability2, RELIABILITY_STEP),
        host_lifetime_hours=_lifetime_hours(row.duration),
        observed_at=observed_at,
        source=SOURCE,
    )


def _lifetime_hours(seconds: float | None) -> float | None:
    """How long the host still promises to stay, in whole days (whole hours in the last two), never more than it said.

    It runs down by the second: kept exactly, every refresh would be a change and the history would grow with refreshes.
    """
    if seconds is None:
        return None
    hours = seconds / SECONDS_PER_HOUR
    return _whole(hours, HOURS_PER_DAY if hours >= 2 * HOURS_PER_DAY else 1)


def _whole(value: float | None, step: float) -> float | None:
    """The value cut down to a whole number of steps."""
    return None if value is None else round(floor(value / step + 1e-9) * step, 6)


def _usd_per_gb_month(storage_cost: float | None) -> Decimal | None:
    """Price of a GB for our month of 730 h, from the vendor's for 720 h."""
    return None if storage_cost is None else Decimal(repr(storage_cost)) * HOURS_PER_MONTH / _HOURS_PER_VENDOR_MONTH


def _usd(amount: float | None) -> Decimal | None:
    return None if amount is None else Decimal(repr(amount))
