"""Jobs replayed on made-up markets, each worked by hand."""

import json
import math
from pathlib import Path

import pytest

from providers.errors import InvalidInput
from service.cli.app import run
from service.solver.interruption import paid_hours_with_checkpoints, wall_hours
from service.solver.spot_score import evaluate_spot
from service.solver.spot_traces import RESTART_HOURS, STALL_HOURS, case_of, machines_needed, trace_of

FIXTURE = Path(__file__).parents[2] / "fixtures" / "spot" / "three_up_one_down_1-node.json"


def trace(counts, *, gap_seconds=3600.0, needed=1):
    return trace_of("t", counts, gap_seconds=gap_seconds, needed=needed)


def test_the_rate_comes_from_the_first_half_only():
    made = trace([1, 1, 1, 0, 1, 1, 0, 0] + [0] * 8)
    # first half: up spells of 3 and 2 h, down spells of 1 and 2 h
    rate = made.rate
    assert (rate.hours_between_stops, rate.mean_down_hours, rate.up_fraction, rate.stops) == (2.5, 1.5, 5 / 8, 2)


def test_without_an_up_and_a_down_spell_there_is_no_rate():
    assert trace([1, 1, 1, 1, 0, 1]).rate is None
    score = evaluate_spot([trace([0, 0, 1, 1])])
    assert score.cases == ()
    assert "no spell" in score.traces[0].left_out
    assert score.as_json()["paid_median_ape"] is None


def test_a_job_without_interruption_pays_its_start_and_its_checkpoints():
    # the first half has spells of 4 h up, 4 h down; the second is up throughout: W = 4 from its first hours
    made = trace([1] * 4 + [0] * 4 + [1] * 8)
    found = case_of(made, 4.0)
    # Daly at M = 4 h and 2 minutes: sqrt(2 x 4/30) (1 + q/3 + q^2/9) - 1/30, q = sqrt(1/240): 0.494 h; 9 pieces, 8 stalls
    ratio = math.sqrt(1 / 240)
    interval = math.sqrt(8 / 30) * (1 + ratio / 3 + ratio**2 / 9) - 1 / 30
    assert math.ceil(4 / interval) == 9
    takes = RESTART_HOURS + 4 + 8 * STALL_HOURS
    assert found is None  # of 8 starts those at 8, 9, 10 and 11 have 4.43 h left: half of them
    longer = case_of(trace([1] * 20 + [0] * 20 + [1] * 40), 4.0)
    assert (longer.starts, longer.finished) == (40, 36)
    assert longer.paid_hours == pytest.approx(longer.wall_hours)
    assert longer.paid_hours == pytest.approx(RESTART_HOURS + 4 + 3 * STALL_HOURS)  # M = 20 h: pieces of 1.14 h
    assert takes < 4.5


def test_work_since_the_last_checkpoint_is_lost_and_down_time_is_free():
    # 3 h up and 1 h down, again and again: M = 3 h, pieces of 0.424 h and 1/30. A start at an up spell's beginning:
    # 3 h paid: 1/6 start, then 6 pieces of 0.457 h (2.744 h), so 2.544 h are saved; 1 h of waiting; then 1/6 start,
    # 1.456 h left: 3 stalls. 3 + 1/6 + 1.456 + 0.1 = 4.72 paid, 5.72 of wall time
    counts = [1, 1, 1, 0] * 100
    made = trace(counts)
    assert (made.rate.hours_between_stops, made.rate.mean_down_hours) == (3.0, 1.0)
    found = case_of(made, 4.0)
    ratio = math.sqrt(1 / 180)
    interval = math.sqrt(6 / 30) * (1 + ratio / 3 + ratio**2 / 9) - 1 / 30

    def by_hand(there):
        saved = interval * math.floor((there - 1 / 6) / (interval + 1 / 30))
        left = 4 - saved
        more = 1 / 6 + left + (math.ceil(left / interval) - 1) / 30
        if more <= 3:
            return there + more, there + 1 + more
        again = left - interval * math.floor((3 - 1 / 6) / (interval + 1 / 30))
        last = 1 / 6 + again + max(0, math.ceil(again / interval) - 1) / 30
        return there + 3 + last, there + 1 + 3 + 1 + last

    hours = [by_hand(there) for there in (3.0, 2.0, 1.0)]  # starts at the first, second and third hour of up time
    paid = [one for one, _ in hours] + [hours[0][0]]  # and one in down time, that waits its hour for nothing
    wall = [one for _, one in hours] + [hours[0][1] + 1]
    assert found.paid_hours == pytest.approx(sum(paid) / 4, rel=0.005)  # the last starts do not finish
    assert found.wall_hours == pytest.approx(sum(wall) / 4, rel=0.01)


def test_the_prediction_is_the_plan_s_function_and_the_first_start():
    found = case_of(trace([1, 1, 1, 0] * 100), 12.0)
    paid = paid_hours_with_checkpoints(12.0, hours_between_stops=3.0, stall_hours=1 / 30, restart_hours=1 / 6, spread=2.0)
    assert found.predicted_paid_hours == pytest.approx(paid + 1 / 6)
    assert found.predicted_wall_hours == pytest.approx((paid + 1 / 6) / 0.75)
    # a third of waiting to each running hour: from none of it to twice as much, and 3 % of paid hours on both sides
    assert found.wall_low_hours == pytest.approx((paid + 1 / 6) * 0.97)
    assert found.wall_high_hours == pytest.approx((paid + 1 / 6) * 1.03 * (1 + 2 / 3))


def test_where_too_few_starts_finish_the_case_does_not_count():
    score = evaluate_spot([trace([1, 0] * 40)])  # 1 h spells: 24 h of work never fit into 40 h
    assert [case.useful_hours for case in score.cases] == [4.0]
    assert score.traces[0].left_out == "jobs of 12, 24 h: too few starts finish"


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("availability_1-node_aws-02-15-2023_us-east-1a_v100_1.json", 1),
        ("availability/16-node/aws/us-east-1_v100_8.json", 16),
        ("v100_8.json", 1),
        ("2-node/4-node_k80.json", 4),
        ("my-2023-nodes.json", 1),
    ],
)
def test_machines_needed_stand_in_the_name(path, needed):
    assert machines_needed(path) == needed


def test_a_gang_is_up_only_when_all_its_machines_are():
    assert trace([2, 1, 2, 2, 0, 2, 2, 2], needed=2).rate.hours_between_stops == 1.5  # spells of 1 and 2 h


@pytest.mark.parametrize("counts", [[], [1], [1, -1], [1, math.nan], [1, math.inf]])
def test_what_is_no_series_is_refused(counts):
    with pytest.raises(InvalidInput):
        trace(counts)
    with pytest.raises(InvalidInput):
        trace([1, 0], gap_seconds=0.0)


def test_a_spread_of_one_is_the_exponential_formula_and_more_costs_less():
    terms = {"hours_between_stops": 3.0, "stall_hours": 1 / 30, "restart_hours": 1 / 6}
    exponential = float(paid_hours_with_checkpoints(12.0, **terms))
    assert float(paid_hours_with_checkpoints(12.0, **terms, spread=1.0000001)) == pytest.approx(exponential, rel=1e-5)
    assert 12 < float(paid_hours_with_checkpoints(12.0, **terms, spread=2.0)) < exponential


def test_no_time_down_means_no_waiting():
    assert wall_hours(10.0, 1.0) == pytest.approx((9.7, 10.0, 10.3))


def test_the_command_scores_a_trace(capsys):
    assert run(["evaluate", "spot", str(FIXTURE), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    # 32 starts; jobs of 12 h take 17 h of wall time and more, so only those of 4 h count
    assert told["cases"] == 1
    assert told["traces"][0]["hours_between_stops"] == 3.0
    assert told["wall_in_range"] == 100.0
    assert run(["evaluate", "spot", str(FIXTURE)]) == 0
    assert "100.0 % of wall times lie in the range" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"data": [1]}',
        '{"data": ["x"], "metadata": {"gap_seconds": 1}}',
        '{"data": [1], "metadata": {"gap_seconds": 1}}',
    ],
)
def test_the_command_refuses_what_is_no_trace(text, tmp_path, capsys):
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    assert run(["evaluate", "spot", str(bad)]) == 2
    assert capsys.readouterr().out == ""
    assert run(["evaluate", "spot", str(tmp_path / "none.json")]) == 2
