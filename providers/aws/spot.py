"""EC2 spot prices: the one in force in each zone, for plain Linux.

DescribeSpotPriceHistory with StartTime = now gives the records in force, in no order to rely on, several for one
machine and zone. A price is published where there is no capacity, too.
Source: EC2 API model of botocore 1.44.8, read 2026-10.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from providers.aws.calls import pages
from providers.base import Json
from providers.offer import DUPLICATE, MALFORMED, OUT_OF_SCOPE, Rejected

LINUX = "Linux/UNIX"
LINUX_PRODUCTS = (LINUX, "Linux/UNIX (Amazon VPC)")  # the second in accounts older than VPC: the same thing today
TYPES_PER_CALL = 100


class SpotRecord(BaseModel):
    """One price of one machine in one zone, from `since` on. `usd` is the text as it came."""

    instance_type: str = Field(alias="InstanceType", min_length=1)
    zone: str = Field(alias="AvailabilityZone", min_length=1)
    zone_id: str | None = Field(alias="AvailabilityZoneId", default=None)
    product: str = Field(alias="ProductDescription")
    usd: str = Field(alias="SpotPrice")
    since: AwareDatetime = Field(alias="Timestamp")


def fetch_spot_history(ec2: Any, instance_types: Sequence[str], now: datetime) -> list[Json]:
    """All records in force at `now`, times as ISO text so that the payload can be stored."""
    rows: list[Json] = []
    for start in range(0, len(instance_types), TYPES_PER_CALL):
        found = pages(
            ec2.describe_spot_price_history,
            "SpotPriceHistory",
            InstanceTypes=list(instance_types[start : start + TYPES_PER_CALL]),
            ProductDescriptions=[LINUX],
            StartTime=now,
            MaxResults=1000,
        )
        rows += [_storable(row) for row in found]
    return rows


def _storable(row: Json) -> Json:
    since = row.get("Timestamp")
    return {**row, "Timestamp": since.isoformat() if isinstance(since, datetime) else None}


def newest_per_zone(rows: Sequence[Json]) -> tuple[list[SpotRecord], list[Rejected]]:
    """The newest Linux record of every machine and zone; the others counted."""
    newest: dict[tuple[str, str], SpotRecord] = {}
    rejected: list[Rejected] = []
    for index, raw in enumerate(rows):
        name = f"spot record {index}"
        try:
            record = SpotRecord.model_validate(raw)
        except ValidationError as error:
            field = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
            rejected.append(Rejected(reason=MALFORMED, row=name, detail=field))
            continue
        if record.product not in LINUX_PRODUCTS:
            rejected.append(Rejected(reason=OUT_OF_SCOPE, row=name, detail="not plain Linux"))
            continue
        key = (record.instance_type, record.zone)
        held = newest.get(key)
        if held is not None:
            rejected.append(Rejected(reason=DUPLICATE, row=name, detail="another record of this zone is newer"))
        if held is None or (record.since, record.product == LINUX) > (held.since, held.product == LINUX):
            newest[key] = record
    return list(newest.values()), rejected
