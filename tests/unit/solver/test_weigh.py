"""What a plan's decision says beyond its verdict, on small markets."""

import pytest
from pydantic import ValidationError

RAW = {"task": "raw", "vram_gib": 20.0, "gpu_count": 8}
BOX = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}


@pytest.fixture
def decided(offer, market, plan):
    def made(usd_per_hour="34", utilization=0.6, pool=BOX, workload=RAW, usage=None, **body):
        offers = market(offer(usd_per_hour=usd_per_hour, gpu_count=8.0))
        usage = usage or {"utilization": utilization}
        return plan(offers, workload=workload, usage=usage, on_prem=[pool] if pool else [], **body).decision

    return made


def test_a_purchase_is_told_by_quantiles_over_a_thousand_draws(decided):
    found = decided()
    npv, months = found.npv, found.payback_months
    assert npv.draws == 1000
    assert npv.p10_usd < npv.p50_usd < npv.p90_usd
    assert months.p10 < months.p50
    assert months.p90 is None  # never within the life in over a tenth of the draws
    for share in (npv.positive_fraction, npv.never_paid_fraction):
        assert share * 20 == pytest.approx(round(share * 20))  # in steps of 5 points
    assert "1,000 draws" in npv.explained


def test_the_same_request_gives_the_same_digits(decided):
    assert decided() == decided()


def test_three_futures_stand_beside_the_user_s_own(decided):
    mine = {"name": "price war", "cloud_price_factor": 0.5, "utilization": 0.3}
    found = {one.name: one for one in decided(scenarios=[mine]).scenarios}
    assert list(found) == ["flat price", "price falling 12 % a year", "price rising 15 % a year", "price war"]
    values = [
        found[name].npv_usd for name in ("price war", "price falling 12 % a year", "flat price", "price rising 15 % a year")
    ]
    assert values == sorted(values)
    assert found["price war"].verdict == "cloud"
    assert found["price war"].payback_months is None
    assert found["price war"].regret_of_buying_usd == -found["price war"].npv_usd
    assert found["price rising 15 % a year"].regret_of_buying_usd == 0
    assert found["price rising 15 % a year"].regret_of_renting_usd == found["price rising 15 % a year"].npv_usd


def test_the_flat_future_is_the_base(decided):
    found = decided()
    assert found.scenarios[0].npv_usd == found.npv.base_usd


def test_a_scenario_with_a_dearer_purchase_pays_back_later(decided):
    found = decided(scenarios=[{"name": "tariff", "capex_factor": 1.2}])
    assert found.scenarios[3].payback_months > found.scenarios[0].payback_months


@pytest.mark.parametrize(
    "scenarios",
    [
        [{"name": "x"}] * 6,
        [{"name": "x", "utilization": 1.2}],
        [{"name": "x", "cloud_price_factor": 0.0}],
        [{"name": "x", "capex_factor": -1.0}],
        [{"name": "x", "price": 2.0}],
    ],
)
def test_scenarios_that_cannot_be_are_refused(decided, scenarios):
    with pytest.raises(ValidationError):
        decided(scenarios=scenarios)


def test_swings_are_ten_at_most_and_the_largest_come_first(decided):
    found = decided().swings
    sizes = [abs(one.npv_at_high_usd - one.npv_at_low_usd) for one in found]
    assert len(found) == 10
    assert sizes == sorted(sizes, reverse=True)
    change = next(one for one in found if one.name == "cloud_price_change_per_year")
    assert (change.low, change.high, change.unit) == (-0.12, 0.15, "a year")
    capex = next(one for one in found if one.name == "capex")
    assert (capex.low, capex.high) == (0.9, 1.1)  # it was given; a default has its own range
    staff = next(one for one in found if one.name == "staff")
    assert (staff.low, staff.high) == pytest.approx((8 / 25, 60 / 25))


def test_switching_values_are_where_the_verdict_turns(decided):
    # one offer only, so there is one tier: at the switching utilization the verdict changes from rent to own
    turn = decided().switching
    assert decided(utilization=turn.utilization - 0.01).verdict == "cloud"
    assert decided(utilization=turn.utilization + 0.01).verdict == "on_prem"
    assert decided(usd_per_hour=f"{turn.usd_per_gpu_hour * 8 * 0.98:.4f}").verdict == "cloud"
    assert decided(usd_per_hour=f"{turn.usd_per_gpu_hour * 8 * 1.02:.4f}").verdict == "on_prem"


def test_jobs_on_one_node_wait_long(decided):
    # one job of eight GPUs at a time at 60 %: 1.5 of its run time if exponential, 2.5 times that with heavy tails
    found = decided(utilization=0.6).queue
    assert found.slots == 1
    assert found.wait_per_service == pytest.approx(0.6 / 0.4 * 2.5, rel=1e-6)
    assert found.usd_per_gpu_hour is None
    priced = decided(usage={"utilization": 0.6, "delay_usd_per_hour": 20.0}).queue
    assert priced.usd_per_gpu_hour == pytest.approx(20 * 3.75 / 8)


def test_more_nodes_wait_less(decided):
    four = decided(pool={**BOX, "nodes": 4}).queue
    assert four.slots == 4
    assert four.wait_per_service < 1


def test_a_service_with_a_load_by_the_hour_gets_a_mix(decided):
    load = [40.0] * 12 + [2.0] * 12
    service = {"task": "infer", "model": "meta-llama/Llama-3.1-8B", "requests_per_second": load, "prompt_tokens": 500,
               "output_tokens": 200}  # fmt: skip
    found = decided(workload=service, usage={"hours_per_month": 730.0}, pool={**BOX, "nodes": 6})
    assert found.queue is None
    mix = found.own_and_burst
    assert mix.usd_per_month <= min(mix.all_cloud_usd_per_month, mix.all_own_usd_per_month) + 0.01
    assert mix.own_gpus % 8 == 0


@pytest.mark.parametrize("pool", [None, {"name": "dc", "gpu": "H100 SXM", "usd_per_gpu_hour": 2.01}, {**BOX, "mode": "owned"}])
def test_nothing_is_drawn_where_nothing_is_bought(decided, pool, monkeypatch):
    def refuse(_count):
        raise AssertionError("drawn")

    monkeypatch.setattr("service.solver.weigh.draws_of", refuse)
    usage = {"utilization": 0.5, "reference_gpu": "H100 SXM"}
    found = decided(pool=pool, usage=usage)
    assert (found.npv, found.scenarios, found.swings) == (None, (), ())
