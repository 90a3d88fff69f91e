"""Rent or own on small markets, with the arithmetic beside the figures."""

import pytest

from providers.errors import InvalidInput
from providers.offer import CapacityType
from service.domain.request import OnPremPool

RAW = {"task": "raw", "vram_gib": 20.0, "gpu_count": 8}
EIGHT = {"gpu_count": 8.0}
FLAT = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "usd_per_gpu_hour": 2.01}


def own(made):
    return next(option for option in made.options if option.kind == "on_prem")


def cloud(made):
    return next(option for option in made.options if option.kind == "cloud")


def test_a_pool_at_2_01_beside_a_cloud_at_3_99_and_55_percent(offer, market, plan):
    made = plan(market(offer(usd_per_hour="31.92", **EIGHT)), workload=RAW, usage={"utilization": 0.55}, on_prem=[FLAT])
    # own 2.01 x 8 x 730 = 11,738.40 whatever the use; cloud 31.92 x 0.55 x 730 = 12,815.88 and 5.32 of set-up
    assert own(made).cost.usd_per_month == pytest.approx(11_738.40)
    assert cloud(made).cost.usd_per_month == pytest.approx(12_815.88 + 31.92 / 6)
    assert made.options[0].kind == "on_prem"
    decision = made.decision
    assert (decision.verdict, decision.utilization) == ("on_prem", 0.55)
    # 2.01 / 3.99 at the list price; the set-up makes the cheapest dearer by 0.04 %
    assert decision.breakeven_utilization.against_cheapest_allowed == pytest.approx(0.5038, abs=0.0005)
    assert decision.usd_per_useful_gpu_hour.full == pytest.approx(2.01 / 0.55, abs=1e-6)
    assert (decision.usd_per_useful_gpu_hour.vendor, decision.payback_months.p50) == (None, None)


@pytest.mark.parametrize(("share", "verdict"), [(0.3, "cloud"), (0.45, "depends"), (0.9, "on_prem")])
def test_the_verdict_follows_the_two_bounds(offer, market, plan, share, verdict):
    # own 2.01: 40 % against on demand at 5.00; 80 % against spot at 2.50 (interruptions make it a little dearer)
    tiers = market(offer(usd_per_hour="40", **EIGHT), offer(usd_per_hour="20", capacity_type=CapacityType.SPOT, **EIGHT))
    work = {**RAW, "gpu_hours": 80.0, "checkpoint": {"supported": "yes"}}
    made = plan(tiers, workload=work, usage={"utilization": share}, on_prem=[FLAT])
    bounds = made.decision.breakeven_utilization
    assert bounds.against_dearest_on_demand == pytest.approx(0.402, abs=0.001)
    assert 0.70 < bounds.against_cheapest_allowed < 0.80
    assert made.decision.verdict == verdict
    if verdict != "depends":
        assert made.options[0].kind == verdict


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_first_option_and_the_verdict_agree_where_there_is_one_tier(offer, market, plan, share):
    pool = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}
    made = plan(market(offer(usd_per_hour="34", **EIGHT)), workload=RAW, usage={"utilization": share}, on_prem=[pool])
    assert made.options[0].kind == made.decision.verdict
    line_names = [line.name for line in own(made).cost.lines]
    assert line_names == ["capital", "electricity", "maintenance", "staff", "downtime"]
    # the total of the lines is the cost per useful hour of the formula, times the hours
    assert own(made).cost.usd_per_month == pytest.approx(made.decision.usd_per_useful_gpu_hour.full * share * 730 * 8, rel=1e-6)


@pytest.mark.parametrize("price", [{"usd_per_gpu_hour": 0.95}, {"usd_per_gpu_month": 693.50}])
def test_units_of_flat_prices(offer, market, plan, price):
    pool = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 1, **price}
    made = plan(market(offer()), workload={**RAW, "gpu_count": 1}, usage={"utilization": 0.5}, on_prem=[pool])
    option = own(made)
    assert option.usd_per_hour == pytest.approx(0.95)
    assert option.cost.usd_per_month == pytest.approx(693.50)
    assert "$0.95 a GPU-hour, $693.50 a GPU-month" in option.why


def test_owned_hardware_counts_only_what_a_busy_hour_adds(offer, market, plan):
    pool = {"name": "dc", "gpu": "H100 SXM", "mode": "owned", "load_watts": 8400.0, "idle_watts": 2200.0, "pue": 1.0,
            "electricity_usd_per_kwh": 0.10}  # fmt: skip
    made = plan(market(offer(usd_per_hour="32", **EIGHT)), workload={**RAW, "gpu_hours": 800.0}, on_prem=[pool])
    # 6.2 kW x 0.10 / 8 = 0.0775 a GPU-hour, 800 of them
    assert own(made).cost.usd_per_run == pytest.approx(62.0)
    assert made.decision.verdict == "on_prem"
    assert made.decision.breakeven_utilization is None


def test_a_pool_too_small_is_left_out_with_the_shortfall(offer, market, plan):
    pool = {**FLAT, "busy_fraction": 0.5}
    made = plan(market(offer(usd_per_hour="32", **EIGHT)), workload=RAW, usage={"utilization": 0.6}, on_prem=[pool])
    left_out = next(one for one in made.exclusions if one.reason == "pool_too_small")
    # 3,504 GPU-hours are needed, 2,920 are free
    assert "3,500 GPU-hours a month are needed, 2,920 are free: 584 short" in left_out.explained
    assert made.decision.verdict == "cloud"


def test_a_card_too_small_is_left_out(offer, market, plan):
    made = plan(market(offer(usd_per_hour="32", **EIGHT)), workload={**RAW, "vram_gib": 100.0, "gpu_hours": 1.0},
                on_prem=[FLAT])  # fmt: skip
    assert made.decision.verdict == "infeasible"
    assert [one.reason for one in made.exclusions] == ["vram", "vram"]


def test_local_only_never_leaves_the_house(offer, market, plan):
    local = {"data_sensitivity": "local_only"}
    with_pool = plan(market(offer()), workload={**RAW, "gpu_hours": 8.0}, on_prem=[FLAT], constraints=local)
    assert [option.kind for option in with_pool.options] == ["on_prem"]
    assert with_pool.decision.verdict == "on_prem"
    without = plan(market(offer()), workload={**RAW, "gpu_hours": 8.0}, constraints=local)
    assert (without.options, without.decision.verdict) == ((), "infeasible")


def test_residency_asks_where_own_hardware_stands(offer, market, plan):
    german = market(offer(usd_per_hour="32", country="DE", **EIGHT))
    work = {**RAW, "gpu_hours": 8.0}
    unknown = plan(german, workload=work, on_prem=[FLAT], constraints={"residency": ["EU"]})
    assert [option.kind for option in unknown.options] == ["cloud"]
    known = plan(german, workload=work, on_prem=[{**FLAT, "country": "DE"}], constraints={"residency": ["EU"]})
    assert {option.kind for option in known.options} == {"cloud", "on_prem"}


def test_pools_by_name_the_default_box_and_an_unknown_name(offer, market, plan):
    made = market(offer(usd_per_hour="32", **EIGHT))
    stored = {"dc1": OnPremPool(name="dc1", gpu="H100 SXM", usd_per_gpu_hour=2.0)}
    named = plan(made, workload={**RAW, "gpu_hours": 8.0}, on_prem=["dc1"], pools=stored)
    assert named.decision.pool == "dc1"
    default = plan(made, workload={**RAW, "gpu_hours": 8.0}, on_prem=["default"])
    assert default.decision.pool == "default"
    assert {"on_prem.default.capex_usd_per_node", "on_prem.default.pue"} <= {one.name for one in default.assumptions}
    with pytest.raises(InvalidInput) as caught:
        plan(made, workload={**RAW, "gpu_hours": 8.0}, on_prem=["dc2"], pools=stored)
    assert caught.value.pointer == "/on_prem/0"
    assert caught.value.allowed == ("default", "dc1")


def test_without_a_pool_the_answer_says_when_a_default_box_would_win(offer, market, plan):
    made = plan(market(offer(usd_per_hour="32", **EIGHT)), workload={**RAW, "gpu_hours": 800.0})
    share = made.decision.default_box_wins_from_utilization
    assert made.decision.verdict == "cloud"
    assert 0.3 < share < 1.0
    assert "a default box of 8 x H100-SXM would win from" in made.decision.sentence
    cheap = plan(market(offer(usd_per_hour="0.8", **EIGHT)), workload={**RAW, "gpu_hours": 800.0})
    assert cheap.decision.default_box_wins_from_utilization is None


def test_what_would_flip_the_decision_flips_it(offer, market, plan):
    pool = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}

    def verdict(share, capex=275_000.0):
        body = {"workload": RAW, "usage": {"utilization": share}, "on_prem": [{**pool, "capex_usd_per_node": capex}]}
        return plan(market(offer(usd_per_hour="32", **EIGHT)), **body).decision

    base = verdict(0.4)
    assert base.verdict == "cloud"
    bound = base.breakeven_utilization.against_cheapest_allowed
    assert verdict(bound + 0.01).verdict == "on_prem"
    assert verdict(bound - 0.01).verdict == "cloud"
    assert base.flips_if[0] == f"utilization over {bound * 100:.1f} %".replace(".0 %", " %")


def test_payback_says_never_and_is_in_order(offer, market, plan):
    pool = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}

    def payback(share):
        body = {"workload": RAW, "usage": {"utilization": share}, "on_prem": [pool]}
        return plan(market(offer(usd_per_hour="40", **EIGHT)), **body).decision.payback_months

    assert payback(0.1).p50 is None
    busy = payback(0.9)
    assert busy.p10 < busy.p50 < busy.p90
    assert busy.p50 < payback(0.7).p50


def test_one_small_job_against_a_whole_node_is_said_to_be_alone(offer, market, plan):
    pool = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}
    made = plan(market(offer()), on_prem=[pool])
    assert made.decision.verdict == "cloud"
    assert "for this workload alone" in made.decision.sentence


def test_a_service_is_priced_by_its_replicas(offer, market, plan):
    body = {"task": "infer", "model": "llama-3.1-8b", "requests_per_second": 2.0, "prompt_tokens": 500, "output_tokens": 200}
    made = plan(market(offer()), workload=body, usage={"hours_per_month": 100.0})
    option = made.options[0]
    assert (option.hours.mid, option.cost.usd_per_run) == (100, None)
    assert option.cost.usd_per_month == pytest.approx(100 * 4 * option.nodes)
    many = plan(market(offer()), workload={**body, "requests_per_second": 200.0}, usage={"hours_per_month": 100.0}).options[0]
    assert many.nodes > option.nodes
    assert many.cost.low_usd <= many.cost.ranking_usd <= many.cost.high_usd
    # 200 a second x 200 tokens x 3,600 s x 100 h = 14,400 million tokens
    assert many.usd_per_million_tokens == pytest.approx(many.cost.usd_per_month / 14_400, rel=1e-4)


def test_a_service_without_hours_is_always_up_and_has_no_runs(offer, market, plan, now):
    body = {"task": "infer", "model": "llama-3.1-8b"}
    with pytest.raises(InvalidInput) as caught:
        plan(market(offer()), workload=body, usage={"runs_per_month": 2.0})
    assert caught.value.pointer == "/usage/runs_per_month"
