"""Published rent-or-own figures against ours: every row of the case file, and what a bad row does."""

import csv
import json
import math
from pathlib import Path

import pytest

from providers.errors import InvalidInput
from service.cli.app import run
from service.solver.tco_cases import evaluate_tco

CASES = Path(__file__).with_name("tco_cases.csv")
NODE = {
    "case_id": "x", "n_gpu": "8", "capex_usd": "87600", "opex_usd_per_node_h": "1", "cloud_usd_per_node_h": "11",
    "life_years": "2", "utilization": "0.5", "tolerance_abs": "0.001",
}  # fmt: skip


def cases():
    with CASES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def result(**cells):
    return evaluate_tco([{**NODE, **cells}]).results[0]


def test_every_published_row_is_met():
    score = evaluate_tco(cases())
    assert score.as_json() == {"rows": 24, "passed": 24, "failed": 0, "failures": []}


@pytest.mark.parametrize("row", cases(), ids=lambda row: row["case_id"])
def test_a_row_a_little_off_its_tolerance_fails(row):
    expected = float(row["expected"])
    allowed = max(float(row["tolerance_rel"] or 0) * expected, float(row["tolerance_abs"] or 0)) if expected < math.inf else 1
    off = 9.0 if math.isinf(expected) else expected + 2.1 * allowed
    assert not evaluate_tco([{**row, "expected": str(off)}]).results[0].passed


@pytest.mark.parametrize(
    ("metric", "expected", "cells"),
    [
        # 87,600 / (11 - 1) = 8,760 used hours = 12 months of 730 h; 4 hours a day: 8760 / 1460
        ("breakeven_hours", "8760", {}),
        ("breakeven_months", "12", {}),
        ("breakeven_months", "12.16667", {"unit": "months of 720 h"}),
        ("breakeven_years", "6", {"hours_per_day": "4"}),
        # around the clock: 87,600 / (8760 x (11 x 0.5 - 1)) = 10 / 4.5
        ("breakeven_years", "2.22222", {}),
        # (87,600 / 17,520 + 1) / 11 = 6 / 11
        ("breakeven_utilization", "0.545455", {}),
        ("breakeven_utilization", "3", {"cloud_usd_per_node_h": "2"}),
        ("breakeven_utilization", "0.090909", {"capex_usd": "", "life_years": ""}),
        ("breakeven_hours_per_day", "13.0909", {}),
        ("cost_per_node_hour", "6", {}),
        ("cost_per_useful_gpu_hour", "1.5", {}),
        ("onprem_cost_per_useful_hour", "12", {}),
        ("onprem_cost_per_useful_hour", "6", {"utilization": ""}),
        ("saving_per_useful_hour", "-1", {}),
        ("onprem_opex_per_year", "8760", {"life_years": ""}),
        ("cloud_cost_per_year", "96360", {}),
        ("onprem_total", "105120", {}),
        ("cloud_total", "192720", {}),
        ("saving_share", "0.454545", {}),
        ("maintenance_per_node_hour", "0.3", {"maint_pct_per_year": "0.03"}),
        ("colo_per_node_hour", "2", {"colo_usd_per_month": "1440"}),
        # 11 / (3600 x 1000) x 1e6
        ("usd_per_million_tokens", "3.055556", {"tokens_per_s": "1000"}),
        ("breakeven_years", "inf", {"cloud_usd_per_node_h": "2"}),
        ("breakeven_hours", "inf", {"cloud_usd_per_node_h": "1"}),
        # the parts: 0.03 x 10 + 0.5 + 2 kW x (0.1 + 0.05) + 730 x 12 / 8760 + 17,520 / 17,520
        (
            "onprem_opex_per_year",
            str(8760 * (0.3 + 0.5 + 0.3 + 1 + 1)),
            {
                "opex_usd_per_node_h": "", "maint_pct_per_year": "0.03", "power_cooling_usd_per_node_h": "0.5", "kw_draw": "2",
                "elec_usd_per_kwh": "0.1", "cooling_usd_per_kwh": "0.05", "colo_usd_per_month": "730", "staff_usd_total": "17520",
            },
        ),
        # a running cost told as one sum is not added to its own parts
        ("onprem_opex_per_year", "8760", {"maint_pct_per_year": "0.03", "colo_usd_per_month": "730"}),
    ],
)  # fmt: skip
def test_each_metric_by_hand(metric, expected, cells):
    found = result(metric=metric, expected=expected, **cells)
    assert found.passed, found


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"metric": "breakeven_hours", "cloud_usd_per_node_h": ""}, "needs the column cloud_usd_per_node_h"),
        ({"metric": "cost_per_node_hour", "life_years": ""}, "needs the column life_years"),
        ({"metric": "cost_per_node_hour", "life_years": "0"}, "divisor"),
        ({"metric": "cost_per_useful_gpu_hour", "n_gpu": "0.5"}, "n_gpu"),
        ({"metric": "cloud_cost_per_year", "cloud_usd_per_node_h": "eleven"}, "no usable number"),
        ({"metric": "cloud_cost_per_year", "cloud_usd_per_node_h": "-1"}, "no usable number"),
        ({"metric": "cloud_cost_per_year", "expected": ""}, "needs the column expected"),
        ({"metric": "cloud_cost_per_year", "expected": "nan"}, "no usable number"),
    ],
)
def test_a_row_that_cannot_be_computed_fails_with_its_reason(cells, reason):
    found = result(**{"expected": "1", **cells})
    assert (found.ours, found.passed) == (None, False)
    assert reason in found.reason


@pytest.mark.parametrize(("expected", "cloud"), [("inf", "11"), ("8760", "1"), ("-inf", "1")])
def test_never_is_met_exactly(expected, cloud):
    assert not result(metric="breakeven_hours", expected=expected, cloud_usd_per_node_h=cloud, tolerance_rel="10").passed


def test_a_part_that_no_metric_counts_is_told():
    found = result(metric="cost_per_node_hour", expected="5", opex_usd_per_node_h="", maint_usd_per_node_h="0.4")
    assert found.notes == ("maint_usd_per_node_h is not counted: it only explains opex_usd_per_node_h",)


def test_an_unknown_metric_is_an_error():
    with pytest.raises(InvalidInput, match="row 1: the metric is not known") as refused:
        result(metric="profit", expected="1")
    assert "breakeven_hours" in refused.value.allowed


def test_the_command_prints_json_and_fails_with_a_row(tmp_path, capsys):
    assert run(["evaluate", "tco", str(CASES), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] == 24
    bad = tmp_path / "bad.csv"
    bad.write_text("case_id,metric,expected,cloud_usd_per_node_h\na,cloud_cost_per_year,1,1\nb,breakeven_hours,inf,0\n")
    assert run(["evaluate", "tco", str(bad), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["passed"], told["failed"]) == (2, 1, 1)
    assert (told["failures"][0]["case_id"], told["failures"][0]["expected"], told["failures"][0]["ours"]) == ("a", 1.0, 8760.0)
    assert run(["evaluate", "tco", str(bad)]) == 1
    assert "2 rows, 1 passed, 1 failed" in capsys.readouterr().out


def test_the_command_refuses_an_unknown_metric(tmp_path, capsys):
    bad = tmp_path / "bad.csv"
    bad.write_text("case_id,metric,expected\na,profit,1\n")
    assert run(["evaluate", "tco", str(bad)]) == 2
    assert "metric is not known" in capsys.readouterr().err
