from math import inf

import pytest

from providers.gpus import GPUS
from service.domain.request import OnPremPool
from service.solver.amortize import (
    annuity_usd_per_year,
    breakeven_utilization,
    payback_months,
    tipping_capex_usd,
    tipping_usd_per_gpu_hour,
    useful_usd_per_gpu_hour,
)
from service.solver.pool_defaults import BOXES, box_for, cost_of

STRAIGHT = {
    "residual_fraction": 0.0,
    "life_years": 5.0,
    "discount_rate_fraction": 0.0,
    "spares_fraction": 0.0,
    "staff_usd_per_node_year": 0.0,
    "electricity_usd_per_kwh": 0.12,
    "pue": 1.3,
    "availability_fraction": 1.0,
    "lead_time_months": 0.0,
}
# 1,500 a month for a node of 5.0 kW is 300 per kW-month; 300 for 2.1 kW is 142.857
A100_NODE = OnPremPool(
    gpu="A100 80GB SXM", gpus_per_node=8, capex_usd_per_node=95_000.0, maintenance_fraction_per_year=0.12,
    colocation_usd_per_kw_month=300.0, load_watts=5000.0, idle_watts=1500.0, **STRAIGHT,
)  # fmt: skip
BOX_4090 = OnPremPool(
    gpu="RTX 4090", gpus_per_node=4, capex_usd_per_node=11_000.0, maintenance_fraction_per_year=0.03,
    colocation_usd_per_kw_month=300 / 2.1, load_watts=2100.0, idle_watts=350.0, **STRAIGHT,
)  # fmt: skip


def cost(pool: OnPremPool):
    return cost_of(pool, GPUS["A100-SXM4-80GB" if "A100" in pool.gpu else "H100-SXM" if "H100" in pool.gpu else "RTX 4090"])[0]


@pytest.mark.parametrize(
    ("pool", "usd", "share"),
    [(A100_NODE, 2.50, 0.296), (A100_NODE, 1.15, 0.665), (BOX_4090, 0.70, 0.299), (BOX_4090, 0.35, 0.669)],
)
def test_the_calibrated_rows_of_the_rule_of_thumb(pool, usd, share):
    assert breakeven_utilization(cost(pool), usd) == pytest.approx(share, abs=0.0006)


def test_cost_per_calendar_hour_of_the_calibrated_a100_node():
    # 95,000/5 + 12 % of 95,000 + 18,000 + 1.5 kW x 1.3 x 8760 x 0.12 = 50,450 a year; / 70,080 h = 0.72, and 0.068 while busy
    pool = cost(A100_NODE)
    assert pool.full_usd_per_year == pytest.approx(19_000 + 11_400 + 18_000 + 1.5 * 1.3 * 8760 * 0.12)
    assert pool.marginal_usd_per_gpu_hour == pytest.approx(3.5 * 1.3 * 0.12 / 8)
    assert useful_usd_per_gpu_hour(pool, pool.full_usd_per_year, 1.0) == pytest.approx(0.79, abs=0.005)


FULL = {
    "discount_rate_fraction": 0.09,
    "life_years": 4.0,
    "residual_fraction": 0.15,
    "network_fraction": 0.10,
    "spares_fraction": 0.04,
    "availability_fraction": 0.97,
}


@pytest.mark.parametrize(
    ("gpu", "count", "capex", "kw", "maintenance", "staff", "top", "spot", "at_top", "at_spot"),
    [
        ("H100 SXM", 8, 250e3, 10.2, 0.05, 25e3, 5.00, 2.50, 0.40, 0.81),
        ("A100 80GB SXM", 8, 120e3, 6.5, 0.05, 25e3, 2.50, 1.15, 0.48, 1.05),
        ("RTX 4090", 4, 11e3, 2.4, 0.03, 4e3, 0.70, 0.35, 0.52, 1.04),
    ],
)
def test_full_scope_in_colocation(gpu, count, capex, kw, maintenance, staff, top, spot, at_top, at_spot):
    pool = OnPremPool(
        gpu=gpu, gpus_per_node=count, capex_usd_per_node=capex, maintenance_fraction_per_year=maintenance,
        staff_usd_per_node_year=staff, colocation_usd_per_kw_month=160.0, load_watts=kw * 1000, idle_watts=0.0, **FULL,
    )  # fmt: skip
    made = cost(pool)
    assert made.marginal_usd_per_gpu_hour == 0  # the colocation price holds the power
    assert breakeven_utilization(made, top) == pytest.approx(at_top, abs=0.01)
    assert breakeven_utilization(made, spot) == pytest.approx(at_spot, abs=0.01)


def test_annuity_of_a_purchase_by_hand():
    # 100 at 10 % over 2 years, 20 % left: (100 - 20/1.21) x 0.1 / (1 - 1/1.21) = 83.4711 x 0.576190 = 48.0952
    found = annuity_usd_per_year(capex_usd=100, extra_fraction=0, residual_fraction=0.2, rate_fraction=0.1, life_years=2)
    assert found == pytest.approx(48.095238)


def test_annuity_tends_to_a_straight_line_as_the_rate_tends_to_nothing():
    terms = {"capex_usd": 100, "extra_fraction": 0.14, "residual_fraction": 0.15, "life_years": 4}
    at_zero = annuity_usd_per_year(**terms, rate_fraction=0)
    assert at_zero == pytest.approx((114 - 15) / 4)
    assert annuity_usd_per_year(**terms, rate_fraction=1e-9) == pytest.approx(at_zero, rel=1e-6)


def test_payback_identity():
    # paid back in T months needs p u = C0 / (G 730 T) + o
    pool = cost(BOX_4090)
    per_hour = pool.opex_usd_per_month / (4 * 730)
    share, months = 0.6, 20.0
    price = (11_000 / (4 * 730 * months) + per_hour + pool.marginal_usd_per_gpu_hour * share) / share
    assert payback_months(pool, cloud_usd_per_gpu_hour=price, utilization=share) == pytest.approx(months)


def test_lead_time_is_waited_before_anything_is_saved():
    waits = cost(BOX_4090.model_copy(update={"lead_time_months": 4.0}))
    now = payback_months(cost(BOX_4090), cloud_usd_per_gpu_hour=0.7, utilization=0.8)
    assert payback_months(waits, cloud_usd_per_gpu_hour=0.7, utilization=0.8) == pytest.approx(now + 4)


def test_a_cloud_under_the_running_cost_never_pays_back():
    assert payback_months(cost(BOX_4090), cloud_usd_per_gpu_hour=0.1, utilization=0.5) == inf
    assert breakeven_utilization(cost(BOX_4090), 0.01) == inf
    assert tipping_capex_usd(cost(BOX_4090), cloud_usd_per_gpu_hour=0.1, utilization=0.5) is None


def test_at_the_tipping_price_and_capex_owning_breaks_even():
    pool = cost(A100_NODE)
    price = tipping_usd_per_gpu_hour(pool, 0.45)
    assert breakeven_utilization(pool, price) == pytest.approx(0.45)
    assert tipping_capex_usd(pool, cloud_usd_per_gpu_hour=price, utilization=0.45) == pytest.approx(95_000)


def test_scopes_hold_each_other():
    pool = cost(OnPremPool(gpu="H100 SXM"))
    assert pool.hardware_and_power_usd_per_year < pool.vendor_usd_per_year < pool.full_usd_per_year


@pytest.mark.parametrize(("field", "usd"), [("usd_per_gpu_hour", 0.95), ("usd_per_gpu_month", 693.50)])
def test_a_flat_price_is_the_same_by_hour_and_by_month(field, usd):
    pool = cost(OnPremPool(gpu="H100 SXM", **{field: usd}))
    assert pool.flat_usd_per_gpu_hour == pytest.approx(0.95)
    assert pool.full_usd_per_year / 12 / 8 == pytest.approx(693.50)


def test_every_default_is_listed_with_its_range_and_what_is_given_is_not():
    pool = OnPremPool(name="dc", gpu="H100 SXM", pue=1.2)
    listed = {one.name: one for one in cost_of(pool, GPUS["H100-SXM"])[1]}
    assert listed["on_prem.dc.capex_usd_per_node"].value == 275_000
    assert "on_prem.dc.pue" not in listed
    assert all(one.low <= one.value <= one.high and one.source for one in listed.values())


@pytest.mark.parametrize("name", sorted(GPUS))
def test_every_card_has_a_default_box(name):
    box = box_for(GPUS[name])
    assert box.gpus in (4, 8)
    assert box.capex_usd.low < box.capex_usd.base < box.capex_usd.high
    assert box.idle_watts < box.load_watts


def test_boxes_are_of_cards_of_the_table():
    assert set(BOXES) <= set(GPUS)
