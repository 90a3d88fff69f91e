"""The list prices that ship: every row is read, and the bands of 2025 stand beside them."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from providers.evidence import EVIDENCE
from providers.offer import CapacityType, PriceBasis
from providers.reference import BANDS, Reference, band_differences

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def batch():
    return Reference().parse(Reference().fetch(None), NOW)


def test_every_row_is_read(batch):
    assert batch.row_count == 198
    assert batch.rejected == ()
    # each row's prices: current or history
    assert len(batch.offers) + len(batch.history) == 239


@pytest.mark.parametrize(
    ("provider", "instance_type", "region", "capacity_type", "usd_per_hour", "gpu"),
    [
        ("lambda", "gpu_8x_h100_sxm5", "us-east-1", "on_demand", "31.92", "H100-SXM"),
        ("lambda", "gpu_1x_rtx6000", "us-east-1", "on_demand", "0.69", "Quadro RTX 6000"),
        ("lambda", "gpu_8x_a100", "us-east-1", "on_demand", "15.92", "A100-SXM4-40GB"),
        ("aws", "p5.48xlarge", "us-east-2", "on_demand", "55.04", "H100-SXM"),
        ("aws", "p5.48xlarge", "us-east-2", "spot", "11.2543", "H100-SXM"),
        ("azure", "NC40ads_H100_v5", "eastus", "on_demand", "6.98", "H100-NVL"),
        ("gcp", "a2-highgpu-8g", "us-east1", "on_demand", "29.38", "A100-SXM4-40GB"),
    ],
)
def test_a_price_of_the_sources(batch, provider, instance_type, region, capacity_type, usd_per_hour, gpu):
    (offer,) = [
        offer
        for offer in batch.offers
        if (offer.provider, offer.instance_type, offer.region, offer.capacity_type)
        == (provider, instance_type, region, capacity_type)
    ]
    assert (offer.usd_per_hour, offer.gpu) == (Decimal(usd_per_hour), gpu)
    assert offer.source


def test_older_prices_are_history(batch):
    assert sorted(offer.usd_per_hour for offer in batch.history) == [Decimal("9.832"), Decimal("98.32")]


def test_all_rows_are_dated_and_tell_a_spot_price_from_a_list_price(batch):
    assert {(offer.is_dated, offer.feed) for offer in batch.offers} == {(True, "reference")}
    assert all(offer.country for offer in batch.offers if offer.region)
    bases = {(offer.capacity_type is CapacityType.SPOT, offer.price_basis) for offer in batch.offers}
    assert bases == {(True, PriceBasis.SPOT), (False, PriceBasis.LIST)}


def test_serverless_prices_are_never_machines(batch):
    serverless = [offer for offer in batch.offers if offer.capacity_type is CapacityType.SERVERLESS]
    assert len(serverless) == 6
    assert {offer.tier for offer in serverless} == {"serverless-flex"}


def test_tiers_are_those_of_the_evidence(batch):
    missing = {(offer.provider, offer.tier) for offer in batch.offers if EVIDENCE.tier(offer.provider, offer.tier) is None}
    assert missing == {
        ("runpod", "serverless-flex"),
        ("oci", "vm"),
        ("fluidstack", "on-demand"),
        ("paperspace", "on-demand"),
        ("digitalocean", "on-demand"),
    }  # nothing is known of them: public data only


def priced(batch, usd_per_hour, *, gpu, capacity_type="on_demand", gpu_count=1):
    return replace(
        batch.offers[0],
        gpu=gpu,
        usd_per_hour=Decimal(usd_per_hour),
        gpu_count=gpu_count,
        capacity_type=CapacityType(capacity_type),
    )


def test_differences_from_the_bands(batch):
    offers = [
        priced(batch, "4.00", gpu="A100-SXM4-80GB", gpu_count=2),  # 2.00 a GPU
        priced(batch, "2.40", gpu="A100-PCIe-80GB"),
        priced(batch, "9.99", gpu="A100-SXM4-40GB"),  # another memory: no part of the band
        priced(batch, "0.72", gpu="A100-PCIe-80GB", capacity_type="spot"),
        priced(batch, "6.00", gpu="H100-SXM"),
        priced(batch, "0.60", gpu="RTX 4090", gpu_count=0.5),  # a fraction: not counted
    ]
    found = {(one.band.label, one.band.capacity_type.value): one for one in band_differences(offers)}
    assert len(found) == len(BANDS) == 6
    a100 = found["A100 80GB", "on_demand"]
    assert (a100.median_usd_per_gpu_hour, a100.verdict, a100.difference_fraction, a100.offers) == (Decimal("2.2"), "inside", 0, 2)
    spot = found["A100 80GB", "spot"]
    assert (spot.verdict, spot.difference_fraction) == ("below", pytest.approx(-0.2))  # 0.72 / 0.90 - 1
    h100 = found["H100", "on_demand"]
    assert (h100.verdict, h100.difference_fraction) == ("above", pytest.approx(0.2))  # 6.00 / 5.00 - 1
    none = found["RTX 4090", "on_demand"]
    assert (none.verdict, none.median_usd_per_gpu_hour, none.difference_fraction) == ("no prices", None, None)


def test_a_lambda_cluster_is_reserved_for_two_weeks_at_least(batch):
    (one,) = [offer for offer in batch.offers if offer.tier == "1-click-cluster"]
    # 6.16 for a GPU: 49.28 for a machine of eight; 14 days are 336 of 730 h
    assert (one.provider, one.gpu, one.gpu_count, one.usd_per_hour) == ("lambda", "H100-SXM", 8, Decimal("49.28"))
    assert (one.capacity_type, one.term_months) == (CapacityType.RESERVED, 0.46)
    assert one.min_machines == 2  # 16 GPUs at least
    assert one.source.startswith("manual: ")
