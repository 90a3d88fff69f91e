"""Google Cloud: machines put together from parts of one region, and SKUs told apart by their description."""

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from providers.errors import ProviderPayloadInvalid
from providers.evidence import EVIDENCE
from providers.gcp import Gcp
from providers.gcp.machines import is_gpu_machine_sku
from providers.gcp.shapes import shapes
from providers.gcp.skus import Bought, bought, part_of
from providers.offer import (
    DUPLICATE,
    MALFORMED,
    MISSING_PART,
    NO_GPU,
    NO_PRICE,
    NOT_ON_DEMAND,
    OUT_OF_SCOPE,
    UNKNOWN_GPU,
    CapacityType,
    Interconnect,
    PriceBasis,
)
from service.flows.gates import is_partial

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
SKUS = json.loads((Path(__file__).parents[2] / "fixtures" / "gcp" / "skus.json").read_text())["skus"]


def money(usd):
    whole, _, part = usd.partition(".")
    return {"currencyCode": "USD", "units": whole, "nanos": int(part.ljust(9, "0"))}


def sku(description, usd, *regions, group="CPU", usage="OnDemand", unit="h", **price):
    rates = [{"startUsageAmount": 0, "unitPrice": money(usd) | price}]
    return {
        "skuId": "0000-0000-0000",
        "description": description,
        "category": {"resourceFamily": "Compute", "resourceGroup": group, "usageType": usage},
        "serviceRegions": list(regions),
        "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": rates}}],
    }


def gpu(usd, *regions, card="Nvidia Tesla A100 GPU", where="running in Somewhere", **more):
    return sku(f"{card} {where}", usd, *regions, group="GPU", **more)


def core(usd, *regions, family="A2", **more):
    return sku(f"{family} Instance Core running in Somewhere", usd, *regions, **more)


def ram(usd, *regions, family="A2", unit="GiBy.h", **more):
    return sku(f"{family} Instance Ram running in Somewhere", usd, *regions, unit=unit, **more)


def parsed(*skus):
    return Gcp().parse({"skus": list(skus)}, NOW)


def found(batch, machine, kind=CapacityType.ON_DEMAND):
    return {o.region: o.usd_per_hour for o in batch.offers if o.instance_type == machine and o.capacity_type is kind}


def test_a_joint_price_comes_from_one_region():  # behaviour 17
    # r1: GPUs 16 x 1.6875 = 27.00, host 96 x 0.01375 + 1360 x 0.0055 = 1.32 + 7.48 = 8.80, together 35.80
    # r2: GPUs 16 x 1.61375 = 25.82, host 96 x 0.03 + 1360 x 0.005 = 2.88 + 6.80 = 9.68, together 35.50; never 25.82 + 8.80
    batch = parsed(
        gpu("1.6875", "us-central1"),
        core("0.01375", "us-central1"),
        ram("0.0055", "us-central1"),
        gpu("1.61375", "europe-west4"),
        core("0.03", "europe-west4"),
        ram("0.005", "europe-west4"),
    )
    assert found(batch, "a2-megagpu-16g") == {"us-central1": Decimal("35.80"), "europe-west4": Decimal("35.50")}
    assert min(found(batch, "a2-megagpu-16g").items(), key=lambda item: item[1]) == ("europe-west4", Decimal("35.50"))


A2_PARTS = {"GPU nvidia-tesla-a100": gpu, "A2 core": core, "A2 memory": ram}


@pytest.mark.parametrize("absent", A2_PARTS)
def test_a_part_that_is_missing_in_one_region_drops_the_machine_there_and_is_named(absent):  # behaviour 14
    rows = [
        make("0.5", *(("us-central1",) if part == absent else ("us-central1", "europe-west4"))) for part, make in A2_PARTS.items()
    ]
    batch = parsed(*rows)
    # 0.5 for the card, 12 x 0.5 cores and 85 x 0.5 GiB = 49.00
    assert found(batch, "a2-highgpu-1g") == {"us-central1": Decimal("49.00")}
    dropped = {r.row: r.detail for r in batch.rejected if r.reason == MISSING_PART}
    assert dropped["europe-west4 a2-highgpu-1g on_demand"] == f"no price of {absent}"


def test_a_host_sold_with_another_card_is_no_gap():
    batch = parsed(gpu("1", "us-central1"), core("0.1", "us-central1"), ram("0.01", "us-central1"))
    assert {r.reason for r in batch.rejected} == {OUT_OF_SCOPE}
    dropped = {r.row: r.detail for r in batch.rejected}
    told = "no price of GPU nvidia-a100-80gb: the region sells this host with another card"
    assert dropped["us-central1 a2-ultragpu-1g on_demand"] == told
    assert not is_partial(batch)


def test_a_host_without_any_card_is_a_gap_only_where_another_region_has_the_machine_whole():
    bare = parsed(core("0.1", "us-central1"), ram("0.01", "us-central1"))
    assert {r.reason for r in bare.rejected} == {OUT_OF_SCOPE}
    assert "no region prices this machine whole" in bare.rejected[0].detail
    batch = parsed(gpu("1", "us-east1"), *(make("0.1", "us-central1", "us-east1") for make in (core, ram)))
    gaps = {r.row.split()[1] for r in batch.rejected if r.reason == MISSING_PART}
    assert gaps == {"a2-highgpu-1g", "a2-highgpu-2g", "a2-highgpu-4g", "a2-highgpu-8g", "a2-megagpu-16g"}
    assert is_partial(batch)


def test_a_machine_on_demand_and_spot():
    batch = parsed(*SKUS)
    # 2.933908 + 12 x 0.031611 + 85 x 0.004237 = 2.933908 + 0.379332 + 0.360145
    assert found(batch, "a2-highgpu-1g")["us-central1"] == Decimal("3.673385")
    # 1.7603 + 12 x 0.0126 + 85 x 0.0017 = 1.7603 + 0.1512 + 0.1445
    assert found(batch, "a2-highgpu-1g", CapacityType.SPOT)["us-east1"] == Decimal("2.0560")


def test_the_mandatory_local_ssd_is_in_the_price():
    # 3.92808 + 12 x 0.031611 + 170 x 0.004237 + 375 GiB x 0.08 / 730 h = 3.92808 + 0.379332 + 0.72029 + 0.0410959
    (offer,) = [o for o in parsed(*SKUS).offers if o.instance_type == "a2-ultragpu-1g" and o.region == "us-east1"]
    assert float(offer.usd_per_hour) == pytest.approx(5.0687979, abs=1e-7)
    assert offer.disk_included_gb == pytest.approx(402.653)  # 375 x 2**30 / 10**9
    assert "local SSD 0.041096" in offer.notes[0]


def test_the_vendors_own_total_for_eight_h100():
    # Price page of a3-highgpu-8g in Iowa: 88.49. 8 x 9.796550569 + 208 x 0.025498 + 1872 x 0.00222 + 6000 x 0.08 / 730
    # = 78.3724046 + 5.303584 + 4.15584 + 0.6575342
    batch = parsed(*SKUS)
    assert float(found(batch, "a3-highgpu-8g")["us-central1"]) == pytest.approx(88.4893628, abs=1e-6)
    # smaller ones are sold as spot or flex-start only
    assert found(batch, "a3-highgpu-1g") == {}
    # 2.25 + 26 x 0.006 + 234 x 0.0005 + 750 x 0.032 / 730 = 2.25 + 0.156 + 0.117 + 0.0328767
    assert float(found(batch, "a3-highgpu-1g", CapacityType.SPOT)["us-central1"]) == pytest.approx(2.5558767, abs=1e-6)


def test_a_b200_slice_is_complete():
    batch = parsed(gpu("16.11", "us-central1", card="A4 Nvidia B200 (1 gpu slice)"))
    (offer,) = batch.offers
    assert (offer.gpu, offer.gpu_count, offer.usd_per_hour) == ("B200", 8, Decimal("128.88"))
    assert (offer.vcpus, offer.memory_gib, offer.interconnect) == (224, 3968, Interconnect.NVLINK)
    assert batch.rejected == ()


def test_cards_attached_to_a_common_machine():
    batch = parsed(*SKUS)
    # T4 0.35 + 4 x 0.031611 + 15 x 0.004237 = 0.35 + 0.126444 + 0.063555
    assert found(batch, "n1-standard-4")["us-central1"] == Decimal("0.539999")
    # a region with N1 machines but no such card is no gap: nobody looks for it there
    assert not any("n1-" in r.row for r in batch.rejected)


def test_rtx_pro_6000_at_the_vendors_total():
    # 1.09565 + 48 x 0.04891 + 180 x 0.00587 = 1.09565 + 2.34768 + 1.0566 = 4.49993 (listed as 4.50)
    assert found(parsed(*SKUS), "g4-standard-48") == {"us-central1": Decimal("4.49993")}


def test_every_sku_is_a_part_or_counted():
    reasons = Counter(r.reason for r in parsed(*SKUS).rejected)
    # flex-start, Calendar Mode, reserved placeholder; vGPU, custom cores, sole tenancy; B900; rupiah; E2 cores;
    # a commitment by the year; A2 without cores in the Netherlands (5 machines). The spot hosts of 4 machines with
    # an A100 80GB stand in 2 regions for the 40 GB card alone: 8 that are not sold
    assert reasons == {
        NOT_ON_DEMAND: 4,
        OUT_OF_SCOPE: 3 + 8,
        UNKNOWN_GPU: 1,
        NO_PRICE: 1,
        NO_GPU: 1,
        MISSING_PART: 5,
    }


@pytest.mark.parametrize(
    ("description", "usage", "kind"),
    [
        ("nvidia l4 gpu running in americas", "OnDemand", Bought.ON_DEMAND),
        ("nvidia l4 gpu attached to spot preemptible vms running in americas", "Preemptible", Bought.SPOT),
        ("spot preemptible a4 nvidia b200 (1 gpu slice) running in americas", "OnDemand", Bought.SPOT),  # usageType lies
        ("ssd backed local storage attached to spot preemptible vms", "OnDemand", Bought.SPOT),
        ("nvidia h100 mega 80gb gpu attached to dws defined duration vms running in americas", "OnDemand", Bought.FLEX_START),
        ("dws defined duration a3 core running in americas", "OnDemand", Bought.FLEX_START),
        ("nvidia h100 80gb mega gpu dws calendar mode running in americas", "OnDemand", Bought.CALENDAR),
        ("a3ultra core calendar mode running in iowa", "OnDemand", Bought.CALENDAR),
        ("reserved nvidia h100 80gb mega gpu in americas", "OnDemand", Bought.RESERVED),
        ("commitment v1: a2 cpu in americas for 1 year", "Commit1Yr", Bought.COMMITMENT),
    ],
)
def test_how_a_part_is_bought_stands_in_its_description(description, usage, kind):
    assert bought(description, usage) is kind


@pytest.mark.parametrize(
    ("description", "part"),
    [
        ("nvidia tesla a100 gpu running in americas", "GPU nvidia-tesla-a100"),
        ("nvidia tesla a100 80gb gpu running in americas", "GPU nvidia-a100-80gb"),
        ("nvidia h100 80gb gpu running in tokyo", "GPU nvidia-h100-80gb"),
        ("nvidia h100 80gb plus gpu running in americas", "GPU nvidia-h100-mega-80gb"),
        ("nvidia h100 80gb mega gpu attached to spot preemptible vms running in tokyo", "GPU nvidia-h100-mega-80gb"),
        ("nvidia h100 mega 80gb gpu attached to spot preemptible vms running in tokyo", "GPU nvidia-h100-mega-80gb"),
        ("h200 141gb gpu running in netherlands", "GPU nvidia-h200-141gb"),
        ("rtx 6000 96gb attached to spot preemptible vms running in belgium", "GPU nvidia-rtx-pro-6000"),
        ("spot preemptible a4 nvidia b200 (1 gpu slice) running in americas", "GPU nvidia-b200"),
        ("spot preemptible n1 predefined instance core running in americas", "N1 core"),
        ("a3plus instance ram running in americas", "A3PLUS memory"),
        ("a3ultra instance core running in iowa", "A3ULTRA core"),
        ("ssd backed local storage in paris", "local SSD"),
        ("custom instance core running in americas", None),
        ("n2 instance core running in americas", None),
        ("ssd backed pd capacity", None),
        ("nvidia b900 gpu running in americas", None),
        ("nvidia tesla a100 gpu", "GPU nvidia-tesla-a100"),
    ],
)
def test_which_part_a_description_means(description, part):
    assert part_of(description) == part


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (gpu("0", "us-central1"), NO_PRICE),
        (gpu("2.9", "us-central1", units="-2"), NO_PRICE),
        (gpu("2.9", "us-central1", units="NaN"), NO_PRICE),
        (gpu("2.9", "us-central1", nanos=10**9), NO_PRICE),
        (gpu("2.9", "us-central1", currencyCode="EUR"), NO_PRICE),
        (gpu("2.9", "us-central1", unit="mo"), MALFORMED),
        (gpu("2.9", "us-central1") | {"pricingInfo": []}, NO_PRICE),
        (gpu("2.9", "us-central1") | {"serviceRegions": None}, MALFORMED),
        (gpu("2.9", "us-central1", card="Nvidia Tesla T4 GPU attached to Sole Tenancy VMs"), OUT_OF_SCOPE),
        (gpu("2.9", "us-central1", card="Cloud TPU v6e"), NO_GPU),
        (core("0.03", "us-central1", unit="GiBy.h"), MALFORMED),
        (ram("0.03", "us-central1", unit="h"), MALFORMED),
    ],
)
def test_a_row_without_a_usable_price_is_counted_and_makes_no_machine(row, reason):
    batch = parsed(row)
    assert batch.offers == ()
    assert [r.reason for r in batch.rejected] == [reason]


def test_a_price_by_the_decimal_gb_is_turned_to_gib():
    # 0.01 per GB is 0.01 x 1.073741824 per GiB, x 85 = 0.9126805504; + 1 + 12 x 0.01
    batch = parsed(gpu("1", "us-east1"), core("0.01", "us-east1"), ram("0.01", "us-east1", unit="GBy.h"))
    assert found(batch, "a2-highgpu-1g") == {"us-east1": Decimal("2.0326805504")}


def test_the_last_tier_that_begins_at_zero_is_the_price():
    row = gpu("1", "us-east1")
    rates = row["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    rates += [{"startUsageAmount": 0, "unitPrice": money("2")}, {"startUsageAmount": 100, "unitPrice": money("0.5")}]
    batch = parsed(row, core("0.01", "us-east1"), ram("0.01", "us-east1"))
    assert found(batch, "a2-highgpu-1g") == {"us-east1": Decimal("2.97")}  # 2 + 12 x 0.01 + 85 x 0.01


def test_of_two_prices_of_one_part_the_dearer_counts_in_any_order():
    rows = [gpu("1", "us-east1"), gpu("1.5", "us-east1"), core("0.01", "us-east1"), ram("0.01", "us-east1")]
    for order in (rows, rows[::-1]):
        batch = parsed(*order)
        assert found(batch, "a2-highgpu-1g") == {"us-east1": Decimal("2.47")}
        assert [r.row for r in batch.rejected if r.reason == DUPLICATE] == ["sku 1" if order is rows else "sku 3"]


def test_offers_say_who_where_and_of_what():
    offer = next(o for o in parsed(*SKUS).offers if o.instance_type == "g2-standard-48")
    assert (offer.provider, offer.tier, offer.country, offer.price_basis) == ("gcp", "vm", "US", PriceBasis.LIST)
    assert EVIDENCE.tier(offer.provider, offer.tier) is not None
    # 4 x 0.560040239, 48 x 0.024988, 192 x 0.002927
    assert offer.notes == ("USD per hour: GPU nvidia-l4 2.240161, G2 core 1.199424, G2 memory 0.561984",)


def test_what_is_left_out_while_reading():
    kept = [row["description"] for row in SKUS if is_gpu_machine_sku(row)]
    assert len(kept) == len(SKUS) - 3  # a commitment, E2 cores and custom cores
    assert not any(text.startswith(("E2", "Commitment", "Custom")) for text in kept)


def test_every_machine_of_the_table_is_consistent():
    assert len({(s.machine_type, s.accelerator, s.gpu_count) for s in shapes()}) == len(shapes())
    for shape in shapes():
        assert shape.bought_as <= {"on_demand", "spot"}
        assert shape.gpu.name in {o.gpu for o in parsed(*SKUS).offers} | {"H200-SXM", "V100-SXM2-16GB", "P100-PCIe-16GB", "P4"}


@pytest.mark.parametrize("payload", [None, {}, {"skus": []}, {"skus": {}}, []])
def test_no_list_is_no_catalogue(payload):
    with pytest.raises(ProviderPayloadInvalid):
        Gcp().parse(payload, NOW)
