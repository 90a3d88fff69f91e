"""Rows of the SageMaker price list: which are on-demand prices of training and hosting machines with a GPU.

One machine stands there once per component, with different prices: only training and hosting are read. The names of
columns and components drift in case and spacing, so they are compared without either.
Source: attributes of service AmazonSageMaker in the AWS price list, as clients of it read them, 2026-10.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from pydantic import Field

from providers.aws.bulk import Wanted
from providers.aws.instances import InstanceFacts, shipped_facts
from providers.aws.price_list import CSV_TERM_COLUMNS, Listed, price_in_force
from providers.base import Refused
from providers.errors import UnknownGpu
from providers.offer import NO_GPU, NOT_ON_DEMAND, OUT_OF_SCOPE

SERVICE = "AmazonSageMaker"
FAMILY = "ML Instance"
COMPONENTS = ("Training", "Hosting")  # as the Query API filters by them
TIERS = {component.casefold(): component.casefold() for component in COMPONENTS}
_FIELDS = {  # attribute: its column in the CSV, as the column names of the other services are formed
    "instanceName": ("Instance Name", "instanceName"),
    "instanceType": ("Instance Type", "instanceType"),
    "component": ("Component", "component"),
    "productFamily": ("Product Family", "productFamily"),
    "regionCode": ("Region Code", "regionCode"),
    "usagetype": ("usageType", "usagetype"),
    "gpu": ("GPU", "gpu"),
    "physicalGpu": ("Physical GPU", "physicalGpu"),
}
CSV_FIELDS = {column: name for name, columns in _FIELDS.items() for column in reversed(columns)}
_SUFFIX = re.compile(r"-(training|hosting)$", re.IGNORECASE)
_OTHER_KINDS = ("warmpool", "cluster", "hyperpod", "reserved", "plan", "spot")  # in a usage type: sold on other terms


class MlProduct(Listed):
    """One product of SageMaker."""

    instanceName: str = Field(default="", max_length=64)
    component: str = Field(default="", max_length=64)
    productFamily: str = ""
    regionCode: str = ""
    usagetype: str = Field(default="", max_length=200)
    gpu: str = ""
    physicalGpu: str = ""

    @property
    def ec2_type(self) -> str:
        """The EC2 machine under it: ml.g5.xlarge, or ml.g5.xlarge-Training, stands for g5.xlarge."""
        return _SUFFIX.sub("", self.instanceName or self.instanceType).removeprefix("ml.")

    @property
    def tier(self) -> str | None:
        """training or hosting; None for notebooks, processing, batch transform and what else there is."""
        named = self.component or self.instanceType.rpartition("-")[2]
        return TIERS.get(named.strip().casefold())

    @property
    def has_gpu(self) -> bool:
        return any(count not in ("", "0", "NA", "N/A") for count in (self.gpu, self.physicalGpu))


def facts_of(product: MlProduct) -> InstanceFacts:
    """What the machine holds. Raises Refused for one without a GPU, UnknownGpu for one that no table describes."""
    facts = shipped_facts().get(product.ec2_type)
    if facts is None and not product.has_gpu:
        raise Refused(NO_GPU, product.ec2_type)
    if facts is None:
        raise UnknownGpu(f"no instance facts for ml.{product.ec2_type[:40]}")
    return facts


def on_demand_usd_per_hour(product: MlProduct, *, region: str, today: date) -> Decimal:
    """The on-demand price of the whole machine. Raises Refused for rows sold on other terms or at another place."""
    if product.tier is None or product.productFamily not in (FAMILY, ""):
        raise Refused(OUT_OF_SCOPE, f"{product.ec2_type}: neither training nor hosting")
    if product.regionCode != region:
        raise Refused(OUT_OF_SCOPE, f"{product.ec2_type}: sold at another place than {region}")
    usage = product.usagetype.casefold()
    if any(word in usage for word in _OTHER_KINDS):
        raise Refused(NOT_ON_DEMAND, f"{product.ec2_type}: kept warm, reserved or part of a cluster")
    return price_in_force(product, unit="Hrs", today=today)


def _is_read(row: list[str], place: Mapping[str, int]) -> bool:
    """On-demand rows of training and hosting machines that have a GPU or are known to."""

    def cells(attribute: str) -> Iterator[str]:
        return (row[place[column]] for column in _FIELDS[attribute] if column in place)

    if row[place["TermType"]] != "OnDemand" or FAMILY not in cells("productFamily"):
        return False
    named: dict[str, Any] = {attribute: next((cell for cell in cells(attribute) if cell), "") for attribute in _FIELDS}
    product = MlProduct.model_construct(**named)  # not checked here: what is kept is read, or refused, by `parse`
    return product.tier is not None and (product.has_gpu or product.ec2_type in shipped_facts())


ML_ROWS = Wanted(
    columns=(*CSV_TERM_COLUMNS, *CSV_FIELDS),
    needed=frozenset({"SKU", "TermType", "PricePerUnit", "Unit", "Product Family"}),
    is_read=_is_read,
)
