"""Every default of own hardware lies within its own range: the draws of a purchase are made from it."""

import pytest

from providers.gpus import GPUS
from service.solver.pool_defaults import BOXES, cost_of, default_pool


@pytest.mark.parametrize("card", [*BOXES, "RTX 3090", "MI300X", "L4"])
def test_a_default_lies_within_its_range(card):
    _, listed = cost_of(default_pool(GPUS[card]), GPUS[card])
    assert len(listed) >= 10
    assert [one.name for one in listed if not one.low <= one.value <= one.high] == []


def test_staff_of_a_node_of_eight_keeps_its_range():
    # 0.32 x 25,000 = 8,000 and 2.4 x 25,000 = 60,000
    _, listed = cost_of(default_pool(GPUS["H100-SXM"]), GPUS["H100-SXM"])
    staff = next(one for one in listed if one.name.endswith("staff_usd_per_node_year"))
    assert (staff.low, staff.value, staff.high) == (8_000, 25_000, 60_000)
