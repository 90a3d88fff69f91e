"""RunPod's REST v2 catalogue (with a key): stock by width and data centre, prices per GPU, no spot market.

Source: the provider's OpenAPI of API v2, generally available 2026-08-18, read 2026-09.
Where a row does not tell how wide a pod may be (`maxCount`), every width asked for is taken for listed: in stock where the
answer says so, else unavailable. Where a card in stock does not tell its data centres, it is offered without a place and
counted as a row that is not whole.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, Field, FiniteFloat, StrictBool, StrictInt, ValidationError

from providers.base import Json, collect
from providers.errors import ProviderPayloadInvalid
from providers.http import get_json
from providers.offer import MALFORMED, Availability, Batch, Offer, Rejected
from providers.runpod.data_centers import compliance_of
from providers.runpod.market import CLOUDS, NAME, WIDTHS, Cloud, Listing, Stock, availability_of, offers_of

SOURCE = "RunPod REST v2, GET /v2/catalog/gpus"


class _Place(BaseModel):
    id: str
    availability: str | None = None


class _PerCloud(BaseModel):
    secure: Any = None
    community: Any = None


class _Widths(BaseModel):
    secure: StrictInt | None = None
    community: StrictInt | None = None


class _Gpu(BaseModel):
    id: str
    memory: Annotated[FiniteFloat, Field(ge=0)]
    secure: StrictBool | None = None
    community: StrictBool | None = None
    price: _PerCloud = _PerCloud()
    maxCount: _Widths = _Widths()
    availability: str | None = None
    dataCenters: list[_Place] | None = None


class _Answer(BaseModel):
    cloud: Cloud
    count: Annotated[StrictInt, Field(ge=1)]
    gpus: list[Any]


class _Payload(BaseModel):
    dataCenters: list[Any]
    answers: Annotated[list[_Answer], Field(min_length=1)]


def fetch_rest(http: httpx.Client, *, base_url: str, key: str) -> Json:
    """The data centres, and the catalogue once for each cloud and width: nine calls."""
    auth = {"Authorization": f"Bearer {key}"}
    centers = get_json(http, NAME, f"{base_url}/v2/catalog/datacenters", headers=auth, params={"include": "GPU_AVAILABILITY"})
    answers = [
        {"cloud": cloud, "count": width, "gpus": _list_in(_gpus(http, base_url, auth, cloud=cloud, width=width), "gpus")}
        for cloud in CLOUDS
        for width in WIDTHS
    ]
    return {"api": "rest", "dataCenters": _list_in(centers, "dataCenters"), "answers": answers}


def _gpus(http: httpx.Client, base_url: str, auth: dict[str, str], *, cloud: Cloud, width: int) -> Json:
    params = {"include": "AVAILABILITY", "product": "POD", "count": str(width), "cloud": cloud.upper()}
    return get_json(http, NAME, f"{base_url}/v2/catalog/gpus", headers=auth, params=params)


def _list_in(answer: Json, key: str) -> list[Json]:
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise ProviderPayloadInvalid(NAME, f"the answer holds no list of {key}")
    return found


def parse_rest(payload: Json, observed_at: datetime) -> Batch:
    """Offers of every card in every cloud; the rows of one card at all widths are taken together."""
    try:
        catalogue = _Payload.model_validate(payload)
    except ValidationError as error:
        raise ProviderPayloadInvalid(NAME, "the answers are not a REST v2 catalogue") from error
    attestations = compliance_of(catalogue.dataCenters)
    rows: dict[tuple[Cloud, str], list[tuple[int, Json]]] = {}
    for answer in catalogue.answers:
        for index, row in enumerate(answer.gpus):
            name = row.get("id") if isinstance(row, dict) else None
            key = name if isinstance(name, str) else f"row {index} at width {answer.count}"
            rows.setdefault((answer.cloud, key), []).append((answer.count, row))
    if not rows:
        raise ProviderPayloadInvalid(NAME, "the catalogue is empty")

    def offers(raw: tuple[Cloud, list[tuple[int, Json]]]) -> Iterator[Offer]:
        return offers_of(_listing(*raw), attestations=attestations, observed_at=observed_at, source=SOURCE)

    placeless = [
        Rejected(reason=MALFORMED, row=f"{cloud} {key}", detail="dataCenters: absent, so where it is in stock is not known")
        for (cloud, key), widths in rows.items()
        if cloud == "secure" and any(_hides_its_places(row) for _, row in widths)
    ]
    named = ((f"{cloud} {key}", (cloud, widths)) for (cloud, key), widths in rows.items())
    return collect(named, offers, rejected=placeless)


def _hides_its_places(row: Json) -> bool:
    word = row.get("availability") if isinstance(row, dict) else None
    is_had = isinstance(word, str) and availability_of(word) is not Availability.UNAVAILABLE
    return is_had and row.get("dataCenters") is None


def _listing(cloud: Cloud, widths: list[tuple[int, Json]]) -> Listing:
    gpus = [(width, _Gpu.model_validate(row)) for width, row in widths]
    first = gpus[0][1]
    return Listing(
        cloud=cloud,
        gpu_id=first.id,
        memory_gb=first.memory,
        is_sold=getattr(first, cloud),
        usd_per_gpu_hour=getattr(first.price, cloud),
        max_count=WIDTHS[-1] if (widest := getattr(first.maxCount, cloud)) is None else widest,
        min_count=1,
        stock=[stock for width, gpu in gpus for stock in _stock(cloud, width, gpu)],
    )


def _stock(cloud: Cloud, width: int, gpu: _Gpu) -> list[Stock]:
    """By data centre where the answer tells them; community hosts have none."""
    whole = availability_of(gpu.availability)
    places = (gpu.dataCenters or []) if cloud == "secure" and whole is not Availability.UNAVAILABLE else []
    return [Stock(count=width, availability=availability_of(place.availability), data_center=place.id) for place in places] or [
        Stock(count=width, availability=whole)
    ]
