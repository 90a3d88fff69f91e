"""What RunPod's GraphQL answers mean: a listing for each card and cloud with the stock that the probes found."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, StrictBool, StrictInt, ValidationError

from providers.base import Json, collect
from providers.errors import ProviderPayloadInvalid
from providers.offer import Availability, Batch, Offer
from providers.runpod.data_centers import compliance_of
from providers.runpod.market import CLOUDS, NAME, Cloud, Listing, Stock, availability_of, offers_of
from providers.runpod.products import PLANS, cluster_offer, plan_offers

SOURCE = "RunPod GraphQL, gpuTypes"


class _GpuType(BaseModel):
    id: str
    memoryInGb: Annotated[FiniteFloat, Field(ge=0)]
    secureCloud: StrictBool | None = None
    communityCloud: StrictBool | None = None
    securePrice: Any = None
    communityPrice: Any = None
    maxGpuCount: StrictInt | None = None
    maxGpuCountSecureCloud: StrictInt | None = None
    maxGpuCountCommunityCloud: StrictInt | None = None
    minPodGpuCount: StrictInt | None = None
    oneMonthPrice: Any = None
    threeMonthPrice: Any = None
    sixMonthPrice: Any = None
    clusterPrice: Any = None


class _LowestPrice(BaseModel):
    minimumBidPrice: Any = None
    uninterruptablePrice: Any = None
    stockStatus: str | None = None


class _Probe(BaseModel):
    cloud: Cloud
    place: str
    count: Annotated[StrictInt, Field(ge=1)]
    gpuTypes: list[Any]


class _Payload(BaseModel):
    gpuTypes: Annotated[list[Any], Field(min_length=1)]
    dataCenters: list[Any]
    probes: list[_Probe]


def parse_graphql(payload: Json, observed_at: datetime) -> Batch:
    """Offers of every card in both clouds. A probe that tells of fewer types than the catalogue marks it truncated."""
    try:
        catalogue = _Payload.model_validate(payload)
    except ValidationError as error:
        raise ProviderPayloadInvalid(NAME, "the answers are not a GraphQL catalogue") from error
    attestations = compliance_of(catalogue.dataCenters)
    stock = _stock_by_card(catalogue.probes)
    numbered = [(_name(row, index), row) for index, row in enumerate(catalogue.gpuTypes)]
    rows = [(f"{cloud} {name}", (cloud, "", row)) for cloud in CLOUDS for name, row in numbered]
    other = [
        (f"{field} {name}", ("secure", field, row))
        for field in (*PLANS, "clusterPrice")
        for name, row in numbered
        if _has(row, field)
    ]

    def offers(raw: tuple[Cloud, str, Json]) -> Iterator[Offer]:
        cloud, field, row = raw
        listing = _listing(cloud, row, stock)
        if not field:
            return offers_of(listing, attestations=attestations, observed_at=observed_at, source=SOURCE)
        usd = getattr(_GpuType.model_validate(row), field)
        if field not in PLANS:
            return cluster_offer(listing, usd_per_gpu_hour=usd, observed_at=observed_at, source=SOURCE)
        return plan_offers(
            listing, usd_per_gpu_hour=usd, months=PLANS[field], attestations=attestations, observed_at=observed_at, source=SOURCE
        )

    return collect(
        [*rows, *other],
        offers,
        truncated=any(len(probe.gpuTypes) != len(catalogue.gpuTypes) for probe in catalogue.probes),
    )


def _has(row: Json, field: str) -> bool:
    """A readable card that is sold this way, too; an unreadable one is counted once, as what it is."""
    try:
        return bool(getattr(_GpuType.model_validate(row), field))
    except ValidationError:
        return False


def _name(row: Json, index: int) -> str:
    name = row.get("id") if isinstance(row, dict) else None
    return name if isinstance(name, str) else f"row {index}"


def _stock_by_card(probes: Sequence[_Probe]) -> dict[tuple[Cloud, str], list[tuple[_Probe, Json]]]:
    found: dict[tuple[Cloud, str], list[tuple[_Probe, Json]]] = {}
    for probe in probes:
        for row in probe.gpuTypes:
            if isinstance(row, dict) and isinstance(row.get("id"), str):
                found.setdefault((probe.cloud, row["id"]), []).append((probe, row.get("lowestPrice")))
    return found


def _listing(cloud: Cloud, raw: Json, stock: dict[tuple[Cloud, str], list[tuple[_Probe, Json]]]) -> Listing:
    row = _GpuType.model_validate(raw)
    is_secure = cloud == "secure"
    widest = row.maxGpuCountSecureCloud if is_secure else row.maxGpuCountCommunityCloud
    return Listing(
        cloud=cloud,
        gpu_id=row.id,
        memory_gb=row.memoryInGb,
        is_sold=row.secureCloud if is_secure else row.communityCloud,
        usd_per_gpu_hour=row.securePrice if is_secure else row.communityPrice,
        max_count=(row.maxGpuCount if widest is None else widest) or 0,
        min_count=row.minPodGpuCount or 1,
        stock=[_stock(probe, answer) for probe, answer in stock.get((cloud, row.id), [])],
    )


def _stock(probe: _Probe, answer: Json) -> Stock:
    """No stock word, or no price, is "not available at this width", not an error; either may be null alone."""
    lowest = _LowestPrice() if answer is None else _LowestPrice.model_validate(answer)
    is_had = lowest.stockStatus is not None and lowest.uninterruptablePrice is not None
    is_secure = probe.cloud == "secure"
    return Stock(
        count=probe.count,
        availability=availability_of(lowest.stockStatus) if is_had else Availability.UNAVAILABLE,
        data_center=probe.place if is_secure else None,
        country=None if is_secure else probe.place,
        bid=lowest.minimumBidPrice,
        quote=lowest.uninterruptablePrice,
    )
