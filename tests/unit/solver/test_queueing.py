import math

import pytest

from providers.errors import InvalidInput
from service.solver.queueing import chance_to_wait, delay_usd_per_gpu_hour, wait_per_service

TABLE = [  # slots; wait over service at load .6 .7 .8 .9; and at .8 with run times of squared variation 4
    (1, 1.50, 2.33, 4.00, 9.00, 10.0),
    (2, 0.56, 0.96, 1.78, 4.26, 4.44),
    (4, 0.18, 0.36, 0.75, 1.97, 1.86),
    (8, 0.04, 0.11, 0.29, 0.88, 0.72),
    (16, 0.01, 0.03, 0.10, 0.37, 0.24),
    (64, 0.00, 0.00, 0.00, 0.05, 0.01),
]


@pytest.mark.parametrize(("slots", "at6", "at7", "at8", "at9", "heavy"), TABLE)
def test_the_table_of_waits(slots, at6, at7, at8, at9, heavy):
    for load, wait in zip((0.6, 0.7, 0.8, 0.9), (at6, at7, at8, at9), strict=True):
        assert wait_per_service(slots, load, service_spread2=1.0) == pytest.approx(wait, abs=0.0055)
    assert wait_per_service(slots, 0.8) == pytest.approx(heavy, abs=0.0055)


def test_two_slots_by_hand():
    # M/M/2 at load 0.5: offered 1; B = (1/2) / (1 + 1 + 1/2) = 0.2; C = 0.2 / (1 - 0.5 x 0.8) = 1/3
    assert chance_to_wait(2, 0.5) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("slots", "usd"), [(1, 25.0), (4, 4.66), (8, 1.79)])
def test_what_an_hour_of_delay_at_20_adds_to_a_gpu_hour_of_eight_gpu_jobs(slots, usd):
    found = delay_usd_per_gpu_hour(usd_per_hour_of_delay=20, wait_per_service_hour=wait_per_service(slots, 0.8), gpus_per_job=8)
    assert found == pytest.approx(usd, abs=0.01)


def test_a_full_queue_never_ends_and_an_idle_one_is_not_waited_for():
    assert wait_per_service(3, 1.0) == math.inf
    assert wait_per_service(3, 0.0) == 0.0
    assert 0 <= wait_per_service(100_000, 0.99) < 0.01


@pytest.mark.parametrize(("slots", "load"), [(0, 0.5), (2, -0.1)])
def test_what_is_no_queue_is_refused(slots, load):
    with pytest.raises(InvalidInput):
        chance_to_wait(slots, load)
