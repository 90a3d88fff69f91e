"""Real price catalogues turned into a price file: the faults their notes list are refused, counted, or kept as listed."""

import ast
import csv
import io
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from providers.offer import DUPLICATE, NO_PRICE, UNKNOWN_GPU, CapacityType, PriceBasis
from providers.price_list import read_price_list

NOW = datetime(2026, 10, 1, tzinfo=UTC)
COLUMNS = [
    "provider",
    "gpu",
    "gpu_memory_gb",
    "gpu_count",
    "region",
    "on_demand_usd_per_hour",
    "spot_usd_per_hour",
    "as_of",
    "source",
]
COLUMNS += ["instance_type", "tier"]


def catalogue(shared_data, provider, file):
    with (shared_data / "catalog" / "skypilot-v8" / provider / file).open(newline="") as table:
        return list(csv.DictReader(table))


def price_list(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return read_price_list(text.getvalue(), feed="price_file", price_basis=PriceBasis.LIST, observed_at=NOW)


def row_of(provider, row, *, gpu, gpu_memory_gb, region, count=None, **more):
    return {
        "provider": provider,
        "gpu": gpu,
        "gpu_memory_gb": gpu_memory_gb,
        "gpu_count": count or row["AcceleratorCount"],
        "region": region,
        "on_demand_usd_per_hour": row["Price"],
        "spot_usd_per_hour": row["SpotPrice"],
        "source": "catalogue",
        "instance_type": row["InstanceType"],
        **more,
    }


@pytest.fixture(scope="module")
def vast(shared_data):
    rows = catalogue(shared_data, "vast", "vms.csv")
    made = []
    for row in rows:
        gpu = ast.literal_eval(row["GpuInfo"])["Gpus"][0]  # its memory is that of all GPUs of the row
        memory_gb = gpu["MemoryInfo"]["SizeInMiB"] / gpu["Count"] / 1024
        made.append(
            row_of("vast", row, gpu=gpu["Name"], gpu_memory_gb=f"{memory_gb:.2f}", region=row["Region"], tier="unverified")
        )
    return rows, price_list(made)


def test_vast_spot_placeholders_are_refused_and_its_prices_kept(vast):
    rows, found = vast
    reasons = Counter(one.reason for one in found.rejected)
    assert reasons[NO_PRICE] == len(rows) - reasons[UNKNOWN_GPU]  # 0.00 on every row whose card is known
    assert reasons[UNKNOWN_GPU] == 2
    assert {offer.capacity_type for offer in found.current} == {CapacityType.ON_DEMAND}
    assert set(reasons) <= {NO_PRICE, UNKNOWN_GPU, DUPLICATE}
    # every row's on-demand price is an offer, or a counted refusal
    assert len(found.current) + len(found.history) + reasons[UNKNOWN_GPU] + reasons[DUPLICATE] == len(rows)


def test_vast_variants_under_one_name_stay_apart(vast):
    _, found = vast
    assert {offer.gpu_memory_gb for offer in found.current if offer.gpu.startswith("A100")} == {40, 80}
    assert {(offer.gpu, offer.gpu_memory_gb) for offer in found.current if offer.gpu.startswith("RTX 4090")} == {
        ("RTX 4090", 24),
        ("RTX 4090 48GB", 48),
    }


def test_vast_places_are_read_to_the_country(vast):
    rows, found = vast
    assert any(row["Region"].startswith(",") for row in rows)  # a missing part
    assert all(offer.country for offer in found.current)


def test_what_vast_writes_with_another_cards_memory_is_refused_not_guessed(vast):
    rows, found = vast
    unknown = {int(one.row.removeprefix("line ")) for one in found.rejected if one.reason == UNKNOWN_GPU}
    names = {rows[line - 2]["AcceleratorName"] for line in unknown}
    # "RTX4060" with 16 GB and "RTX4070" with 16 GB are the Ti of those names: the catalogue dropped the word
    assert names <= {"RTX4060", "RTX4070"}


def test_lambda_is_listed_in_every_region_and_machines_without_a_gpu_have_no_offer(shared_data):
    rows = catalogue(shared_data, "lambda", "vms.csv")
    memory = {
        "A10": 24,
        "A100": 40,
        "A100-80GB": 80,
        "A6000": 48,
        "B200": 180,
        "GH200": 96,
        "H100": 80,
        "RTX6000": 24,
        "V100": 16,
    }
    made = [
        row_of(
            "lambda", row, gpu=row["AcceleratorName"], gpu_memory_gb=memory.get(row["AcceleratorName"], ""), region=row["Region"]
        )
        for row in rows
    ]
    found = price_list(made)
    without_gpu = sum(not row["AcceleratorName"] for row in rows)
    assert len(found.current) == len(rows) - without_gpu
    assert len(found.rejected) == without_gpu > 0
    assert all(offer.country for offer in found.current)
    assert {offer.gpu for offer in found.current if offer.instance_type == "gpu_8x_a100"} == {"A100-SXM4-40GB"}
    assert {offer.gpu for offer in found.current if offer.instance_type == "gpu_1x_h100_pcie"} == {"H100-PCIe"}


def test_runpod_spot_repeats_the_on_demand_price(shared_data):
    rows = catalogue(shared_data, "runpod", "vms.excerpt.csv")
    # its SizeInMiB of 80 is GB
    made = [
        row_of("runpod", row, gpu="A100 PCIe", gpu_memory_gb=80, region=row["AvailabilityZone"], count=1, tier="secure")
        for row in rows
    ]
    found = price_list(made)
    assert Counter(one.reason for one in found.rejected)[NO_PRICE] == len(rows) == 48
    assert {(offer.gpu, offer.usd_per_hour, offer.capacity_type.value) for offer in found.current} == {
        ("A100-PCIe-80GB", Decimal("1.39"), "on_demand")
    }
    assert all(offer.country for offer in found.current)


def test_aws_zones_without_an_on_demand_price_and_with_spot_at_it(shared_data):
    rows = catalogue(shared_data, "aws", "vms.excerpt.csv")
    made = [
        row_of("aws", row, gpu=row["AcceleratorName"], gpu_memory_gb=int(row["GpuMemoryMiB"]) / 1024, region=row["Region"])
        for row in rows
    ]
    found = price_list(made)
    # several zones of one region: the table has no zone, so the first counts and the others are counted
    assert set(Counter(one.reason for one in found.rejected)) <= {DUPLICATE, NO_PRICE}
    assert {offer.form_factor for offer in found.current} == {"SXM4", "SXM5"}
    assert not [offer for offer in found.current if offer.instance_type == "p5e.48xlarge" and offer.capacity_type == "on_demand"]
    at_cap = [offer for offer in found.current if "spot is listed at the on-demand price" in offer.notes]
    assert {("p4d.24xlarge", "ap-south-1"), ("p5.48xlarge", "ap-southeast-2"), ("p5en.48xlarge", "ap-south-1")} <= {
        (offer.instance_type, offer.region) for offer in at_cap
    }


def test_gcp_spot_dearer_than_on_demand_is_kept_and_tpus_are_no_gpu(shared_data):
    rows = [row for row in catalogue(shared_data, "gcp", "vms.excerpt.csv") if row["AcceleratorName"]]
    made = []
    for row in rows:
        memory = int(row["GpuMemoryMiB"]) / 1024 if row["GpuMemoryMiB"] else ""
        made.append(row_of("gcp", row, gpu=row["AcceleratorName"], gpu_memory_gb=memory, region=row["Region"]))
    found = price_list(made)
    tpus = [row for row in rows if row["AcceleratorName"].startswith("tpu")]
    assert len([one for one in found.rejected if one.reason == UNKNOWN_GPU]) >= len(tpus) > 0
    assert not [offer for offer in found.current if offer.usd_per_hour == 700]  # their placeholder
    prices = {(offer.region, offer.capacity_type.value): offer.usd_per_hour for offer in found.current if offer.gpu == "H200-SXM"}
    for region in ("asia-south1", "europe-west1", "europe-west4"):
        assert prices[region, "spot"] > prices[region, "on_demand"]
