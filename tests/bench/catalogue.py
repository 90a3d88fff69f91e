"""Catalogues of any size for benchmarks: the synthetic GPU rows repeated under new regions with redrawn prices."""

import importlib.util
import random
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType

from providers.gpus import Gpu, select_gpus
from providers.offer import Arch, Availability, CapacityType, Interconnect, Offer, PriceBasis, Tenancy

SEED = 7
OBSERVED_AT = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
GENERATOR = Path(__file__).resolve().parents[2].parent / "shared" / "bench" / "gen_catalogue.py"
CARDS = {
    "T4": "T4", "L4": "L4", "A10": "A10", "A10G": "A10G", "L40S": "L40S", "L40": "L40", "A40": "A40", "A6000": "RTX A6000",
    "A5000": "RTX A5000", "A4000": "RTX A4000", "RTX3090": "RTX 3090", "RTX4090": "RTX 4090", "RTX5090": "RTX 5090",
    "RTX6000Ada": "RTX 6000 Ada", "RTXPRO6000": "RTX PRO 6000", "V100": "V100-SXM2-16GB", "V100-32GB": "V100-SXM2-32GB",
    "A100": "A100-SXM4-40GB", "A100-80GB": "A100-SXM4-80GB", "H100": "H100-SXM5-80GB", "H100NVL": "H100-NVL-94GB",
    "GH200": "GH200-96GB", "H200": "H200-SXM-141GB", "B200": "B200-180GB", "B300": "B300-288GB", "MI300X": "MI300X",
}  # fmt: skip
HYPERSCALERS = frozenset({"aws", "azure", "gcp", "oci"})
TIER_OF = {"aws": "ec2", "azure": "vm", "gcp": "vm", "nebius": "vm", "verda": "vm", "runpod": "secure"}
COUNTRY_OF = {"us": "US", "eu": "DE", "ca": "CA", "ap": "JP", "eastus": "US", "europe": "NL"}


def offers(count: int) -> list[Offer]:
    """Exactly `count` GPU offers: the generator's, then repeated under new regions with prices from a fixed seed."""
    first = _first_rows()
    rng = random.Random(SEED)  # noqa: S311 - a benchmark's prices, not a secret
    made = first[:count]
    copy = 1
    while len(made) < count:
        for offer in first[: count - len(made)]:
            price = Decimal(max(1, round(float(offer.usd_per_hour) * rng.uniform(0.8, 1.25) * 1e6))) / 10**6
            made.append(replace(offer, region=f"{offer.region}-r{copy}", zone=None, usd_per_hour=price))
        copy += 1
    return made


def _first_rows() -> list[Offer]:
    generator = _generator()
    rows, _ = generator.build(100_000)
    return [_offer(row, spot=spot, usd_per_hour=price) for row, spot, price in generator.offers(rows) if row["gpu"] is not None]


@cache
def _card(name: str) -> Gpu:
    return select_gpus(CARDS[name])[0]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_catalogue", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _offer(row: dict, *, spot: bool, usd_per_hour: float) -> Offer:
    card = _card(row["gpu"])
    is_hyperscaler = row["provider"] in HYPERSCALERS
    return Offer(
        feed=row["provider"],
        provider=row["provider"],
        tier=TIER_OF.get(row["provider"], "on-demand"),
        instance_type=row["instance"],
        gpu=card.name,
        gpu_count=float(row["count"]),
        capacity_type=CapacityType.SPOT if spot else CapacityType.ON_DEMAND,
        tenancy=Tenancy.HYPERSCALER if is_hyperscaler else Tenancy.PROVIDER_DATACENTER,
        region=row["region"],
        zone=row["zone"] or None,
        country=COUNTRY_OF.get(row["region"].split("-")[0], row["region"] if len(row["region"]) == 2 else None),
        usd_per_hour=Decimal(str(usd_per_hour)),
        price_basis=PriceBasis.SPOT if spot else PriceBasis.LIST,
        billing_increment_seconds=1 if is_hyperscaler else 60,
        gpu_memory_gb=card.memory_gb,
        form_factor=card.form_factor,
        interconnect=Interconnect.NVLINK if card.nvlink_gb_per_s else Interconnect.NONE,
        arch=Arch.ARM64 if row["gpu"] == "GH200" else Arch.X86_64,
        vcpus=float(row["vcpu"]),
        memory_gib=float(row["mem"]),
        availability=Availability.UNKNOWN if spot else Availability.AVAILABLE,
        observed_at=OBSERVED_AT,
        source="synthetic catalogue",
    )
