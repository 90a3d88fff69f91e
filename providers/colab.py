"""Google Colab: notebooks on one card, free with limits or paid in compute units; a dated table, marked manual.

Source of the unit's price: 100 compute units for about 10 USD, pay as you go and Pro alike, public pages of 2022-2026;
units expire after 90 days. What an hour of each card uses is shown in the notebook only: colab.csv says who read it when.
Colab Enterprise is a product of Google Cloud and not this one.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import resources
from typing import ClassVar

import httpx

from providers.base import Adapter, Json
from providers.notebooks import read_notebooks
from providers.offer import Batch

USD_PER_COMPUTE_UNIT = Decimal("0.10")
NOTES = ("compute units at 0.10 USD expire after 90 days", "session limit: at least so long; longer with Pro+ only")


@dataclass(frozen=True, slots=True, kw_only=True)
class Colab(Adapter):
    """Reads the table inside the package: no key, no network."""

    name: ClassVar[str] = "colab"
    default_interval_seconds: ClassVar[int] = 86_400
    is_shipped: ClassVar[bool] = True

    def fetch(self, http: httpx.Client) -> Json:  # noqa: ARG002  # the contract's argument: package data needs no network
        return resources.files("providers").joinpath("colab.csv").read_text(encoding="utf-8")

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        return read_notebooks(self.name, payload, usd_per_unit=USD_PER_COMPUTE_UNIT, notes=NOTES, observed_at=observed_at)
