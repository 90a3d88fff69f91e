"""Equal work: hours, shares and amounts become one amount that every option does."""

import pytest

from providers.errors import InvalidInput
from providers.gpus import GPUS
from providers.offer import CapacityType, Tenancy
from service.estimate.runtime import relative_speed

SPOT = CapacityType.SPOT


COMMUNITY = {"feed": "runpod", "provider": "runpod", "tier": "community", "tenancy": Tenancy.COMMUNITY_HOST}
RAW_OPEN = {"task": "raw", "vram_gib": 20.0}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def lines(option):
    return {line.name: line.usd_per_run for line in option.cost.lines}


def test_a_hundred_hours_on_the_reference_cost_a_hundred_prices_and_the_set_up(offer, market, plan):
    made = plan(market(offer(usd_per_hour="4")))
    option = made.options[0]
    # 100 h x 4 = 400; 10 min of set-up x 4 = 0.666667; per second: nothing to round up
    assert (option.hours.low, option.hours.mid, option.hours.high) == (100, 100, 100)
    assert lines(option) == {"compute": 400.0, "setup": 0.666667}
    assert option.cost.usd_per_run == option.cost.ranking_usd == 400.666667
    assert (option.cost.usd_per_month, option.cost.ranking_period) == (None, "per_run")
    assert option.cost.usd_over_horizon == 400.666667


def test_runs_each_month_are_counted_over_the_horizon(offer, market, plan):
    made = plan(market(offer(usd_per_hour="4")), usage={"runs_per_month": 2.0, "horizon_months": 12, "reference_gpu": "H100 SXM"})
    cost = made.options[0].cost
    assert (cost.usd_per_run, cost.usd_per_month, cost.usd_over_horizon) == (400.666667, pytest.approx(801.333333), 9616.0)
    assert (cost.ranking_usd, cost.ranking_period) == (cost.usd_per_month, "per_month")


def test_a_slower_card_needs_more_hours_for_the_same_work(offer, market, plan):
    made = plan(market(offer("A100-SXM4-80GB", "2"), offer("H100-SXM", "4")))
    hours = {option.gpu: option.hours for option in made.options}
    assert hours["H100-SXM"].mid == 100
    speed = relative_speed(GPUS["A100-SXM4-80GB"], GPUS["H100-SXM"])
    assert hours["A100-SXM4-80GB"].mid == pytest.approx(100 / speed)
    assert hours["A100-SXM4-80GB"].low < hours["A100-SXM4-80GB"].mid < hours["A100-SXM4-80GB"].high


def test_utilization_of_one_card_is_its_hours(offer, market, plan):
    by_share = plan(market(offer()), usage={"utilization": 0.5, "reference_gpu": "H100 SXM"}, workload=RAW_OPEN)
    by_hours = plan(market(offer()), usage={"hours_per_month": 365.0, "reference_gpu": "H100 SXM"}, workload=RAW_OPEN)
    assert by_share.options[0].hours.mid == by_hours.options[0].hours.mid == 365
    assert by_share.options[0].cost.usd_per_month == pytest.approx(365 * 4 + 4 / 6)


def test_hours_without_a_card_are_asked_for(offer, market, plan):
    for usage in ({"utilization": 0.5}, {"hours_per_month": 10.0}):
        with pytest.raises(InvalidInput, match="which one") as caught:
            plan(market(offer()), usage=usage, workload=RAW_OPEN)
        assert caught.value.pointer == "/usage/reference_gpu"


def test_work_without_an_amount_is_asked_for(offer, market, plan):
    with pytest.raises(InvalidInput) as caught:
        plan(market(offer()), workload={"task": "train", "model": "llama-3.1-8b"}, usage={"runs": 1.0})
    assert caught.value.pointer == "/workload/tokens"


def test_a_pools_share_is_of_all_its_cards(offer, market, plan):
    pool = {"gpu": "H100 SXM", "gpus_per_node": 8, "usd_per_gpu_hour": 2.0}
    made = plan(market(offer()), usage={"utilization": 0.5}, workload=RAW_OPEN, on_prem=[pool])
    cloud = next(option for option in made.options if option.kind == "cloud")
    assert cloud.hours.mid == pytest.approx(0.5 * 730 * 8)  # one card does the work of eight at half use
    assert made.decision.utilization == 0.5


def test_machines_of_one_kind_and_place_are_joined_hosts_never(offer, market, plan):
    four = {**RAW_OPEN, "gpu_count": 4, "gpu_hours": 400.0}
    made = plan(market(offer(usd_per_hour="4"), offer(usd_per_hour="1", machine_id="m1", region="b")), workload=four)
    option = made.options[0]
    assert (option.nodes, option.gpu_count, option.usd_per_hour, option.hours.mid) == (4, 1, 16, 100)
    assert reasons(made) == {"gpu_count": 1}


def test_a_month_of_work_that_one_machine_cannot_do_names_how_many_do(offer, market, plan):
    pool = {"gpu": "H100 SXM", "gpus_per_node": 8, "usd_per_gpu_hour": 2.0}
    made = plan(market(offer()), usage={"utilization": 0.5}, workload=RAW_OPEN, on_prem=[pool])
    cloud = next(option for option in made.options if option.kind == "cloud")
    assert "2,920 h a run, 4 at once for a month's work" in cloud.why


def test_machines_of_the_public_make_no_cluster_but_serve_replicas(offer, market, plan):
    public = market(offer("RTX 4090", "0.4", **COMMUNITY))
    four = {**RAW_OPEN, "gpu_count": 4, "gpu_hours": 400.0}
    assert reasons(plan(public, workload=four)) == {"gpu_count": 1}
    served = {"task": "infer", "model": "llama-3.1-8b", "requests_per_second": 50.0}
    assert plan(public, workload=served, usage={"hours_per_month": 10.0}).options[0].nodes > 1


def test_a_model_too_large_for_one_machine_takes_several(offer, market, plan):
    big = {"task": "train", "model": "llama-3.1-70b", "technique": "full", "precision": "bf16", "tokens": 1e7}
    option = plan(market(offer(usd_per_hour="32", gpu_count=8.0)), workload=big, usage={"runs": 1.0}).options[0]
    assert option.nodes in (2, 4)
    assert option.vram.need_gib <= option.vram.usable_gib


def test_more_machines_meet_a_deadline(offer, market, plan):
    job = {"task": "train", "model": "llama-3.1-8b", "technique": "lora", "precision": "bf16", "tokens": 5e7}
    slow = plan(market(offer()), workload=job, usage={"runs": 1.0}).options[0]
    soon = slow.hours.mid * 0.7
    fast = plan(market(offer()), workload=job, usage={"runs": 1.0}, constraints={"deadline_hours": soon}).options[0]
    assert (slow.nodes, fast.nodes) == (1, 2)
    assert fast.hours.mid < soon
    assert slow.deadline.probability is None
    assert fast.deadline.probability in (">= 95 %", "80-95 %", "50-80 %")


def test_a_deadline_that_nothing_meets_is_infeasible_with_the_nearest(offer, market, plan):
    made = plan(market(offer()), constraints={"deadline_hours": 50.0})
    assert (made.decision.verdict, reasons(made)) == ("infeasible", {"too_slow": 1})
    assert "about 100 h a run" in made.exclusions[0].nearest_miss
