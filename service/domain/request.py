"""PlanRequest: the workload with how often it runs, what must hold, the hardware at hand and how to answer."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from providers.market_tiers import MarketTier
from providers.offer import CapacityType
from service.domain.base import CountryCode, Fraction, Name, PositiveFraction, PositiveUsd, Request, Slug, Usd
from service.domain.weighing import Scenario
from service.domain.workload import Workload


class DataSensitivity(StrEnum):
    """Class of the data, from free to bound: a stricter class never adds an option."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"
    LOCAL_ONLY = "local_only"


class Regime(StrEnum):
    HIPAA = "hipaa"
    PCI = "pci"
    GDPR = "gdpr"
    FEDRAMP = "fedramp"
    EXPORT_CONTROLLED = "export_controlled"


class Isolation(StrEnum):
    """What separates tenants, from weak to strong."""

    CONTAINER = "container"
    VM = "vm"
    SINGLE_TENANT = "single_tenant"
    CONFIDENTIAL_VM = "confidential_vm"


class MinAvailability(StrEnum):
    ANY = "any"
    NOT_SOLD_OUT = "not_sold_out"
    AVAILABLE = "available"


class QuotaUnit(StrEnum):
    """What a provider counts an account's machines in."""

    GPUS = "gpus"
    VCPUS = "vcpus"
    INSTANCES = "instances"


class PoolMode(StrEnum):
    """`owned`: the capital is sunk, marginal cost counts. `buy`: capital counts."""

    OWNED = "owned"
    BUY = "buy"


class Usage(Request):
    """How much of the work there is: exactly one of runs, runs_per_month, hours_per_month, utilization, measured_pool.

    Hours and utilization refer to one named card (`reference_gpu`, or the pool's card) and are turned into work once.
    """

    runs: Annotated[float, Field(gt=0, le=1e9)] | None = None
    runs_per_month: Annotated[float, Field(gt=0, le=1e9)] | None = None
    hours_per_month: Annotated[float, Field(gt=0, le=730)] | None = None
    utilization: PositiveFraction | None = None
    measured_pool: Slug | None = None
    horizon_months: Annotated[int, Field(ge=1, le=120)] = 36
    reference_gpu: Name | None = None
    delay_usd_per_hour: Usd | None = Field(default=None, description="what an hour of waiting for a result is worth")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        ways = ("runs", "runs_per_month", "hours_per_month", "utilization", "measured_pool")
        if sum(getattr(self, way) is not None for way in ways) != 1:
            raise ValueError(f"give exactly one of {', '.join(ways)}")
        return self


class Quota(Request):
    """How much of a provider an account may hold at once: in one region, or without `region` of the whole provider.

    A machine whose vCPUs are not known is not known to be within a limit of vCPUs. A limit of a region holds for the
    machines listed there; a machine that no region is named of is held only to limits without a region.
    """

    provider: Name
    region: Name | None = None
    unit: QuotaUnit
    limit: Annotated[int, Field(ge=0, le=10**9)]


class Constraints(Request):
    """What every option must meet: yes or no with a reason, never a score."""

    data_sensitivity: DataSensitivity | None = None
    regimes: tuple[Regime, ...] = ()
    residency: tuple[Name, ...] = Field(
        default=(),
        max_length=50,
        description="country codes, EU (27 members), EEA, EUROPE, or region names; any of them satisfies",
    )
    min_isolation: Isolation | None = None
    capacity_types: tuple[CapacityType, ...] = Field(default=(CapacityType.ON_DEMAND, CapacityType.SPOT), min_length=1)
    providers: tuple[Name, ...] | None = Field(default=None, max_length=50)
    exclude_providers: tuple[Name, ...] = Field(default=(), max_length=50)
    market_tiers: tuple[MarketTier, ...] | None = Field(
        default=None, min_length=1, max_length=3, description="only these of the markets hobbyist, engineer, enterprise"
    )
    min_reliability_fraction: Fraction | None = Field(
        default=None, description="of a marketplace host, by the marketplace's own measure; other machines have none"
    )
    gpus: tuple[Name, ...] | None = Field(
        default=None, max_length=50, description="a family (A100, A100 80GB) takes all its variants"
    )
    arch: Literal["x86_64", "arm64"] | None = None
    min_availability: MinAvailability = MinAvailability.ANY
    min_gpu_count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    max_gpu_count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    deadline_hours: Annotated[float, Field(gt=0, le=1e6)] | None = None
    max_usd_per_hour: PositiveUsd | None = Field(default=None, description="of the whole option, all its GPUs and machines")
    max_usd_per_gpu_hour: PositiveUsd | None = None
    max_usd_total: PositiveUsd | None = None
    max_price_age_hours: Annotated[float, Field(gt=0, le=1e6)] | None = None
    accept: tuple[Slug, ...] = Field(default=(), max_length=50)
    quotas: tuple[Quota, ...] = Field(
        default=(),
        max_length=200,
        description="what the account may hold at once; every limit that names a machine's place holds",
    )


class OnPremPool(Request):
    """Own hardware. Absent figures take a dated default, listed as an assumption of the answer.

    Give `capex_usd_per_node` (with mode `owned` or `buy`) or a flat price with its unit.
    """

    name: Slug = "on-prem"
    gpu: Name
    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] = 8
    nodes: Annotated[int, Field(ge=1, le=100_000)] = 1
    mode: PoolMode = PoolMode.BUY
    country: CountryCode | None = None
    usd_per_gpu_hour: PositiveUsd | None = None
    usd_per_gpu_month: PositiveUsd | None = None
    capex_usd_per_node: PositiveUsd | None = None
    residual_fraction: Fraction | None = None
    life_years: Annotated[float, Field(gt=0, le=30)] | None = None
    discount_rate_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    network_fraction: Annotated[float, Field(ge=0, le=5)] | None = None
    spares_fraction: Annotated[float, Field(ge=0, le=5)] | None = None
    maintenance_fraction_per_year: Annotated[float, Field(ge=0, le=5)] | None = None
    staff_usd_per_node_year: Usd | None = None
    software_usd_per_gpu_year: Usd | None = None
    colocation_usd_per_kw_month: Usd | None = None
    electricity_usd_per_kwh: Annotated[float, Field(ge=0, le=100)] | None = None
    pue: Annotated[float, Field(ge=1, le=10)] | None = None
    load_watts: Annotated[float, Field(gt=0, le=1e6)] | None = Field(default=None, description="of one node, busy")
    idle_watts: Annotated[float, Field(ge=0, le=1e6)] | None = Field(default=None, description="of one node, idle")
    availability_fraction: PositiveFraction | None = None
    lead_time_months: Annotated[float, Field(ge=0, le=60)] | None = None
    busy_fraction: Fraction | None = Field(default=None, description="of the pool, already used by other work")

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        prices = [
            name for name in ("usd_per_gpu_hour", "usd_per_gpu_month", "capex_usd_per_node") if getattr(self, name) is not None
        ]
        if len(prices) > 1:
            raise ValueError(f"one price only: give one of {', '.join(prices)}")
        if not prices and self.mode is PoolMode.BUY and "capex_usd_per_node" in self.model_fields_set:
            raise ValueError("capex_usd_per_node must not be null")
        return self


class SaveSpec(Request):
    name: Name
    owner: Name
    note: Annotated[str, Field(max_length=4000)] = ""


class PlanRequest(Request):
    """The body of `POST /plan`."""

    workload: Workload
    usage: Usage = Usage(runs=1)
    constraints: Constraints = Constraints()
    on_prem: tuple[OnPremPool | Slug, ...] = Field(
        default=(),
        max_length=20,
        description='pools inline or by stored name; "default" is a dated default box for the fitting GPUs',
    )
    scenarios: tuple[Scenario, ...] = Field(
        default=(), max_length=5, description="named futures for the decision, beside a flat, a falling and a rising cloud price"
    )
    objective: Literal["cost"] = "cost"
    limit: Annotated[int, Field(ge=1, le=200)] = 20
    as_of: AwareDatetime | None = None
    evaluated_at: AwareDatetime | None = None
    save: SaveSpec | None = None
    fields: tuple[Name, ...] | None = Field(
        default=None, max_length=50, description="top-level fields of the answer to send; absent: all"
    )
