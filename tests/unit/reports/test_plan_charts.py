"""The charts of a plan agree with the plan: breakeven, payback, totals and ranges."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from providers.offer import Arch, Availability, CapacityType, Offer, Tenancy
from service.domain.request import DataSensitivity, PlanRequest
from service.flows.plan import make_plan
from service.reports.plan_charts import plan_figures
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def market():
    offer = Offer(
        feed="lambda", provider="lambda", tier="on-demand", instance_type="gpu_8x_h100_sxm5", gpu="H100-SXM", gpu_count=8,
        gpu_memory_gb=80, form_factor="SXM5", capacity_type=CapacityType.ON_DEMAND, tenancy=Tenancy.PROVIDER_DATACENTER,
        region="us-east-1", country="US", usd_per_hour=Decimal("23.92"), arch=Arch.X86_64, availability=Availability.AVAILABLE,
        observed_at=NOW, source="GET /instance-types",
    )  # fmt: skip
    status = FeedStatus(name="lambda", offers=1, last_success_at=NOW, last_attempt_at=NOW)
    return Market.build({"lambda": columns_of([offer])}, [status], snapshot_id="s1", as_of=NOW)


def values_of(figure, layer=None):
    """What a layer, or the whole picture, is drawn from."""
    data = (figure.spec if layer is None else figure.spec["layer"][layer]).get("data") or figure.spec["data"]
    return data["values"] if "values" in data else figure.spec["datasets"][data["name"]]


def plan_of(market, **body):
    asked = {"workload": {"task": "raw", "vram_gib": 70, "gpu_count": 8, "gpu_hours": 1000}, **body}
    request = PlanRequest.model_validate_json(json.dumps(asked))
    return make_plan(request, market, now=NOW, pools={}, default_sensitivity=DataSensitivity.INTERNAL)


def figures(market, **body):
    plan = plan_of(market, **body)
    return plan, {figure.name: figure for figure in plan_figures(plan, {})}


MONTHLY = {"runs_per_month": 1, "reference_gpu": "H100 SXM"}
OWN = [{"name": "dc1", "gpu": "H100 SXM", "gpus_per_node": 8, "mode": "buy"}]


def test_without_own_hardware_there_is_cost_and_time_only(market):
    _, found = figures(market, usage=MONTHLY)
    assert list(found) == ["pareto", "components"]


def test_breakeven_and_payback_of_the_charts_are_the_plan_s(market):
    plan, found = figures(market, usage={"utilization": 0.9, "horizon_months": 60, "reference_gpu": "H100 SXM"}, on_prem=OWN)
    assert list(found) == ["utilization", "cumulative", "pareto", "components", "tornado"]
    marks = [values_of(found["utilization"], at)[0] for at in range(1, len(found["utilization"].spec["layer"]))]
    drawn = {round(mark["used"] / 100, 6) for mark in marks}
    told = plan.decision.breakeven_utilization
    assert drawn == {told.against_cheapest_allowed, told.against_dearest_on_demand, plan.decision.utilization} - {None}
    crossing = values_of(found["cumulative"], 1)[0]["month"]
    assert plan.decision.payback_months.p10 < crossing  # today's price for ever, between the draws' good and bad ends
    lines = values_of(found["cumulative"], 0)
    spent = {name: {one["month"]: one["usd"] for one in lines if one["series"] == name} for name in ("rent", "own: dc1")}
    before, after = int(crossing), int(crossing) + 1
    assert spent["own: dc1"][before] > spent["rent"][before]  # the lines cross where the mark stands
    assert spent["own: dc1"][after] <= spent["rent"][after]


def test_the_curve_meets_each_price_at_its_breakeven(market):
    plan, found = figures(market, usage={"utilization": 0.9, "reference_gpu": "H100 SXM"}, on_prem=OWN)
    values = values_of(found["utilization"], 0)
    price = next(one["usd"] for one in values if one["series"] == "cheapest allowed")
    share = 100 * plan.decision.breakeven_utilization.against_cheapest_allowed
    curve = [(one["used"], one["usd"]) for one in values if one["series"] == "own: dc1"]
    assert all((usd > price) == (used < share) for used, usd in curve)


def test_components_add_up_to_the_totals(market):
    plan, found = figures(market, usage=MONTHLY)
    values = values_of(found["components"])
    first = sum(one["usd"] for one in values if one["option"].startswith("#1 "))
    assert first == pytest.approx(plan.options[0].cost.ranking_usd)


def test_owned_hardware_has_no_purchase_to_pay_back(market):
    _, found = figures(market, usage=MONTHLY, on_prem=[{**OWN[0], "mode": "owned"}])
    assert "cumulative" not in found


def test_a_stored_pool_is_found_by_its_name(market):
    from service.domain.request import OnPremPool

    pools = {"dc1": OnPremPool.model_validate_json('{"name": "dc1", "gpu": "H100 SXM"}')}
    request = PlanRequest.model_validate_json(
        '{"workload": {"task": "raw", "vram_gib": 70, "gpu_count": 8, "gpu_hours": 1000}, "usage": {"runs_per_month": 1},'
        ' "on_prem": ["dc1"]}'
    )
    plan = make_plan(request, market, now=NOW, pools=pools, default_sensitivity=DataSensitivity.INTERNAL)
    assert "utilization" in {figure.name for figure in plan_figures(plan, pools)}
    assert "utilization" not in {figure.name for figure in plan_figures(plan, {})}


def test_nothing_fits_gives_no_chart(market):
    _, found = figures(market, usage=MONTHLY, constraints={"max_usd_per_hour": 0.01})
    assert found == {}
