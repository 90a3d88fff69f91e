"""Data transfer: what it costs to bring a run's data to where it is computed and its output back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from service.domain.workload import WorkloadData
from service.solver.columns import Floats
from service.solver.tables import Seller

AS_OF: Final = "2026-09-20"
SOURCE: Final = "the providers' price pages for traffic to the internet"
# USD per GB out of a provider; the first 100 GB a month are free at AWS. A provider that is not here is unknown.
EGRESS_USD_PER_GB: Final = {
    "aws": 0.09, "sagemaker": 0.09, "azure": 0.087, "azureml": 0.087, "gcp": 0.12, "vertex": 0.12,
    "lambda": 0.0, "runpod": 0.0, "coreweave": 0.0, "hyperstack": 0.0, "nebius": 0.0,
}  # fmt: skip
FREE_GB_PER_MONTH: Final = {"aws": 100.0, "sagemaker": 100.0}


@dataclass(frozen=True, slots=True)
class Transfer:
    """USD per run and seller of what is known, and what is not."""

    usd_per_run: Floats  # per seller
    any_known: bool  # some of it is above 0
    unknown: tuple[str, ...]  # for each part that is not priced, a sentence


def transfer_of(data: WorkloadData | None, sellers: Sequence[Seller], runs_per_month: float) -> Transfer:
    """What moving the data of one run costs at each seller; a run starts on a fresh machine and fetches its data anew."""
    usd, unknown = np.zeros(len(sellers)), []
    dataset, output = (None, None) if data is None else (data.dataset_gb, data.output_gb)
    if dataset is None:
        unknown.append("traffic of the dataset: its size was not given")
    elif data is None or data.location is None:
        unknown.append(f"traffic of the {dataset:g} GB dataset: where it lies was not given")
    else:
        here = data.location.provider
        out = _usd_out(here, dataset, runs_per_month)
        if out is None:
            unknown.append(f"traffic of the {dataset:g} GB dataset: no egress price of its provider is known")
        else:
            usd += np.array([0.0 if seller.provider == here else out for seller in sellers])
            unknown.append("traffic between regions of the provider where the dataset lies")
    if output is not None:
        unknown += _output(data, output, sellers, runs_per_month, usd)
    return Transfer(usd, bool(usd.any()), tuple(unknown))


def _output(data: WorkloadData | None, output: float, sellers: Sequence[Seller], runs_per_month: float, usd: Floats) -> list[str]:
    """Adds the way back to `usd`; says for whom no price is known."""
    home = data.location.provider if data is not None and data.location is not None else None
    nameless: set[str] = set()
    for at, seller in enumerate(sellers):
        if seller.provider == home:
            continue
        out = _usd_out(seller.provider, output, runs_per_month)
        if out is None:
            nameless.add(seller.provider)
        else:
            usd[at] += out
    return [f"traffic of the output out of {', '.join(sorted(nameless))}: no price is known"] if nameless else []


def _usd_out(provider: str, gigabytes: float, runs_per_month: float) -> float | None:
    """USD to take this many GB out of a provider once, its free GB shared over the month's runs."""
    rate = EGRESS_USD_PER_GB.get(provider)
    if rate is None:
        return None
    free = FREE_GB_PER_MONTH.get(provider, 0.0) / max(runs_per_month, 1.0)
    return rate * max(0.0, gigabytes - free)
