"""Rows of the AWS price list in its three layouts (Query API, bulk JSON, bulk CSV), and which of them is an on-demand price.

Capacity blocks carry the names of on-demand machines at 0 or at an operating system's fee, reservations at the
on-demand price: the attributes tell them apart, never the price.
Source: AWS Billing documentation of the Price List API and botocore 1.44.8, read 2026-10.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from providers.base import Json, Refused
from providers.offer import MALFORMED, NO_PRICE, NOT_ON_DEMAND, OUT_OF_SCOPE, Rejected
from providers.prices import price

SERVICE = "AmazonEC2"
CSV_FIELDS = {  # column of the bulk CSV: attribute in the two JSON layouts
    "Instance Type": "instanceType",
    "Region Code": "regionCode",
    "Location Type": "locationType",
    "Operating System": "operatingSystem",
    "Pre Installed S/W": "preInstalledSw",
    "Tenancy": "tenancy",
    "CapacityStatus": "capacitystatus",
    "MarketOption": "marketoption",
    "operation": "operation",
    "GPU": "gpu",
    "Volume API Name": "volumeApiName",
}
CSV_TERM_COLUMNS = ("SKU", "TermType", "EffectiveDate", "StartingRange", "Unit", "PricePerUnit", "Currency")


class Layout(StrEnum):
    """How a price list was written."""

    QUERY = "query"  # a list of JSON strings
    JSON = "json"  # one map of products and one of terms
    CSV = "csv"  # a list of rows, one for each price dimension


class Dimension(BaseModel):
    """One price of one product: `usd` is the text as it came, None when the list has another currency only."""

    unit: str = ""
    usd: str | None = None
    begin: str = "0"
    effective: date


class Listed(BaseModel):
    """A product of any service with its on-demand prices. All attributes are text; an absent one is empty."""

    model_config = ConfigDict(frozen=True)

    sku: str = Field(min_length=1, max_length=64)
    instanceType: str = Field(default="", max_length=64)
    dimensions: tuple[Dimension, ...] = ()


class Product(Listed):
    """A product of EC2."""

    regionCode: str = ""
    locationType: str = ""
    operatingSystem: str = ""
    preInstalledSw: str = ""
    tenancy: str = ""
    capacitystatus: str = ""
    marketoption: str = ""
    operation: str = ""
    gpu: str = ""
    volumeApiName: str = ""

    @property
    def has_gpu(self) -> bool:
        """The list names a count of GPUs; fractions of one are written in words or decimals."""
        return self.gpu not in ("", "0", "NA")


L = TypeVar("L", bound=Listed)


def read_products(layout: Layout, listed: Json) -> tuple[list[Product], list[Rejected]]:
    """All products of a price list of EC2 and the rows that are none."""
    return read_listed(Product, layout, listed, csv_fields=CSV_FIELDS)


def read_listed(kind: type[L], layout: Layout, listed: Json, *, csv_fields: Mapping[str, str]) -> tuple[list[L], list[Rejected]]:
    """All products of a service's price list as `kind` and the rows that are none."""
    readers: dict[Layout, Callable[[Json], Iterator[tuple[str, Json]]]] = {
        Layout.QUERY: _query_entries,
        Layout.JSON: _json_entries,
        Layout.CSV: lambda rows: _csv_entries(rows, csv_fields),
    }
    products: list[L] = []
    rejected: list[Rejected] = []
    for name, entry in readers[layout](listed):
        try:
            products.append(kind.model_validate(entry() if callable(entry) else entry))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
            rejected.append(Rejected(reason=MALFORMED, row=name, detail=type(error).__name__))
    return products, rejected


def on_demand_usd_per_hour(product: Product, *, region: str, today: date) -> Decimal:
    """The price of plain Linux on shared hardware of this region.

    Raises:
        Refused: it is sold otherwise, for another system or place, or has no single price in force today.
    """
    if "CapacityBlock" in product.marketoption or product.operation.endswith(":CB"):
        raise Refused(NOT_ON_DEMAND, f"{product.instanceType}: capacity block, paid in advance and not by this price")
    if product.marketoption not in ("OnDemand", ""):
        raise Refused(NOT_ON_DEMAND, f"{product.instanceType}: market option is not on demand")
    if product.capacitystatus not in ("Used", ""):
        raise Refused(NOT_ON_DEMAND, f"{product.instanceType}: row of a capacity reservation")
    if product.operatingSystem != "Linux" or product.preInstalledSw not in ("NA", ""):
        raise Refused(OUT_OF_SCOPE, f"{product.instanceType}: not plain Linux")
    if product.tenancy != "Shared":
        raise Refused(OUT_OF_SCOPE, f"{product.instanceType}: dedicated hardware")
    if product.regionCode != region or product.locationType not in ("AWS Region", ""):
        raise Refused(OUT_OF_SCOPE, f"{product.instanceType}: sold at another place than {region}")
    return price_in_force(product, unit="Hrs", today=today)


def gp3_usd_per_gb_month(products: Iterable[Product], *, region: str, today: date) -> Decimal | None:
    """Price of a gp3 volume in this region; None when the list does not hold it."""
    for product in products:
        if product.volumeApiName == "gp3" and product.regionCode == region:
            try:
                return price_in_force(product, unit="GB-Mo", today=today)
            except Refused:
                continue
    return None


def newest_first(products: Iterable[L], *, today: date) -> list[L]:
    """So that of two rows of one machine the newer counts and, of the same day, the dearer: never an old low price."""

    def rank(product: L) -> tuple[date, Decimal]:
        in_force = [dimension for dimension in product.dimensions if dimension.effective <= today]
        newest = max((dimension.effective for dimension in in_force), default=date.min)
        try:
            return newest, price_in_force(product, unit="Hrs", today=today)
        except Refused:
            return newest, Decimal(0)

    return sorted(products, key=rank, reverse=True)


def price_in_force(product: Listed, *, unit: str, today: date) -> Decimal:
    """The one price per unit of the newest term that has begun. Raises Refused."""
    of_unit = [d for d in product.dimensions if d.unit == unit and d.usd is not None and d.begin == "0"]
    begun = [dimension for dimension in of_unit if dimension.effective <= today]
    if not begun:
        raise Refused(NO_PRICE, f"{product.instanceType}: no price in dollars per unit in force")
    newest = max(dimension.effective for dimension in begun)
    amounts = {price(dimension.usd) for dimension in begun if dimension.effective == newest}
    if len(amounts) > 1:
        raise Refused(MALFORMED, f"{product.instanceType}: {len(amounts)} prices at once")
    return amounts.pop()


def _query_entries(listed: Json) -> Iterator[tuple[str, Json]]:
    """Each entry of PriceList is a JSON text of one product with its terms."""

    def read(text: str) -> Json:
        entry = json.loads(text)
        terms = (entry.get("terms") or {}).get("OnDemand") or {}
        return _entry(entry["product"], terms)

    for index, text in enumerate(listed):
        yield f"product {index}", lambda text=text: read(text)


def _json_entries(listed: Json) -> Iterator[tuple[str, Json]]:
    """The bulk file has one more level: the terms of a product stand under its SKU."""
    terms = (listed.get("terms") or {}).get("OnDemand") or {}
    for sku, product in listed["products"].items():
        yield str(sku)[:64], lambda sku=sku, product=product: _entry(product, terms.get(sku) or {})


def _entry(product: Json, terms: Mapping[str, Json]) -> Json:
    dimensions = [
        {
            "unit": dimension.get("unit", ""),
            "usd": (dimension.get("pricePerUnit") or {}).get("USD"),
            "begin": dimension.get("beginRange", "0"),
            "effective": term["effectiveDate"][:10],
        }
        for term in terms.values()
        for dimension in term["priceDimensions"].values()
    ]
    return {**product.get("attributes", {}), "sku": product["sku"], "dimensions": dimensions}


def _csv_entries(listed: Json, fields: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """A product may take several rows, one for each of its prices."""
    by_sku: dict[str, list[Mapping[str, str]]] = {}
    for row in listed:
        by_sku.setdefault(row.get("SKU", ""), []).append(row)
    for sku, rows in by_sku.items():
        yield sku[:64] or "row without SKU", lambda rows=rows: _csv_entry(rows, fields)


def _csv_entry(rows: list[Mapping[str, str]], fields: Mapping[str, str]) -> Json:
    dimensions = [
        {
            "unit": row["Unit"],
            "usd": row["PricePerUnit"] if row["Currency"] == "USD" else None,
            "begin": row["StartingRange"] or "0",
            "effective": row["EffectiveDate"][:10],
        }
        for row in rows
        if row["TermType"] == "OnDemand"
    ]
    attributes = {name: rows[0][column] for column, name in fields.items() if column in rows[0]}
    return {**attributes, "sku": rows[0]["SKU"], "dimensions": dimensions}
