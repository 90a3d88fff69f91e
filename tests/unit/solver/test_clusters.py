"""Clusters that are sold by several machines at least: paid for whole, never priced for fewer."""

import pytest

from providers.offer import CapacityType, Fabric

CLUSTER = {"tier": "cluster", "gpu_count": 8.0, "fabric": Fabric.INFINIBAND, "min_machines": 2}


def raw(**more):
    return {"workload": {"task": "raw", "vram_gib": 20.0, "gpu_hours": 160.0, **more}}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def test_a_job_that_one_machine_holds_pays_for_two_where_two_are_sold(offer, market, plan):
    (option,) = plan(market(offer(usd_per_hour="32", **CLUSTER)), **raw(gpu_count=8)).options
    # one piece of 160 GPU-hours on 8 GPUs: 20 h, and the second machine is paid beside it: 2 x 32 x 20 = 1280;
    # set-up of 10 minutes: 64 / 6 = 10.67
    assert (option.nodes, option.usd_per_hour, option.hours.mid) == (2, 64, 20)
    assert {line.name: round(line.usd_per_run, 2) for line in option.cost.lines} == {"compute": 1280.0, "setup": 10.67}


def test_a_job_in_one_piece_is_left_out_with_a_reason_instead_of_priced_for_one_machine(offer, market, plan):
    in_time = {"constraints": {"max_gpu_count": 8}}
    made = market(offer(usd_per_hour="32", **CLUSTER), offer(usd_per_hour="40", gpu_count=8.0))
    found = plan(made, **raw(gpu_count=8), **in_time)
    assert [(one.tier, one.nodes) for one in found.options] == [("on-demand", 1)]
    assert reasons(found) == {"gpu_count": 1}


def test_three_at_least_are_four_since_machines_are_counted_in_doubles(offer, market, plan):
    (option,) = plan(market(offer(usd_per_hour="32", **{**CLUSTER, "min_machines": 3})), **raw(gpu_count=8)).options
    assert option.nodes == 4


def test_more_machines_than_a_plan_joins_leave_the_cluster_out(offer, market, plan):
    found = plan(market(offer(usd_per_hour="32", **{**CLUSTER, "min_machines": 32})), **raw(gpu_count=8))
    assert not found.options
    assert reasons(found) == {"parallelism": 1}


@pytest.mark.parametrize(("requests_per_second", "nodes"), [(0.1, 2), (1000.0, 2)])
def test_a_service_of_few_replicas_still_rents_the_whole_cluster(offer, market, plan, requests_per_second, nodes):
    load = {
        "task": "infer", "model": "llama-3.1-8b", "prompt_tokens": 500, "output_tokens": 100,
        "requests_per_second": requests_per_second,
    }  # fmt: skip
    on_one = plan(market(offer(usd_per_hour="32", gpu_count=8.0)), workload=load, usage={"hours_per_month": 730.0})
    in_two = plan(market(offer(usd_per_hour="32", **CLUSTER)), workload=load, usage={"hours_per_month": 730.0})
    assert in_two.options[0].nodes == max(nodes, on_one.options[0].nodes)
    least = max(2.0, on_one.options[0].cost.usd_per_month / (32 * 730))
    assert in_two.options[0].cost.usd_per_month == pytest.approx(least * 32 * 730)


def test_a_commitment_to_a_cluster_is_to_all_its_machines(offer, market, plan):
    month = {"capacity_type": CapacityType.RESERVED, "term_months": 1.0}
    asked = {"constraints": {"capacity_types": ["reserved"]}}
    (option,) = plan(market(offer(usd_per_hour="32", **CLUSTER, **month)), **raw(gpu_count=8), **asked).options
    # both machines for the month of 730 h: 2 x 32 x 730 = 46,720
    assert option.cost.ranking_usd == pytest.approx(46_720)
