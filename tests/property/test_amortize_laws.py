"""Laws of owning: use makes it cheaper, a dearer cloud makes it more likely, wider scopes cost more."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from providers.gpus import GPUS
from service.domain.request import OnPremPool
from service.solver.amortize import (
    annuity_usd_per_year,
    breakeven_utilization,
    payback_months,
    tipping_usd_per_gpu_hour,
    useful_usd_per_gpu_hour,
)
from service.solver.pool_defaults import cost_of

H100 = GPUS["H100-SXM"]
pools = st.builds(
    OnPremPool,
    gpu=st.just("H100 SXM"),
    nodes=st.integers(1, 20),
    capex_usd_per_node=st.floats(1e4, 1e6),
    residual_fraction=st.floats(0, 0.6),
    life_years=st.floats(1, 8),
    discount_rate_fraction=st.floats(0, 0.3),
    maintenance_fraction_per_year=st.floats(0, 0.2),
    staff_usd_per_node_year=st.floats(0, 1e5),
    colocation_usd_per_kw_month=st.none() | st.floats(0, 400),
    electricity_usd_per_kwh=st.floats(0, 1),
    availability_fraction=st.floats(0.5, 1),
)
shares, prices = st.floats(0.01, 1), st.floats(0.05, 30)


def cost(pool):
    return cost_of(pool, H100)[0]


@given(pool=pools, share=shares, more=shares)
def test_a_useful_hour_costs_less_the_more_the_pool_is_used(pool, share, more):
    assume(share < more)
    made = cost(pool)
    for scope in (made.hardware_and_power_usd_per_year, made.vendor_usd_per_year, made.full_usd_per_year):
        assert useful_usd_per_gpu_hour(made, scope, more) < useful_usd_per_gpu_hour(made, scope, share)


@given(pool=pools, price=prices, dearer=prices)
def test_a_dearer_cloud_never_raises_the_breakeven_nor_the_payback(pool, price, dearer):
    assume(price <= dearer)
    made = cost(pool)
    assert breakeven_utilization(made, dearer) <= breakeven_utilization(made, price)
    months = [payback_months(made, cloud_usd_per_gpu_hour=usd, utilization=0.6) for usd in (price, dearer)]
    assert months[1] <= months[0]


@given(pool=pools, share=shares)
def test_at_the_tipping_price_the_breakeven_is_the_share(pool, share):
    made = cost(pool)
    assert breakeven_utilization(made, tipping_usd_per_gpu_hour(made, share)) == pytest.approx(share)


@given(pool=pools)
def test_full_scope_holds_the_vendor_s_and_that_holds_hardware_and_power(pool):
    made = cost(pool)
    assert made.full_usd_per_year >= made.vendor_usd_per_year >= made.hardware_and_power_usd_per_year > 0


@given(years=st.floats(1, 30), residual=st.floats(0, 1))
def test_the_annuity_tends_to_one_nth_as_the_rate_tends_to_nothing(years, residual):
    terms = {"capex_usd": 1.0, "extra_fraction": 0.0, "residual_fraction": residual, "life_years": years}
    assert annuity_usd_per_year(**terms, rate_fraction=1e-7) == pytest.approx((1 - residual) / years, rel=1e-4, abs=1e-6)


@given(rate=st.floats(1e-6, 1), years=st.floats(0.5, 20))
def test_the_annuity_of_a_purchase_pays_exactly_for_it(rate, years):
    a_year = annuity_usd_per_year(capex_usd=1.0, extra_fraction=0, residual_fraction=0, rate_fraction=rate, life_years=years)
    assert a_year * (1 - (1 + rate) ** -years) / rate == pytest.approx(1.0, rel=1e-6)


@given(price=st.floats(0.01, 100))
def test_a_flat_price_is_the_same_by_hour_and_by_month(price):
    by_hour = cost(OnPremPool(gpu="H100 SXM", usd_per_gpu_hour=price))
    by_month = cost(OnPremPool(gpu="H100 SXM", usd_per_gpu_month=730 * price))
    assert by_month.full_usd_per_year == pytest.approx(by_hour.full_usd_per_year)
    assert math.isclose(by_hour.full_usd_per_year / 8 / 8760, price)


@pytest.mark.parametrize("body", [{"price": 0.95}, {"usd": 0.95}, {"usd_per_gpu_hour": 0.95, "usd_per_gpu_month": 693.5}])
def test_a_price_without_a_unit_or_with_two_is_refused(body):
    with pytest.raises(ValidationError):
        OnPremPool(gpu="H100 SXM", **body)
