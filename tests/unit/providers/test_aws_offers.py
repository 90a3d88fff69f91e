"""What one recorded-shape payload of the signed calls becomes: each expectation is worked by hand from the fixture."""

import json
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from providers.aws import Aws
from providers.errors import ProviderPayloadInvalid
from providers.offer import Arch, Availability, CapacityType, Fabric, Interconnect, PriceBasis

OBSERVED_AT = datetime(2026, 7, 20, 13, tzinfo=UTC)
FIXTURE = Path(__file__).parents[2] / "fixtures" / "aws_payload.json"


@pytest.fixture
def payload():
    return json.loads(FIXTURE.read_text())


@pytest.fixture
def region(payload):
    return payload["regions"]["us-east-1"]


def parse(payload):
    return Aws().parse(payload, OBSERVED_AT)


def on_demand(batch):
    return {offer.instance_type: offer for offer in batch.offers if offer.capacity_type is CapacityType.ON_DEMAND}


def spot(batch):
    return {(offer.instance_type, offer.zone): offer for offer in batch.offers if offer.capacity_type is CapacityType.SPOT}


def reasons(batch, row_part):
    return [rejected.reason for rejected in batch.rejected if row_part in rejected.row or row_part in rejected.detail]


@pytest.mark.parametrize(
    ("instance_type", "reported_mib", "nominal_gb"),
    [("g6.xlarge", 22888, 24), ("g6e.xlarge", 45776, 48), ("p5en.48xlarge", 144384, 141)],
)
def test_memory_is_the_nominal_one_and_the_reported_one_is_kept(payload, instance_type, reported_mib, nominal_gb):
    offer = on_demand(parse(payload))[instance_type]
    assert (offer.gpu_memory_gb, offer.gpu_memory_reported_mib) == (nominal_gb, reported_mib)


def test_a_fraction_of_a_card_is_priced_by_the_whole_card(payload):
    # 0.2024 a machine / 0.125 of an L4 = 1.6192; 24 GB x 0.125 = 3 GB
    offer = on_demand(parse(payload))["g6f.large"]
    assert (offer.gpu, offer.gpu_count, offer.gpu_memory_gb) == ("L4", 0.125, 3)
    assert offer.usd_per_hour == Decimal("0.2024")
    assert offer.usd_per_gpu_hour == Decimal("1.6192")


def test_capacity_blocks_are_no_on_demand_machine_and_say_why(payload):
    batch = parse(payload)
    assert "p5e.48xlarge" not in on_demand(batch)
    assert not [offer for offer in batch.offers if offer.usd_per_hour in (0, Decimal("0.336"))]
    blocks = [rejected for rejected in batch.rejected if rejected.row in ("us-east-1 P5ECB0", "us-east-1 P5ECBOS")]
    assert [block.reason for block in blocks] == ["not_on_demand", "not_on_demand"]
    assert all("capacity block" in block.detail for block in blocks)


def test_a_capacity_block_is_known_by_its_operation_alone(payload, region):
    [block] = [text for text in region["listed"] if "P5ECBOS" in text]
    region["listed"] = [region["listed"][5], block.replace("CapacityBlock", "OnDemand")]
    batch = parse(payload)
    assert set(on_demand(batch)) == {"g5.xlarge"}
    assert reasons(batch, "P5ECBOS") == ["not_on_demand"]


def test_a_capacity_block_is_known_by_its_market_option_alone(payload, region):
    [block] = [text for text in region["listed"] if "P5ECBOS" in text]
    region["listed"] = [region["listed"][5], block.replace("RunInstances:CB", "RunInstances")]
    batch = parse(payload)
    assert set(on_demand(batch)) == {"g5.xlarge"}
    [refused] = [rejected for rejected in batch.rejected if rejected.row == "us-east-1 P5ECBOS"]
    assert (refused.reason, "capacity block" in refused.detail) == ("not_on_demand", True)


@pytest.mark.parametrize("index", [True, 1.0, "1", None, [1], {}, -1, 5])
def test_an_index_that_names_no_band_is_unknown(payload, index):
    payload["advisor"]["us-east-1"]["g5.xlarge"] = index
    assert spot(parse(payload))["g5.xlarge", "us-east-1a"].interruption_fraction_per_month is None


@pytest.mark.parametrize("seed", range(4))
def test_six_products_of_one_machine_in_any_order_are_one_offer(payload, region, seed):
    region["listed"] = region["listed"][:6]
    random.Random(seed).shuffle(region["listed"])  # noqa: S311 - an order, no secret
    batch = parse(payload)
    assert [(name, offer.usd_per_hour) for name, offer in on_demand(batch).items()] == [("g5.xlarge", Decimal("1.006"))]
    listed = Counter(rejected.reason for rejected in batch.rejected if rejected.row.startswith("us-east-1 G5"))
    assert listed == {"out_of_scope": 3, "not_on_demand": 2}  # SQL, Windows, dedicated; two reservations


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_two_rows_of_one_machine_the_newer_price_counts_and_one_not_yet_in_force_does_not(payload, region, newer_first):
    plain = region["listed"][5]
    older = plain.replace("G5PLAIN", "G5OLD").replace("1.0060000000", "0.9000000000").replace("2026-07-01", "2026-01-01")
    future = plain.replace("G5PLAIN", "G5NEXT").replace("1.0060000000", "0.8000000000").replace("2026-07-01", "2026-09-01")
    region["listed"] = [plain, older, future] if newer_first else [future, older, plain]
    batch = parse(payload)
    assert on_demand(batch)["g5.xlarge"].usd_per_hour == Decimal("1.006")
    assert reasons(batch, "G5OLD") == ["duplicate"]
    assert reasons(batch, "G5NEXT") == ["no_price"]


def test_every_listed_product_is_an_offer_or_a_counted_refusal(payload, region):
    batch = parse(payload)
    machines = [json.loads(text)["product"] for text in region["listed"]]
    machines = [machine for machine in machines if "instanceType" in machine["attributes"]]
    refused = [rejected for rejected in batch.rejected if rejected.row.removeprefix("us-east-1 ") in {m["sku"] for m in machines}]
    assert len(on_demand(batch)) + len(refused) == len(machines)


def test_a_machine_of_an_unknown_family_is_counted_as_an_unknown_gpu_and_a_cpu_machine_as_such(payload):
    batch = parse(payload)
    assert reasons(batch, "G9") == ["unknown_gpu"]
    assert reasons(batch, "M5") == ["no_gpu"]


def test_a_machine_offered_without_a_price_is_said(payload):
    [refused] = [rejected for rejected in parse(payload).rejected if rejected.row == "us-east-1 p5.4xlarge"]
    assert refused.reason == "not_on_demand"


def test_the_newest_spot_price_of_each_zone_counts(payload, region):
    batches = []
    for rows in (region["spot"], region["spot"][::-1]):
        region["spot"] = rows
        batches.append(spot(parse(payload)))
    for offers in batches:
        a, b = offers["g5.xlarge", "us-east-1a"], offers["g5.xlarge", "us-east-1b"]
        assert (a.usd_per_hour, b.usd_per_hour) == (Decimal("0.55"), Decimal("0.7"))
        assert "spot price in force since 2026-07-20T12:00:00+00:00" in a.notes
        assert "spot price in force since 2026-07-20T09:00:00+00:00" in b.notes
        assert min(offers.values(), key=lambda offer: offer.usd_per_gpu_hour if offer.gpu == "A10G" else 99) == a
    assert {key: offer.usd_per_hour for key, offer in batches[0].items()} == {
        key: offer.usd_per_hour for key, offer in batches[1].items()
    }


def test_older_spot_records_and_other_systems_are_counted(payload):
    counted = Counter(rejected.reason for rejected in parse(payload).rejected if rejected.row.startswith("spot record"))
    assert counted == {"duplicate": 1, "out_of_scope": 1}


def test_a_spot_price_above_the_on_demand_price_is_kept_as_it_is(payload):
    batch = parse(payload)
    assert spot(batch)["g5g.xlarge", "us-east-1b"].usd_per_hour == Decimal("0.49")
    assert on_demand(batch)["g5g.xlarge"].usd_per_hour == Decimal("0.42")


def test_interruption_bands_stand_on_spot_offers_only(payload):
    batch = parse(payload)
    assert spot(batch)["g5.xlarge", "us-east-1a"].interruption_fraction_per_month == (0.05, 0.10)
    assert spot(batch)["p5en.48xlarge", "us-east-1c"].interruption_fraction_per_month == (0.20, 1.0)
    odd = spot(batch)["g5g.xlarge", "us-east-1b"]  # index 9 is no band
    assert (odd.interruption_fraction_per_month, odd.interruption_source) == (None, None)
    assert all(offer.interruption_fraction_per_month is None for offer in on_demand(batch).values())
    assert "Spot Advisor" in spot(batch)["g5.xlarge", "us-east-1a"].interruption_source


def test_without_the_advisor_interruption_is_unknown_not_zero(payload):
    payload["advisor"] = None
    offers = spot(parse(payload)).values()
    assert len(offers) == 4
    assert all(offer.interruption_fraction_per_month is None for offer in offers)


def test_the_family_table_wins_over_a_wrong_name(payload):
    offer = on_demand(parse(payload))["p5en.48xlarge"]  # the fixture calls its GPUs "NVIDIA"
    assert (offer.gpu, offer.gpu_count, offer.gpu_raw_name) == ("H200-SXM", 8, "NVIDIA")
    assert (offer.interconnect, offer.fabric) == (Interconnect.NVLINK, Fabric.EFA)


def test_machine_facts_are_carried(payload):
    arm = on_demand(parse(payload))["g5g.xlarge"]
    assert (arm.arch, arm.gpu, arm.vcpus, arm.memory_gib) == (Arch.ARM64, "T4G", 4, 8)
    assert (arm.interconnect, arm.fabric, arm.country, arm.scope) == (Interconnect.NONE, Fabric.ETHERNET, "US", "us-east-1")
    assert arm.availability is Availability.UNKNOWN
    assert arm.attestations == frozenset()
    assert spot(parse(payload))["g5g.xlarge", "us-east-1b"].price_basis is PriceBasis.SPOT


def test_a_machine_priced_but_not_offered_in_the_region_is_unavailable(payload, region):
    region["instance_types"] = [entry for entry in region["instance_types"] if entry["InstanceType"] != "g6.xlarge"]
    batch = parse(payload)
    assert on_demand(batch)["g6.xlarge"].availability is Availability.UNAVAILABLE
    assert on_demand(batch)["g5.xlarge"].availability is Availability.UNKNOWN


def test_disk_price_comes_from_the_list_and_else_says_that_it_is_general(payload, region):
    region["listed"][-1] = region["listed"][-1].replace("0.0800000000", "0.0880000000")
    read = on_demand(parse(payload))["g5.xlarge"]
    assert read.storage_usd_per_gb_month == Decimal("0.088")
    assert not any("disk" in note for note in read.notes)
    region["listed"].pop()
    general = on_demand(parse(payload))["g5.xlarge"]
    assert general.storage_usd_per_gb_month == Decimal("0.08")
    assert any("general figure" in note and "disk" in note for note in general.notes)


def test_egress_outside_the_known_places_is_unknown(payload):
    text = json.dumps(payload).replace("us-east-1", "sa-east-1")
    offer = on_demand(parse(json.loads(text)))["g5.xlarge"]
    assert (offer.egress_usd_per_gb, offer.country) == (None, "BR")
    assert on_demand(parse(payload))["g5.xlarge"].egress_usd_per_gb == Decimal("0.09")


def test_failed_regions_are_named_with_their_code(payload):
    batch = parse(payload)
    assert batch.failed_scopes == {"eu-west-1": "provider-credentials"}
    assert {(offer.scope, offer.capacity_type.value) for offer in batch.offers} == {
        ("us-east-1", "on_demand"),
        ("us-east-1 spot", "spot"),
    }


def test_a_region_with_an_empty_list_is_a_failed_scope_and_the_other_stands(payload, region):
    payload["regions"]["us-west-2"] = {**region, "listed": []}
    batch = parse(payload)
    assert batch.failed_scopes["us-west-2"] == "provider-payload-invalid"
    assert {offer.region for offer in batch.offers} == {"us-east-1"}


@pytest.mark.parametrize("listed", [[], None, "<html>", 5])
def test_no_readable_list_at_all_is_an_error(payload, region, listed):
    region["listed"] = listed
    with pytest.raises(ProviderPayloadInvalid):
        parse(payload)


@pytest.mark.parametrize("junk", [None, [], {}, {"regions": {}}, {"regions": []}, {"regions": {"us-east-1": None}}])
def test_a_payload_without_regions_is_an_error(junk):
    with pytest.raises(ProviderPayloadInvalid):
        parse(junk)


@pytest.mark.parametrize("usd", ["NaN", "Infinity", "1e999", "-1", "0", "", "abc"])
def test_a_price_that_is_no_positive_amount_is_no_offer(payload, region, usd):
    region["listed"] = [region["listed"][5].replace("1.0060000000", usd), region["listed"][6]]
    batch = parse(payload)
    assert set(on_demand(batch)) == {"g6.xlarge"}
    assert reasons(batch, "G5PLAIN") == ["no_price"]


@pytest.mark.parametrize("size", [10**400, -1, 0, "lots", None, float("inf"), []])
@pytest.mark.parametrize("holder", ["MemoryInfo", "InstanceStorageInfo"])
def test_a_machine_with_an_unreadable_size_falls_back_to_the_shipped_table(payload, region, holder, size):
    fields = {"MemoryInfo": "SizeInMiB", "InstanceStorageInfo": "TotalSizeInGB"}
    region["instance_types"][0][holder] = {fields[holder]: size}  # g5.xlarge
    batch = parse(payload)
    assert reasons(batch, "instance type 0") == ["malformed"]
    offer = on_demand(batch)["g5.xlarge"]
    assert (offer.memory_gib, offer.disk_included_gb, offer.availability) == (16, 250, Availability.UNKNOWN)


def test_another_currency_is_no_price(payload, region):
    region["listed"] = [region["listed"][5].replace('"USD"', '"CNY"'), region["listed"][6]]
    assert set(on_demand(parse(payload))) == {"g6.xlarge"}


@pytest.mark.parametrize("broken", ["{", "null", "[]", "[" * 100_000, '{"product": 3}', '{"product": {"sku": ""}}'])
def test_a_broken_entry_is_counted_and_the_rest_stands(payload, region, broken):
    region["listed"].append(broken)
    batch = parse(payload)
    assert reasons(batch, f"product {len(region['listed']) - 1}") == ["malformed"]
    assert "g5.xlarge" in on_demand(batch)
