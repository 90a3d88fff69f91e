"""Leaders, ties and the identity of an answer."""

from datetime import timedelta

from providers.offer import Availability, CapacityType
from service.domain.request import DataSensitivity, PlanRequest
from service.solver.solve import solve

SPOT = CapacityType.SPOT


RAW_OPEN = {"task": "raw", "vram_gib": 20.0}


def test_the_obtainable_leader_needs_known_stock_and_a_host_that_stays(offer, market, plan):
    made = plan(
        market(
            offer(usd_per_hour="3", availability=Availability.UNKNOWN),
            offer(usd_per_hour="3.5", region="b", machine_id="m1", host_lifetime_hours=50.0),
            offer(usd_per_hour="4", region="c", machine_id="m2", host_lifetime_hours=200.0),
        )
    )
    assert (made.leaders.cheapest_listed.rank, made.leaders.cheapest_obtainable.rank) == (1, 3)
    none = plan(market(offer(availability=Availability.UNKNOWN)))
    assert none.leaders.cheapest_obtainable.rank is None
    assert "known to be available" in none.leaders.cheapest_obtainable.reason
    beyond = plan(market(offer(availability=Availability.UNKNOWN), offer(usd_per_hour="5", country="DE")), limit=1)
    assert beyond.leaders.cheapest_obtainable.rank is None
    assert "in DE at $5.00/h, about $501 per run" in beyond.leaders.cheapest_obtainable.reason


def test_overlapping_ranges_of_different_cards_are_about_equal(offer, market, plan):
    made = plan(market(offer("H100-SXM", "4"), offer("A100-SXM4-80GB", "1.75"), offer("H100-SXM", "4.1", region="b")))
    groups = {(o.gpu, o.usd_per_hour): o.tie_group for o in made.options}
    assert groups["H100-SXM", 4.0] == groups["A100-SXM4-80GB", 1.75] == 1
    assert groups["H100-SXM", 4.1] == 2  # the same card, count and strategy differ exactly


def test_the_same_inputs_give_the_same_answer(offer, market, plan):
    first, second = (plan(market(offer(), offer("L40S", "1"))) for _ in range(2))
    assert first == second


def test_the_id_names_everything_that_decides(offer, market, plan, now):
    base = plan(market(offer())).plan_id
    assert plan(market(offer()), limit=19).plan_id != base
    assert plan(market(offer()), now=now + timedelta(minutes=1)).plan_id != base
    assert plan(market(offer()), evaluated_at=now).plan_id == base


def test_totals_are_sums_of_their_rounded_lines(offer, market, plan):
    made = plan(market(offer(usd_per_hour="3.333333", billing_increment_seconds=3600)), usage={
        "runs_per_month": 7.0, "horizon_months": 13, "reference_gpu": "H100 SXM"})  # fmt: skip
    cost = made.options[0].cost
    for total, name in (
        (cost.usd_per_run, "usd_per_run"),
        (cost.usd_per_month, "usd_per_month"),
        (cost.usd_over_horizon, "usd_over_horizon"),
    ):
        assert total == round(sum(round(getattr(line, name) * 1e6) for line in cost.lines)) / 1e6


def test_the_class_of_a_request_that_names_none_is_echoed_and_listed(offer, market, now):
    body = {"workload": {**RAW_OPEN, "gpu_hours": 1.0}, "usage": {"runs": 1.0, "reference_gpu": "T4"}}
    request = PlanRequest.model_validate(body, strict=False)
    made = solve(request, market(offer()), evaluated_at=now, default_sensitivity=DataSensitivity.CONFIDENTIAL)
    assert made.request_echo["constraints"]["data_sensitivity"] == "confidential"
    assert any(one.name == "constraints.data_sensitivity" and one.value == "confidential" for one in made.assumptions)
