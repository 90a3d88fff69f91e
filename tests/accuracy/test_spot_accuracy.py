"""The interruption model on the recorded traces beside the project: what may be promised of paid and wall hours."""

import json

import pytest

from service.solver.spot_score import evaluate_spot
from service.solver.spot_traces import machines_needed, trace_of


@pytest.fixture(scope="module")
def score(shared_data):
    traces = []
    for path in sorted((shared_data / "spot_traces").glob("*.json")):
        tree = json.loads(path.read_text(encoding="utf-8"))
        gap = tree["metadata"]["gap_seconds"]
        traces.append(trace_of(path.name, tree["data"], gap_seconds=gap, needed=machines_needed(path.name)))
    return evaluate_spot(traces).as_json()


def test_as_many_cases_as_the_rule_gives(score):
    assert score["cases"] == 32


def test_paid_hours_may_be_promised(score):
    assert score["paid_median_ape"] <= 5
    assert score["paid_p90_ape"] <= 10


def test_wall_times_lie_in_their_range_and_the_range_is_not_idle(score):
    assert score["wall_in_range"] >= 80
    assert score["wall_range_median_width"] <= 80
