"""Leaders, ties and the identity of an answer."""

from dataclasses import asdict
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


SERVED = {"task": "infer", "model": "llama-3.1-8b", "requests_per_second": 2.0, "prompt_tokens": 500, "output_tokens": 200}


def served(target: float) -> dict:
    return {"workload": {**SERVED, "time_per_output_token_seconds": target}, "usage": {"hours_per_month": 730.0}}


def test_a_latency_target_that_a_request_alone_misses_leaves_the_card_out(offer, market, plan):
    # 16 GB of weights are read for each token: 4.8 ms at the 3.35 TB/s of an H100, 53 ms at the 0.3 TB/s of an L4
    sold = market(offer("H100-SXM", "4"), offer("L4", "0.8", region="b"))
    assert {option.gpu for option in plan(sold, **served(0.5)).options} == {"H100-SXM", "L4"}
    made = plan(sold, **served(0.03))
    assert [option.gpu for option in made.options] == ["H100-SXM"]
    (late,) = made.exclusions
    assert (late.reason, late.count) == ("too_slow", 1)
    assert "for each more" in late.nearest_miss
    assert "times what is asked for" in late.nearest_miss
    assert late.would_admit.startswith("looser latency targets")
    none = plan(sold, **served(0.0001), on_prem=[{"gpu": "H100 SXM", "nodes": 1, "capex_usd_per_node": 275000.0}])
    assert (none.options, none.decision.verdict) == ((), "infeasible")
    assert none.exclusions[0].nearest_miss.startswith("lambda on-demand 1 x H100-SXM")
    assert [one.reason for one in none.exclusions] == ["too_slow", "too_slow"]


def test_why_and_summary_are_plain_sentences(offer, market, plan):
    # 100 h on the reference card at 4 a hour, and 10 minutes before: 400.67
    made = plan(market(offer(), offer(usd_per_hour="5", region=None, country=None)))
    first, second = made.options
    assert first.why == (
        "1 x H100-SXM at lambda in us-east-1 for $4.00 an hour (on demand)."
        " The work takes about 100 h a run on one GPU and needs 20 of the 79.1 GiB of a GPU."
        " The expected total is $401 per run."
    )
    assert "at lambda (region not stated) for $5.00" in second.why
    assert made.summary.endswith(
        " First stands 1 x H100-SXM at lambda in us-east-1 for $4.00 an hour (on demand): $401 per run in all."
    )


def test_every_figure_is_rounded_to_micros(offer, market, plan):
    made = plan(
        market(offer(usd_per_hour="1.234567"), offer("A100-SXM4-80GB", "0.77", capacity_type=SPOT, country="DE")),
        workload={"model": "llama-3.1-8b", "technique": "lora", "tokens": 12345678.9},
        usage={"runs_per_month": 7.0},
        on_prem=[{"gpu": "H100 SXM", "nodes": 1, "capex_usd_per_node": 275000.0}],
    )
    answer = asdict(made) | {"request_echo": None}
    assert made.options[0].hours.mid > 0
    assert [number for number in numbers_of(answer) if round(number, 6) != number] == []


def numbers_of(value):
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return [value] if isinstance(value, float) else []
    return [number for part in value for number in numbers_of(part)]
