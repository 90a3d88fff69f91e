"""Quotas: what the account may hold at once bounds what is offered, by GPUs, vCPUs and machines, by region or in all."""

import pytest

from providers.errors import InvalidInput
from providers.offer import Tenancy

AWS = {"feed": "aws", "provider": "aws", "tier": "ec2", "tenancy": Tenancy.HYPERSCALER, "gpu_count": 8.0, "vcpus": 192.0}


def held(unit, limit, *, region=None, provider="aws", **more):
    return {"quotas": [{"provider": provider, "region": region, "unit": unit, "limit": limit}], **more}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def left_out(made):
    (found,) = [one for one in made.exclusions if one.reason == "quota"]
    return found


@pytest.mark.parametrize(
    ("unit", "limit", "is_within"),
    [("gpus", 8, True), ("gpus", 7, False), ("vcpus", 192, True), ("vcpus", 191, False), ("instances", 1, True),
     ("instances", 0, False)],
)  # fmt: skip
def test_a_need_equal_to_its_limit_is_within_it(offer, market, plan, unit, limit, is_within):
    found = plan(market(offer(usd_per_hour="40", **AWS), offer()), constraints=held(unit, limit))
    assert [one.provider for one in found.options] == (["lambda", "aws"] if is_within else ["lambda"])
    assert reasons(found) == ({} if is_within else {"quota": 1})


def test_the_nearest_miss_says_what_it_takes_and_what_the_limit_is(offer, market, plan):
    made = market(
        offer(usd_per_hour="40", **AWS, instance_type="big"),
        offer(usd_per_hour="20", **{**AWS, "gpu_count": 4.0, "vcpus": 96.0}, instance_type="half"),
        offer(),
    )
    one = left_out(plan(made, constraints=held("vcpus", 64, region="us-east-1")))
    assert one.count == 2
    assert one.nearest_miss == (
        "aws ec2 4 x H100-SXM on_demand in US at $20.00/h: takes 96 vcpus at once, the quota at aws in us-east-1 is 64"
    )
    assert "constraints.quotas" in one.would_admit


def test_a_limit_of_a_region_binds_that_region_alone(offer, market, plan):
    made = market(*(offer(usd_per_hour="40", **AWS, region=region) for region in ("us-east-1", "us-west-2")), offer())
    found = plan(made, constraints=held("gpus", 0, region="us-east-1"))
    assert [(one.provider, one.region) for one in found.options] == [("lambda", "us-east-1"), ("aws", "us-west-2")]
    assert left_out(found).count == 1
    assert "takes 8 gpus" in left_out(found).nearest_miss
    assert [one.provider for one in plan(made, constraints=held("gpus", 0)).options] == ["lambda"]


def test_every_limit_that_names_the_place_holds(offer, market, plan):
    both = [
        {"provider": "aws", "unit": "gpus", "limit": 64},
        {"provider": "aws", "region": "us-east-1", "unit": "instances", "limit": 0},
    ]
    assert reasons(plan(market(offer(**AWS), offer()), constraints={"quotas": both})) == {"quota": 1}


def test_machines_of_unknown_vcpus_are_not_known_to_be_within(offer, market, plan):
    made = market(offer(**{**AWS, "vcpus": None}), offer())
    assert "takes an unknown number of vcpus" in left_out(plan(made, constraints=held("vcpus", 10**6))).nearest_miss
    assert reasons(plan(made, constraints=held("gpus", 8))) == {}


def test_a_machine_without_a_region_is_held_to_limits_without_a_region(offer, market, plan):
    made = market(offer(**AWS, region=None), offer(**AWS), offer())
    assert reasons(plan(made, constraints=held("gpus", 0, region="us-east-1"))) == {"quota": 1}
    assert reasons(plan(made, constraints=held("gpus", 0))) == {"quota": 2}


def test_all_machines_of_a_cluster_and_all_runs_at_once_are_counted(offer, market, plan):
    two = {"workload": {"task": "raw", "vram_gib": 20.0, "gpu_hours": 160.0, "gpu_count": 16}}
    made = market(offer(**AWS), offer(gpu_count=8.0))
    assert reasons(plan(made, **two, constraints=held("gpus", 15))) == {"quota": 1}
    assert reasons(plan(made, **two, constraints=held("instances", 2))) == {}
    # 80 runs of 10 h on 16 GPUs are 800 h a month: two at once, 32 GPUs
    often = {"usage": {"runs_per_month": 80.0, "reference_gpu": "H100 SXM"}}
    assert reasons(plan(made, **two, **often, constraints=held("gpus", 31))) == {"quota": 1}
    assert reasons(plan(made, **two, **often, constraints=held("gpus", 32))) == {}


def test_quotas_reliability_regions_and_caps_count_each_offer_once(offer, market, plan):
    regions = ("us-east-1", "us-west-2", "eu-west-1")
    made = market(
        *(offer(usd_per_hour=str(40 + at), **AWS, region=region) for at, region in enumerate(regions)),
        offer(usd_per_hour="50", gpu_count=8.0, region="us-west-2"),
    )
    within = held("gpus", 4, region="us-east-1", residency=["us-east-1", "us-west-2"], max_usd_per_hour=45)
    found = plan(made, constraints=within)
    assert [(one.provider, one.region) for one in found.options] == [("aws", "us-west-2")]
    assert reasons(found) == {"residency": 1, "quota": 1, "max_usd_per_hour": 1}


def test_a_name_that_bounds_nothing_is_refused(offer, market, plan):
    made = market(offer(**AWS), offer())
    with pytest.raises(InvalidInput) as caught:
        plan(made, constraints=held("gpus", 8, provider="awss"))
    assert (caught.value.pointer, caught.value.allowed) == ("/constraints/quotas/0/provider", ("aws", "lambda"))
    with pytest.raises(InvalidInput) as caught:
        plan(made, constraints=held("gpus", 8, region="us-esat-1"))
    assert (caught.value.pointer, caught.value.allowed) == ("/constraints/quotas/0/region", ("us-east-1",))
    assert plan(made, constraints=held("gpus", 8, provider="azure")).options  # known, and without a price today
