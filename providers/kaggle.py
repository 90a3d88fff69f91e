"""Kaggle: free notebooks with a weekly quota of GPU hours; a dated table, marked manual.

Source: kaggle.csv names one for each row. Its terms keep it to work that is not production: it is a free tier, offered
only where a request asks for one by name.
"""

from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import ClassVar

import httpx

from providers.base import Adapter, Json
from providers.notebooks import read_notebooks
from providers.offer import Batch

NOTES = ("free for work that is not production, by the provider's terms; one verified account",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kaggle(Adapter):
    """Reads the table inside the package: no key, no network."""

    name: ClassVar[str] = "kaggle"
    default_interval_seconds: ClassVar[int] = 86_400
    is_shipped: ClassVar[bool] = True

    def fetch(self, http: httpx.Client) -> Json:  # noqa: ARG002  # the contract's argument: package data needs no network
        return resources.files("providers").joinpath("kaggle.csv").read_text(encoding="utf-8")

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        return read_notebooks(self.name, payload, usd_per_unit=None, notes=NOTES, observed_at=observed_at)
