"""What a managed service costs over the plain machine under it, where both are sold live at one place.

SageMaker stands on EC2, Vertex AI on Compute Engine, Azure Machine Learning on Azure's virtual machines: the same machine
type, region and way of buying. Dated prices are not compared: two days of two lists tell nothing of a surcharge.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from service.domain.plan import ManagedSurcharge, PlanOption
from service.solver.columns import FeedColumns
from service.solver.market import Market
from service.solver.words import percent, usd

UNDER: Final = {"sagemaker": "aws", "vertex": "gcp", "azureml": "azure"}
_PRICED_BY_THE_HOUR: Final = frozenset({"compute", "interruption", "setup", "billing_increment"})
_PLAIN: Final = frozenset({"on_demand", "spot"})

_Key = tuple[str, str, str, str]  # provider, machine type, region, capacity type


def with_surcharges(options: Sequence[PlanOption], market: Market) -> tuple[PlanOption, ...]:
    """The options, each of a managed service with what it costs over the plain machine."""
    return tuple(_with_surcharge(option, market) if option.provider in UNDER else option for option in options)


def _with_surcharge(option: PlanOption, market: Market) -> PlanOption:
    base, machine, region = UNDER[option.provider], option.instance_type, option.region
    if machine is None or region is None or option.capacity_type not in _PLAIN or "dated" in option.flags:
        return option
    key = (base, machine.removeprefix("ml.").casefold(), region, option.capacity_type)
    found = [price for feed in market.feeds if (price := _prices(feed).get(key)) is not None]
    managed = option.usd_per_hour / option.nodes
    if not found or managed <= 0:
        return option
    plain = min(found)
    share = (managed - plain) / managed
    lines = [line for line in option.cost.lines if line.name in _PRICED_BY_THE_HOUR]
    monthly = None if option.cost.usd_per_month is None else sum(line.usd_per_month or 0.0 for line in lines) * share
    per_run = None if option.cost.usd_per_run is None else sum(line.usd_per_run or 0.0 for line in lines) * share
    return replace(
        option,
        managed_surcharge=ManagedSurcharge(
            over=base,
            usd_per_hour=round((managed - plain) * option.nodes, 6),
            fraction=round((managed - plain) / plain, 6),
            usd_per_run=None if per_run is None else round(per_run, 6),
            usd_per_month=None if monthly is None else round(monthly, 6),
            explained=_explained(option, base, managed=managed, plain=plain),
        ),
    )


def _explained(option: PlanOption, base: str, *, managed: float, plain: float) -> str:
    prices = f"{option.provider} asks {usd(managed)} an hour for a machine that {base} sells at {usd(plain)}"
    if managed == plain:
        return f"{prices}: no surcharge"
    over = percent(abs(managed - plain) / plain)
    return f"{prices}: {over} {'more' if managed > plain else 'less'}"


def _prices(feed: FeedColumns) -> dict[_Key, float]:
    """Live prices of plain machines by type and place, the cheapest zone's; worked out once per feed."""
    found: dict[_Key, float] | None = feed.cache.get("plain_machines")
    if found is None:
        found = feed.cache["plain_machines"] = {}
        bases = [number for number, word in enumerate(feed.words["provider"]) if word in UNDER.values()]
        for row in np.flatnonzero(np.isin(feed.arrays["provider"], bases) & ~feed.arrays["is_dated"]).tolist():
            machine, region = feed.text("instance_type", row), feed.text("region", row)
            if machine is not None and region is not None:
                key = (feed.text("provider", row) or "", machine.casefold(), region, feed.text("capacity_type", row) or "")
                found[key] = min(float(feed.usd_per_hour[row]), found.get(key, float("inf")))
    return found
