"""Offer, what a market sells: one rentable configuration at one place under one purchase kind; and its enums."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256


class CapacityType(StrEnum):
    """How capacity is bought."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"  # may be taken away; includes marketplace bids
    RESERVED = "reserved"  # capacity blocks and commitments: with a term, an upfront fee, or both
    SERVERLESS = "serverless"  # billed by request time: never an hourly machine
    FREE_TIER = "free_tier"  # costs nothing, within limits: the only kind whose price is 0


class Tenancy(StrEnum):
    """Who runs the machine."""

    COMMUNITY_HOST = "community_host"
    PROVIDER_DATACENTER = "provider_datacenter"
    HYPERSCALER = "hyperscaler"
    ON_PREM = "on_prem"


class Availability(StrEnum):
    """What the provider says of its stock. Unknown is never available."""

    AVAILABLE = "available"
    LIMITED = "limited"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


class PriceBasis(StrEnum):
    """What the price is."""

    LIST = "list"
    SPOT = "spot"  # the market's price at observed_at
    BID_FLOOR = "bid_floor"  # the least accepted bid: the real cost is the user's bid
    NEGOTIATED = "negotiated"  # from the user's own price file: hidden in shared answers
    ESTIMATE = "estimate"


class Interconnect(StrEnum):
    """The link between the GPUs of one machine."""

    NVLINK = "nvlink"  # all to all, and AMD's Infinity Fabric
    NVLINK_BRIDGE = "nvlink_bridge"  # pairs
    NONE = "none"  # PCIe only
    UNKNOWN = "unknown"


class Fabric(StrEnum):
    """The network between machines of one cluster."""

    INFINIBAND = "infiniband"
    EFA = "efa"
    ETHERNET = "ethernet"
    UNKNOWN = "unknown"


class Arch(StrEnum):
    """CPU architecture of the machine: x86 images do not start on arm64."""

    X86_64 = "x86_64"
    ARM64 = "arm64"
    UNKNOWN = "unknown"


UNKNOWN_FORM_FACTOR = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One rentable configuration at one place under one purchase kind.

    `usd_per_hour` is for the whole machine with all its GPUs and is above 0; an unknown price is no offer. Exactly
    FREE_TIER costs 0: it is returned only where it is asked for by name.
    `gpu` is a name of gpus.csv. `gpu_count` below 1 is a fraction of one card (0.125 of an L4);
    `gpu_memory_gb` is then the memory of that fraction. `feed` is the adapter that read the row; `provider`
    is the market that sells it (they differ for the reference list and for price files).
    """

    # identity
    feed: str
    provider: str
    tier: str  # the provider's own word: "on-demand", "secure", "community", "verified", ...
    instance_type: str | None
    gpu: str
    gpu_count: float
    capacity_type: CapacityType
    tenancy: Tenancy
    region: str | None = None
    zone: str | None = None
    country: str | None = None  # ISO 3166 alpha-2; None is unknown and satisfies no residency
    machine_id: str | None = None  # one host of a marketplace: machines of different hosts never make a cluster
    term_months: float | None = None  # reserved: length of the commitment

    # money
    usd_per_hour: Decimal
    price_basis: PriceBasis = PriceBasis.LIST
    upfront_usd: Decimal | None = None  # in addition to usd_per_hour
    storage_usd_per_gb_month: Decimal | None = None
    egress_usd_per_gb: Decimal | None = None
    ingress_usd_per_gb: Decimal | None = None
    billing_increment_seconds: int | None = None

    # what one gets
    gpu_memory_gb: float  # nominal, of one GPU (or of the fraction)
    gpu_memory_reported_mib: float | None = None  # as the provider wrote it
    gpu_raw_name: str = ""  # as the provider wrote it
    form_factor: str = UNKNOWN_FORM_FACTOR  # unknown: the market name fits several; `gpu` is then the slowest of them
    interconnect: Interconnect = Interconnect.UNKNOWN
    fabric: Fabric = Fabric.UNKNOWN
    arch: Arch = Arch.UNKNOWN
    vcpus: float | None = None
    memory_gib: float | None = None
    min_machines: int = 1  # sold only so many at once, as a cluster: fewer cannot be had at this price
    disk_included_gb: float | None = None  # in the price
    disk_max_gb: float | None = None  # at most this much can be had, at storage_usd_per_gb_month

    # can it be had, and will it last
    availability: Availability = Availability.UNKNOWN
    reliability_fraction: float | None = None
    host_lifetime_hours: float | None = None  # how long the host promises to stay
    session_limit_hours: float | None = None  # a session is ended after so long, whatever runs in it; None: no such limit
    weekly_quota_hours: float | None = None  # hours of sessions in a week and account; None: no quota is known
    interruption_fraction_per_month: tuple[float, float] | None = None  # (low, high) share of machines stopped in a month
    interruption_source: str | None = None
    attestations: frozenset[str] = frozenset()  # what the provider lists for this very data centre, in the names of evidence.toml

    # evidence
    observed_at: datetime  # aware UTC: when we read it
    as_of: date | None = None  # dated tables: the day the price was true; None with is_dated = undated
    is_dated: bool = False  # from a table (reference, price file, manual), not read live
    valid_until: date | None = None
    source: str = ""  # where the number stands: an endpoint, a document
    scope: str = ""  # failure domain inside the feed (an AWS region); "" is the whole feed
    notes: tuple[str, ...] = ()

    @property
    def offer_id(self) -> str:
        """Stable for the same thing sold at the same place, whatever its price: 16 hex digits."""
        identity = (
            self.feed,
            self.provider,
            self.tier,
            self.instance_type or "",
            self.gpu,
            f"{self.gpu_count:g}",
            self.form_factor,
            f"{self.gpu_memory_gb:g}",
            self.capacity_type.value,
            self.tenancy.value,
            self.region or "",
            self.zone or "",
            self.country or "",
            self.machine_id or "",
            "" if self.term_months is None else f"{self.term_months:g}",
        )
        return sha256("\x1f".join(identity).encode()).hexdigest()[:16]

    @property
    def usd_per_gpu_hour(self) -> Decimal:
        """Price of one whole GPU for an hour: comparable between counts and fractions."""
        return self.usd_per_hour / Decimal(repr(self.gpu_count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A provider row that became no offer: counted and shown, never dropped in silence.

    `reason` is one of the constants below. `row` names the row in the provider's words (an id or a line number).
    """

    reason: str
    row: str
    detail: str = ""


UNKNOWN_GPU = "unknown_gpu"  # counted apart: a new card does not stop a catalogue
NO_GPU = "no_gpu"  # a CPU-only row: not malformed
MALFORMED = "malformed"
NO_PRICE = "no_price"  # null, 0, negative or not finite
DUPLICATE = "duplicate"
NOT_ON_DEMAND = "not_on_demand"  # a capacity block or reservation that looks like an on-demand row
MISSING_PART = "missing_part"  # a price put together from parts of which one is unknown
OUT_OF_SCOPE = "out_of_scope"  # Windows, dedicated hosts, expired rows and the like
EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one fetch came to.

    `failed_scopes` maps a failure domain (an AWS region) that could not be read to its error code: its last
    good prices stay. `truncated` says that the provider gave less than it has. `history` holds older prices of the
    same offers (dated tables only): never current, never counted.
    """

    offers: tuple[Offer, ...]
    rejected: tuple[Rejected, ...] = ()
    failed_scopes: Mapping[str, str] = field(default_factory=dict)
    truncated: bool = False
    notes: tuple[str, ...] = ()
    history: tuple[Offer, ...] = ()
    row_count: int | None = None  # rows read, where one row may give several offers; None: not counted
