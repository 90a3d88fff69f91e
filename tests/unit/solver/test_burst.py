import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.errors import InvalidInput
from service.solver.burst import best_mix, demand_of_mean_and_peak, marginal_use


def mix_of(demand, fixed, cloud, *, marginal=0.05, step=1):
    return best_mix(
        demand,
        fixed_usd_per_gpu_hour=fixed,
        marginal_usd_per_gpu_hour=marginal,
        cloud_usd_per_gpu_hour=cloud,
        step_gpus=step,
    )


@pytest.fixture(scope="module")
def measured(shared_data):
    with (shared_data / "demand" / "openb_hourly_gpus.csv").open(encoding="utf-8", newline="") as file:
        return [float(row["gpus"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("fixed", "cloud", "own"), [(1.50, 4.25, 33), (1.50, 2.50, 23), (2.00, 4.25, 28)])
def test_how_many_to_own_on_a_measured_curve(measured, fixed, cloud, own):
    assert mix_of(measured, fixed, cloud).own_gpus == own


def test_the_mix_beats_both_pure_answers_on_a_measured_curve(measured):
    found = mix_of(measured, 1.50, 4.25)
    assert found.usd_per_hour < 0.9 * min(found.all_cloud_usd_per_hour, found.all_own_usd_per_hour)
    assert found.next_use_fraction < found.breakeven_utilization <= found.last_owned_use_fraction


def test_marginal_use_by_hand():
    # hours with 2, 1, 0.5 and 0 GPUs: the first is busy (1 + 1 + 0.5 + 0) / 4, the second 1 / 4
    assert marginal_use([2, 1, 0.5, 0]).tolist() == pytest.approx([0.625, 0.25, 0.0])
    # in steps of two: 1, 0.5, 0.25 and 0 of the first
    assert marginal_use([2, 1, 0.5, 0], step_gpus=2).tolist() == pytest.approx([0.4375, 0.0])


def test_a_mix_by_hand():
    # u* = 1 / (5 - 1) = 0.25: both GPUs. 2 x 1 + 0.875 busy x 1 = 2.875; all in the cloud 0.875 x 5
    found = mix_of([2, 1, 0.5, 0], 1.0, 5.0, marginal=1.0)
    assert (found.own_gpus, found.breakeven_utilization) == (2, 0.25)
    assert (found.usd_per_hour, found.all_cloud_usd_per_hour) == pytest.approx((2.875, 4.375))
    assert (found.own_use_fraction, found.burst_gpu_hours_fraction) == pytest.approx((0.4375, 0.0))
    one = mix_of([2, 1, 0.5, 0], 1.0, 4.5, marginal=1.0)
    assert (one.own_gpus, one.burst_gpu_hours_fraction) == (1, pytest.approx(0.25 / 0.875))


def test_a_cloud_under_the_cost_of_power_owns_nothing():
    found = mix_of([8, 8], 1.0, 0.04)
    assert (found.own_gpus, found.own_use_fraction, found.burst_gpu_hours_fraction) == (0, None, 1.0)


curves = st.lists(st.floats(0, 12) | st.integers(0, 12).map(float), min_size=1, max_size=40)


@given(
    demand=curves, fixed=st.floats(0.01, 5), marginal=st.floats(0, 1), cloud=st.floats(0.05, 8), step=st.sampled_from([1, 2, 8])
)
def test_the_closed_form_is_the_cheapest_of_all_sizes(demand, fixed, marginal, cloud, step):
    found = mix_of(demand, fixed, cloud, marginal=marginal, step=step)
    hours = np.array(demand)

    def cost(own):
        return own * fixed + np.minimum(hours, own).mean() * marginal + np.maximum(hours - own, 0).mean() * cloud

    cheapest = min(cost(own) for own in range(0, 33, step))
    assert found.usd_per_hour == pytest.approx(cheapest, abs=1e-6)
    assert cost(found.own_gpus) == pytest.approx(found.usd_per_hour)


@given(mean=st.floats(0.1, 100), times=st.floats(1, 20))
def test_a_curve_of_mean_and_peak_has_them(mean, times):
    curve = demand_of_mean_and_peak(mean_gpus=mean, peak_gpus=mean * times)
    assert curve.mean() == pytest.approx(mean, rel=0.01)
    assert curve.max() <= mean * times * (1 + 1e-9)
    assert curve.max() == pytest.approx(mean * times, rel=0.01)


@pytest.mark.parametrize("demand", [[], [-1.0], [float("nan")], [float("inf")], [1e7]])
def test_what_is_no_demand_is_refused(demand):
    with pytest.raises(InvalidInput):
        marginal_use(demand)


def test_a_mean_over_the_peak_is_refused():
    with pytest.raises(InvalidInput):
        demand_of_mean_and_peak(mean_gpus=3, peak_gpus=2)
