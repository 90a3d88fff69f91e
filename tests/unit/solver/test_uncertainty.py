"""Payback and present value month by month, over fixed points; the arithmetic stands beside the figures."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.gpus import GPUS
from service.domain.request import OnPremPool, PoolMode
from service.solver.amortize import payback_months
from service.solver.draws import INPUTS, draws_of, price_paths, quantiles, roots_of
from service.solver.pool_defaults import cost_of
from service.solver.purchase import Purchase, npv_usd, payback_months_of, purchase_of, savings_usd
from service.solver.swings import swings
from service.solver.uncertainty import outcomes

# 1,000 available hours a month at 60 %, cloud 3, energy 0.5 a busy hour, 500 a month fixed: 600 x 2.5 - 500 = 1,000 a month
PLAIN = Purchase(
    capex_usd=10_000, resale_usd=0, months=24, lead_months=0, rate_fraction=0, gpu_hours_per_month=1000, utilization=0.6,
    cloud_usd_per_gpu_hour=3, energy_usd_per_gpu_hour=0.5, energy_usd_per_month=100, maintenance_usd_per_month=150,
    staff_usd_per_month=200, other_usd_per_month=50,
)  # fmt: skip
NODE = cost_of(OnPremPool(gpu="H100 SXM", capex_usd_per_node=275_000.0), GPUS["H100-SXM"])[0]
RANGES = {
    "utilization": (0.35 / 0.6, 0.85 / 0.6), "capex": (0.84, 1.24), "maintenance": (0.5, 2), "staff": (0.32, 2.4),
    "electricity": (0.67, 1.67), "availability": (0.96, 1.02), "resale": (1 / 3, 2),
}  # fmt: skip


def test_a_flat_saving_pays_back_in_capex_over_saving():
    assert payback_months_of(PLAIN) == pytest.approx(10)
    assert npv_usd(PLAIN) == pytest.approx(24 * 1000 - 10_000)
    assert payback_months_of(replace(PLAIN, capex_usd=10_500)) == pytest.approx(10.5)
    assert payback_months_of(replace(PLAIN, capex_usd=500)) == pytest.approx(0.5)


def test_lead_time_and_resale():
    late = replace(PLAIN, lead_months=4, resale_usd=2_000)
    assert payback_months_of(late) == pytest.approx(14)
    assert npv_usd(late) == pytest.approx(24 * 1000 - 10_000 + 2_000)


def test_what_is_not_earned_within_the_life_is_never():
    assert payback_months_of(replace(PLAIN, capex_usd=24_001)) == math.inf
    assert payback_months_of(replace(PLAIN, cloud_usd_per_gpu_hour=1)) == math.inf


def test_interest_makes_payback_longer_and_value_less():
    # 12.68 % a year is 1 % a month: 1,000 x (1 - 1.01^-24) / 0.01 = 21,243.39
    dear = replace(PLAIN, rate_fraction=1.01**12 - 1)
    assert npv_usd(dear) == pytest.approx(21_243.387 - 10_000, abs=0.01)
    assert payback_months_of(dear) == pytest.approx(10)
    # 1,000 x (1 - 1.01^-n) / 0.01 = 10,000: n = -ln(0.9) / ln(1.01) = 10.59
    assert payback_months_of(dear, discounted=True) == pytest.approx(10.59, abs=0.01)


def test_a_falling_price_pays_back_later_than_a_flat_one_and_a_rising_one_sooner():
    # the field's own figures for an H100 node: about 24 months flat, 34 at 15 % a year down, never at 30 %
    bought = purchase_of(NODE, utilization=0.6, cloud_usd_per_gpu_hour=4.25)
    months = [payback_months_of(replace(bought, change_per_year=change)) for change in (0.15, 0.0, -0.15, -0.30)]
    assert months == sorted(months)
    assert months[3] == math.inf
    assert months[1] == pytest.approx(payback_months(NODE, cloud_usd_per_gpu_hour=4.25, utilization=0.6))


purchases = st.builds(
    Purchase,
    capex_usd=st.floats(100, 1e6), resale_usd=st.floats(0, 1e5), months=st.integers(1, 120), lead_months=st.floats(0, 12),
    rate_fraction=st.floats(0, 0.3), gpu_hours_per_month=st.floats(1, 1e5), utilization=st.floats(0.01, 1),
    cloud_usd_per_gpu_hour=st.floats(0.05, 15), energy_usd_per_gpu_hour=st.floats(0, 1), energy_usd_per_month=st.floats(0, 1e3),
    maintenance_usd_per_month=st.floats(0, 1e4), staff_usd_per_month=st.floats(0, 1e4), other_usd_per_month=st.floats(0, 1e4),
    change_per_year=st.floats(-0.5, 0.5),
)  # fmt: skip


@given(bought=purchases)
def test_the_closed_form_is_the_sum_of_the_months(bought):
    months = np.arange(1, bought.months + 1) + bought.lead_months
    keep = (1 + bought.monthly_rate) ** -months
    by_month = float((savings_usd(bought) * keep).sum()) - bought.capex_usd + bought.resale_usd * float(keep[-1])
    scale = bought.capex_usd + float(np.abs(savings_usd(bought)).sum())
    assert npv_usd(bought) == pytest.approx(by_month, abs=1e-7 * scale)


@given(bought=purchases, more=st.floats(0.01, 5))
def test_a_dearer_cloud_never_pays_back_later(bought, more):
    dearer = replace(bought, cloud_usd_per_gpu_hour=bought.cloud_usd_per_gpu_hour + more)
    assert payback_months_of(dearer) <= payback_months_of(bought)
    assert npv_usd(dearer) >= npv_usd(bought)


def test_without_ranges_and_volatility_every_draw_is_the_base():
    found = outcomes(PLAIN, {}, draws_of(1000), volatility=0.0)
    assert found.payback_months == pytest.approx((10, 10, 10))
    assert found.npv_usd == pytest.approx((14_000, 14_000, 14_000))
    assert (found.npv_positive_fraction, found.never_paid_fraction) == (1.0, 0.0)


def test_quantiles_keep_their_order_and_never_stays_infinite():
    bought = purchase_of(NODE, utilization=0.6, cloud_usd_per_gpu_hour=4.25)
    found = outcomes(bought, RANGES, draws_of(1000))
    assert found.payback_months[0] < found.payback_months[1] < found.payback_months[2] == math.inf
    assert found.npv_usd[0] < 0 < found.npv_usd[1] < found.npv_usd[2]
    assert 0.1 < found.never_paid_fraction < 0.5


def test_a_thousand_draws_say_what_ten_thousand_say():
    bought = purchase_of(NODE, utilization=0.6, cloud_usd_per_gpu_hour=4.25)
    few, many = (outcomes(bought, RANGES, draws_of(count)) for count in (1_000, 10_000))
    assert few.payback_months[:2] == pytest.approx(many.payback_months[:2], rel=0.05)
    assert few.npv_usd == pytest.approx(many.npv_usd, abs=12_000)  # of 275,000
    assert few.npv_positive_fraction == pytest.approx(many.npv_positive_fraction, abs=0.03)


def test_resale_that_follows_the_price_widens_the_tails():
    bought = replace(purchase_of(NODE, utilization=0.6, cloud_usd_per_gpu_hour=4.25), resale_usd=150_000)
    draws = draws_of(1000)
    inputs = {**draws.inputs, "resale": draws.inputs["staff"]}
    alone = replace(draws, inputs=inputs, roots=roots_of(inputs))
    ranges = {"resale": (0.0, 2.0)}
    tied, free = (outcomes(bought, ranges, one).npv_usd for one in (draws, alone))
    assert tied[2] - tied[0] > 1.1 * (free[2] - free[0])


def test_every_input_is_spread_evenly_and_the_same_each_time():
    draws = draws_of(1000)
    for name in INPUTS:
        assert sorted(draws.inputs[name].tolist()) == pytest.approx([(at + 0.5) / 1000 for at in range(1000)])
    assert float(draws.triangular("staff", 0.5, 1.0, 2.0).mean()) == pytest.approx(3.5 / 3, rel=1e-3)
    again = draws_of.__wrapped__(1000)
    assert np.array_equal(again.shocks, draws.shocks)
    pairs = np.corrcoef([*draws.shocks, *(draws.inputs[name] for name in INPUTS if name != "resale")])
    assert np.abs(pairs - np.eye(len(pairs))).max() < 0.04


def test_the_price_s_volatility_is_what_is_asked():
    paths = price_paths(draws_of(1000), months=48, lead_months=0, volatility=0.2)
    logs = np.log(paths.factors)
    # 20 % a year over four years: 0.4; the series holds 97 % of the variance
    assert float(logs[:, -1].std()) == pytest.approx(0.4, rel=0.03)
    assert float(logs[:, 11].std()) == pytest.approx(0.2, rel=0.1)
    assert float(np.median(logs[:, -1])) == pytest.approx(0.0, abs=0.02)


def test_quantiles_are_order_statistics():
    values = np.array([3.0, 1.0, math.inf, 2.0, math.inf])
    assert quantiles(values) == (1.0, 3.0, math.inf)


def test_the_largest_swings_come_first_and_ten_at_most():
    bought = purchase_of(NODE, utilization=0.6, cloud_usd_per_gpu_hour=4.25)
    more = {
        "cloud_price": (0.85, 1.15), "cloud_price_change_per_year": (-0.12, 0.15), "life": (0.75, 1.25), "pue": (0.85, 1.19),
        "discount_rate": (0.67, 1.56), "lead_time": (0.25, 2.0), "colocation_and_software": (0.9, 1.1),
    }  # fmt: skip
    found = swings(bought, {**RANGES, **more})
    sizes = [one.usd for one in found]
    assert sizes == sorted(sizes, reverse=True)
    assert len(found) == 10
    assert {found[0].name, found[1].name} == {"utilization", "cloud_price_change_per_year"}
    # staff 8k to 60k a year: 52,000 a year discounted at 9 % over four years, 4 months late
    keep = sum(1.09 ** (-(month + NODE.lead_time_months) / 12) for month in range(1, 49)) / 12
    staff = next(one for one in found if one.name == "staff")
    assert staff.usd == pytest.approx(52_000 * keep, rel=1e-6)


def test_what_is_owned_or_flat_is_no_purchase():
    for pool in (OnPremPool(gpu="H100 SXM", usd_per_gpu_hour=2.0), OnPremPool(gpu="H100 SXM", mode=PoolMode.OWNED)):
        cost = cost_of(pool, GPUS["H100-SXM"])[0]
        assert purchase_of(cost, utilization=0.5, cloud_usd_per_gpu_hour=4.0) is None


@given(bought=purchases, factor=st.floats(0.3, 2))
def test_a_swing_is_the_value_of_the_purchase_with_that_input_changed(bought, factor):
    changed = {
        "cloud_price": replace(bought, cloud_usd_per_gpu_hour=bought.cloud_usd_per_gpu_hour * factor),
        "utilization": replace(bought, utilization=min(1.0, bought.utilization * factor)),
        "availability": replace(bought, gpu_hours_per_month=bought.gpu_hours_per_month * factor),
        "capex": replace(
            bought,
            capex_usd=bought.capex_usd * factor,
            resale_usd=bought.resale_usd * factor,
            maintenance_usd_per_month=bought.maintenance_usd_per_month * factor,
        ),
        "maintenance": replace(bought, maintenance_usd_per_month=bought.maintenance_usd_per_month * factor),
        "staff": replace(bought, staff_usd_per_month=bought.staff_usd_per_month * factor),
        "electricity": replace(
            bought,
            energy_usd_per_gpu_hour=bought.energy_usd_per_gpu_hour * factor,
            energy_usd_per_month=bought.energy_usd_per_month * factor,
        ),
        "resale": replace(bought, resale_usd=bought.resale_usd * factor),
        "colocation_and_software": replace(bought, other_usd_per_month=bought.other_usd_per_month * factor),
        "discount_rate": replace(bought, rate_fraction=bought.rate_fraction * factor),
        "lead_time": replace(bought, lead_months=bought.lead_months * factor),
    }
    scale = bought.capex_usd + float(np.abs(savings_usd(bought)).sum()) + abs(npv_usd(bought))
    for name, other in changed.items():
        for one in swings(bought, {name: (1.0, factor)}):
            assert one.npv_at_high_usd == pytest.approx(npv_usd(other), abs=1e-6 * scale * (1 + factor)), name
