"""RunPod's savings plans and clusters: paid for a term, joined by InfiniBand, and what is no such offer."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from providers.offer import Availability, CapacityType, Fabric
from providers.runpod import RunPod
from providers.runpod.graphql import _CATALOGUE

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
H100 = {
    "id": "NVIDIA H100 80GB HBM3", "memoryInGb": 80, "secureCloud": True, "communityCloud": False, "maxGpuCount": 8,
    "securePrice": 3.59, "communityPrice": None,
}  # fmt: skip
LOWEST = {"minimumBidPrice": 3.59, "uninterruptablePrice": 3.59, "stockStatus": "Low"}
IN_STOCK = {
    "cloud": "secure", "place": "US-DE-1", "count": 2, "gpuTypes": [{"id": H100["id"], "lowestPrice": LOWEST}],
}  # fmt: skip
CENTER = {"id": "US-DE-1", "compliance": ["SOC_2_TYPE_2"]}


def parsed(**prices):
    payload = {"api": "graphql", "gpuTypes": [{**H100, **prices}], "dataCenters": [CENTER], "probes": [IN_STOCK]}
    return RunPod().parse(payload, NOW)


def reserved(batch):
    return [one for one in batch.offers if one.capacity_type is CapacityType.RESERVED]


def test_a_plan_is_reserved_capacity_at_its_price_for_its_term():
    batch = parsed(oneMonthPrice=3.3, threeMonthPrice=3.1, sixMonthPrice=2.9)
    (two,) = [one for one in reserved(batch) if one.term_months == 3 and one.availability is Availability.LIMITED]
    # 3.10 for one GPU: 6.20 for two; 6.20 x 3 x 730 h = 13,578 in advance
    assert (two.gpu_count, two.usd_per_hour, two.upfront_usd) == (2, Decimal("6.2"), Decimal(0))
    assert (two.region, two.country, two.attestations) == ("US-DE-1", "US", frozenset({"soc2_type2"}))
    assert "13578.00 USD for 3 months" in two.notes[0]
    assert {one.term_months for one in reserved(batch)} == {1, 3, 6}


def test_a_plan_never_changes_the_price_on_demand():
    on_demand = [one for one in parsed(oneMonthPrice=3.3).offers if one.capacity_type is CapacityType.ON_DEMAND]
    assert on_demand == list(parsed().offers)


@pytest.mark.parametrize("plan", [3.59, 4.0, -1, "cheap", float("nan")])
def test_a_plan_that_saves_nothing_or_is_no_price_is_counted_alone(plan):
    batch = parsed(sixMonthPrice=plan)
    assert not reserved(batch)
    assert [(one.reason, one.row) for one in batch.rejected if one.row.startswith("six")] == [
        ("no_price", f"sixMonthPrice {H100['id']}")
    ]
    assert len(batch.offers) == len(parsed().offers)


@pytest.mark.parametrize("plan", [None, 0])
def test_no_plan_is_no_row(plan):
    assert parsed(oneMonthPrice=plan) == parsed()


def test_a_cluster_is_its_own_tier_of_eight_with_infiniband():
    (one,) = [one for one in parsed(clusterPrice=3.99).offers if one.tier == "cluster"]
    # 3.99 for one GPU: 31.92 for a machine of eight
    assert (one.gpu_count, one.usd_per_hour, one.fabric) == (8, Decimal("31.92"), Fabric.INFINIBAND)
    assert (one.capacity_type, one.availability) == (CapacityType.ON_DEMAND, Availability.UNKNOWN)
    assert (one.region, one.country) == (None, None)


def test_a_plain_pod_has_no_infiniband():
    assert {one.fabric for one in parsed(clusterPrice=3.99).offers if one.tier == "secure"} == {Fabric.UNKNOWN}


def test_a_card_that_does_not_come_by_eight_makes_no_cluster():
    batch = parsed(clusterPrice=3.99, maxGpuCount=4)
    assert not [one for one in batch.offers if one.tier == "cluster"]
    assert "out_of_scope" in [one.reason for one in batch.rejected if one.row.startswith("cluster")]


def test_the_catalogue_query_asks_for_these_prices():
    assert {"oneMonthPrice", "threeMonthPrice", "sixMonthPrice", "clusterPrice"} <= set(_CATALOGUE.split())


def test_a_cluster_is_sold_by_two_machines_at_least_and_a_pod_by_one():
    least = {one.tier: one.min_machines for one in parsed(clusterPrice=3.99).offers}
    assert least == {"secure": 1, "cluster": 2}
