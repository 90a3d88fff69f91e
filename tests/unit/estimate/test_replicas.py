"""Replicas for a request rate, worked by hand."""

import pytest

from providers.errors import InvalidInput
from service.estimate.replicas import replicas_for

DAY = [0.0] * 8 + [4.0] * 8 + [20.0] * 8


def test_a_constant_rate_needs_its_share_rounded_up():
    # 10 requests/s at 3 each, loaded to 0.8: 10 / 2.4 = 4.17
    found = replicas_for(10.0, 3.0)
    assert (found.peak, found.mean, found.hourly) == (5, 5.0, (5,))
    assert found.idle_fraction == pytest.approx(1 - 10 / 15)
    assert found.cold_starts == 0


def test_a_profile_follows_the_load():
    # 0 -> 1 (never below one), 4 / 2.4 -> 2, 20 / 2.4 -> 9
    found = replicas_for(DAY, 3.0)
    assert found.hourly == (1,) * 8 + (2,) * 8 + (9,) * 8
    assert found.peak == 9
    assert found.mean == 4.0
    # served 8 x 24 of 96 x 3 replica-requests
    assert found.idle_fraction == pytest.approx(1 - 192 / 288)
    # 1 -> 2 -> 9 within the day; the night's return to 1 starts none
    assert found.cold_starts == 8


def test_scaling_to_zero_drops_the_idle_hours_and_starts_cold():
    found = replicas_for(DAY, 3.0, scale_to_zero=True, cold_start_seconds=90)
    assert found.hourly[:8] == (0,) * 8
    assert found.cold_starts == 9
    assert found.cold_start_hours == pytest.approx(9 * 90 / 3600)
    assert found.mean < replicas_for(DAY, 3.0).mean


def test_always_on_keeps_the_peak():
    found = replicas_for(DAY, 3.0, follow_load=False)
    assert set(found.hourly) == {9}
    assert found.cold_starts == 0


def test_limits_are_kept_and_what_they_cost_is_said():
    found = replicas_for(DAY, 3.0, min_replicas=2, max_replicas=4)
    assert set(found.hourly) == {2, 4}
    # at 20 a second four replicas take 12 at most: 8 x 8 of 192 requests/s-hours are not served
    assert found.unserved_fraction == pytest.approx(64 / 192)


def test_an_exact_fit_takes_no_replica_more():
    assert replicas_for(2.4 * 3, 3.0).peak == 3


def test_no_load_at_all_is_no_division_by_zero():
    found = replicas_for([0.0] * 24, 3.0, scale_to_zero=True)
    assert (found.peak, found.mean, found.idle_fraction, found.unserved_fraction) == (0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("rates", "options"),
    [
        ([1.0] * 23, {}),
        ([-1.0] * 24, {}),
        (float("nan"), {}),
        (float("inf"), {}),
        (1.0, {"max_replicas": 1, "min_replicas": 2}),
        (1.0, {"min_replicas": -1}),
        (1.0, {"cold_start_seconds": -1.0}),
        (1.0, {"target_load": 1.5}),
    ],
)
def test_contradictions_are_refused(rates, options):
    with pytest.raises(InvalidInput):
        replicas_for(rates, 3.0, **options)


def test_a_replica_that_serves_nothing_is_refused():
    with pytest.raises(InvalidInput):
        replicas_for(1.0, 0.0)
