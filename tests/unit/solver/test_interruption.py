from math import e, inf

import pytest

from service.solver.interruption import (
    checkpoint_interval_hours,
    mean_hours_between_stops,
    paid_hours_from_zero,
    paid_hours_of_service,
    paid_hours_with_checkpoints,
)


@pytest.mark.parametrize(
    ("mean", "stall", "restart", "price"),
    [
        (4492, 2, 10, 2.53), (24, 2, 10, 2.68), (6, 2, 10, 2.89), (2, 2, 10, 3.31),
        (4492, 5, 20, 2.54), (24, 5, 20, 2.78), (6, 5, 20, 3.16), (2, 5, 20, 4.04),
    ],
)  # fmt: skip
def test_the_published_price_of_a_useful_hour_of_interrupted_h100_spot(mean, stall, restart, price):
    # 2.50 per running hour and 0.02 per wall hour of 100 useful hours, 30 minutes until a machine is had again
    paid = float(paid_hours_with_checkpoints(100.0, hours_between_stops=mean, stall_hours=stall / 60, restart_hours=restart / 60))
    wall = paid + paid / mean * 0.5
    assert (2.50 * paid + 0.02 * wall) / 100 == pytest.approx(price, abs=0.011)


def test_the_best_interval_at_a_two_minute_stall_and_a_day_between_stops_is_75_minutes():
    assert float(checkpoint_interval_hours(2 / 60, 24)) * 60 == pytest.approx(75, abs=0.5)


def test_a_run_shorter_than_its_interval_stops_for_no_checkpoint():
    # 1 h at M = 24: M e^(R/M) (e^(1/M) - 1) with R = 0
    paid = paid_hours_with_checkpoints(1.0, hours_between_stops=24, stall_hours=2 / 60, restart_hours=0)
    assert float(paid) == pytest.approx(24 * (e ** (1 / 24) - 1))


def test_from_zero_costs_m_times_e_to_the_t_over_m_minus_one():
    assert float(paid_hours_from_zero(24.0, hours_between_stops=24)) == pytest.approx(24 * (e - 1))


def test_a_service_repeats_only_its_restarts():
    assert float(paid_hours_of_service(730.0, hours_between_stops=24, restart_hours=0.5)) == pytest.approx(730 * (1 + 0.5 / 24))


@pytest.mark.parametrize(("band", "hours"), [((0.15, 0.15), 4492), ((0.20, 0.20), 3271), ((0.5, 0.5), 1053)])
def test_a_monthly_share_of_stopped_machines_is_a_mean_time(band, hours):
    found = mean_hours_between_stops(capacity_type="spot", tenancy="hyperscaler", is_host=False, stopped_per_month=band)
    assert found == pytest.approx(hours, abs=1)


def test_priors_stand_where_no_rate_is_shown_and_on_demand_is_not_taken_away():
    spot = {"capacity_type": "spot", "stopped_per_month": None}
    assert mean_hours_between_stops(**spot, tenancy="hyperscaler", is_host=False) == 24
    assert mean_hours_between_stops(**spot, tenancy="community_host", is_host=True) == 12
    on_demand = mean_hours_between_stops(capacity_type="on_demand", tenancy="hyperscaler", is_host=False, stopped_per_month=None)
    assert on_demand == inf
