"""Rent or own for one pool at one price; the arithmetic stands beside the figures."""

import pytest
from pydantic import ValidationError

from providers.gpus import GPUS
from service.domain.breakeven import BreakevenRequest
from service.domain.request import OnPremPool
from service.solver.breakeven import Priced, breakeven_of
from service.solver.draws import draws_of

FLAT = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "usd_per_gpu_hour": 2.01}
BOX = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}


def answer(pool=FLAT, usd=3.99, **body):
    request = BreakevenRequest.model_validate({"pool": pool, "cloud_usd_per_gpu_hour": usd, **body}, strict=False)
    assert isinstance(request.pool, OnPremPool)
    priced = Priced(usd_per_gpu_hour=usd, utilization=None)
    return breakeven_of(request, request.pool, GPUS["H100-SXM"], priced, draws=draws_of(1000))


def test_allocated_use_decides_and_active_use_does_not():
    found = answer(utilization=0.55, active_utilization=0.20)
    # 8 x 730 h x 0.55 x 3.99 = 12,815.88 in the cloud; 8 x 730 x 2.01 = 11,738.40 owned
    assert found.cloud_usd_per_month == pytest.approx(12_815.88)
    assert found.own_usd_per_month == pytest.approx(11_738.40)
    assert (found.verdict, found.utilization, found.use_bounds) == ("on_prem", 0.55, None)
    assert found.breakeven_utilization.against_cheapest_allowed == pytest.approx(2.01 / 3.99, abs=1e-6)


def test_active_use_alone_leaves_the_decision_open_and_gives_both_bounds():
    found = answer(active_utilization=0.20)
    assert found.verdict == "depends"
    assert "The decision is open" in found.sentence
    bounds = found.use_bounds
    assert (bounds.low_utilization, bounds.high_utilization) == (0.20, 1.0)
    assert (bounds.verdict_at_low, bounds.verdict_at_high) == ("cloud", "on_prem")
    assert (found.utilization, found.own_usd_per_month, found.cloud_usd_per_month) == (None, None, None)


def test_a_purchase_has_quantiles_curves_and_futures():
    found = answer(pool=BOX, usd=4.25, utilization=0.6, scenarios=[{"name": "mine", "cloud_price_factor": 0.8}])
    assert found.npv.draws == 1000
    assert [one.name for one in found.scenarios][3:] == ["mine"]
    assert found.discounted_payback_months > found.simple_payback_months
    assert len(found.swings) == 10
    scopes = found.usd_per_useful_gpu_hour
    assert scopes.hardware_and_power < scopes.vendor < scopes.full


def test_the_curve_against_use_crosses_the_price_at_the_breakeven():
    found = answer(pool=BOX, usd=4.25, utilization=0.6)
    needed = found.breakeven_utilization.against_cheapest_allowed
    points = found.curves.cost_against_utilization
    assert [one.own_usd for one in points] == sorted((one.own_usd for one in points), reverse=True)
    for one in points:
        assert (one.own_usd <= one.cloud_usd) == (one.utilization >= needed)


def test_the_cumulative_curves_cross_at_the_payback():
    found = answer(pool=BOX, usd=4.25, utilization=0.6)
    points = found.curves.cumulative_cost
    assert points[0].own_usd > points[0].cloud_usd == 0
    after = next(one.month for one in points if one.month and one.own_usd <= one.cloud_usd)
    assert after - 1 < found.simple_payback_months <= after


@pytest.mark.parametrize(
    "demand", [{"hourly_gpus": [8.0, 4.0, 2.0, 2.0]}, {"weekly_gpus": [4.0] * 168}, {"mean_gpus": 4.0, "peak_gpus": 40.0}]
)
def test_a_demand_gives_the_mix_and_the_use(demand):
    found = answer(pool={**BOX, "gpus_per_node": 1, "capex_usd_per_node": 34_000.0, "nodes": 8}, usd=4.25, demand=demand)
    mix = found.own_and_burst
    assert mix.usd_per_month <= min(mix.all_cloud_usd_per_month, mix.all_own_usd_per_month) + 0.01
    assert 0 < found.utilization <= 0.5
    listed = [one.name for one in found.assumptions]
    assert ("demand.curve" in listed) == ("mean_gpus" in demand)


def test_a_whole_node_is_owned_or_not():
    found = answer(pool=BOX, usd=4.25, demand={"hourly_gpus": [20.0, 20.0, 20.0, 12.0]})
    assert found.own_and_burst.own_gpus == 16  # the third node would be half empty three hours in four


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"utilization": 0.0},
        {"utilization": 1.2},
        {"utilization": 0.2, "active_utilization": 0.3},
        {"demand": {}},
        {"demand": {"hourly_gpus": []}},
        {"demand": {"hourly_gpus": [0.0]}},
        {"demand": {"weekly_gpus": [1.0] * 24}},
        {"demand": {"mean_gpus": 3.0, "peak_gpus": 2.0}},
        {"demand": {"mean_gpus": 3.0}},
        {"demand": {"hourly_gpus": [1.0], "mean_gpus": 1.0, "peak_gpus": 1.0}},
        {"utilization": 0.5, "cloud_usd_per_gpu_hour": 0.0},
        {"utilization": 0.5, "cloud_usd_per_gpu_hour": None},
        {"utilization": 0.5, "pool": {"gpu": "H100 SXM", "usd": 2.0}},
    ],
)
def test_what_cannot_be_answered_is_refused(body):
    with pytest.raises(ValidationError):
        BreakevenRequest.model_validate({"pool": FLAT, "cloud_usd_per_gpu_hour": 3.99, **body}, strict=False)
