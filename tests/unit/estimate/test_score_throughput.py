"""The score of a table of throughput: figures worked by hand, failures named, nothing skipped in silence."""

import json

import pytest

from providers.errors import InvalidInput
from service.estimate.score_throughput import evaluate_throughput, kind_of_row, tokens_per_second_per_gpu
from service.estimate.throughput_rows import read_row

ROW = {
    "id": "r1",
    "source": "a",
    "model": "Llama-2-7B",
    "technique": "full",
    "phase": "train",
    "precision": "bf16-pure",
    "micro_batch": "4",
    "seq_len": "2048",
    "grad_checkpointing": "1",
    "strategy": "single",
    "n_gpus": "1",
    "gpu": "A100-SXM4-80GB",
    "framework": "torchtune",
    "confidence": "A",
}
LORA = {**ROW, "technique": "lora", "lora_targets": "q,v"}
SERVE = {
    **ROW,
    "technique": "inference",
    "phase": "serve",
    "precision": "bf16",
    "micro_batch": "max",
    "input_len": "500",
    "output_len": "500",
    "framework": "vllm",
}
DECODE = {**SERVE, "phase": "decode", "micro_batch": "1"}
PREFILL = {**SERVE, "phase": "prefill", "micro_batch": "1"}


def measured(row, *, error_percent, name="r", table="a"):
    """The row with the measurement against which our estimate is wrong by that much."""
    estimate = tokens_per_second_per_gpu(read_row(row))
    return {**row, "id": name, "source": table, "tokens_per_s_per_gpu": repr(estimate / (1 + error_percent / 100))}


def test_errors_are_counted_by_class_and_table():
    rows = [
        measured(ROW, error_percent=10, name="r1", table="a"),
        measured(ROW, error_percent=-20, name="r2", table="a"),
        measured(LORA, error_percent=40, name="r3", table="b"),
        measured(SERVE, error_percent=-5, name="r4", table="b"),
    ]
    score = evaluate_throughput(rows, by="table")
    assert score.overall.median_ape == pytest.approx(15)  # 5, 10, 20, 40
    assert score.overall.p90_ape == pytest.approx(40)
    assert score.overall.under_point == pytest.approx(50)  # two promise more than was measured
    assert score.overall.table_mean_median == pytest.approx((15 + 22.5) / 2)
    assert score.classes["train"].scored == 3
    assert score.classes["train"].median_ape == pytest.approx(20)
    assert score.classes["train_lora"].median_ape == pytest.approx(40)
    assert score.classes["serving"].median_ape == pytest.approx(5)
    assert score.groups["a"].median_ape == pytest.approx(15)


def test_a_promise_above_the_measurement_is_under_predicted_time():
    promised, modest = (evaluate_throughput([measured(ROW, error_percent=error)]) for error in (5, -5))
    assert promised.overall.under_point == 100
    assert modest.overall.under_point == 0


def test_the_safe_value_covers_an_error_within_the_range():
    within, beyond = (evaluate_throughput([measured(ROW, error_percent=error)]) for error in (25, 45))
    assert within.overall.under_safe == 0
    assert beyond.overall.under_safe == 100


def test_confidence_c_is_counted_and_not_scored():
    score = evaluate_throughput([{**measured(ROW, error_percent=0), "confidence": "C"}])
    assert (score.overall.rows, len(score.scored), len(score.failures)) == (1, 0, 0)
    assert score.overall.median_ape is None


@pytest.mark.parametrize(
    "broken",
    [
        {"tokens_per_s_per_gpu": ""},
        {"tokens_per_s_per_gpu": "-3"},
        {"tokens_per_s_per_gpu": "nan"},
        {"phase": "dream"},
        {"model": "nobody's"},
        {"seq_len": "1e999"},
    ],
)
def test_a_row_that_cannot_be_estimated_is_named(broken):
    score = evaluate_throughput([{**measured(ROW, error_percent=0, name="bad"), **broken}])
    assert [failure.id for failure in score.failures] == ["bad"]
    assert score.failures[0].reason
    assert not score.scored


def test_weights_that_do_not_fit_are_a_named_failure():
    row = {**SERVE, "model": "Llama-3.1-70B", "tokens_per_s_per_gpu": "100"}
    assert "cannot hold" in evaluate_throughput([row]).failures[0].reason


def test_unknown_spellings_are_scored_with_a_note():
    row = {**measured(ROW, error_percent=0), "framework": "my-own", "gpu": "A100-SXM4-80GB-250W"}
    score = evaluate_throughput([row])
    assert len(score.scored) == 1
    row, compared = score.scored[0]
    assert row.framework == "unknown"
    assert compared.notes


def test_the_json_keys_are_always_there():
    keys = {"rows", "scored", "failed", "failures", "median_ape", "p90_ape", "under_point", "under_safe", "table_mean_median"}
    for rows in ([], [measured(ROW, error_percent=3)]):
        answer = json.loads(json.dumps(evaluate_throughput(rows).as_json()))
        assert keys <= answer.keys()
        assert set(answer["classes"]) == {"train", "train_full", "train_lora", "train_qlora", "decode", "prefill", "serving"}
        assert answer["scored"] == len(rows)
        assert answer["failed"] == 0
        for one in answer["classes"].values():
            assert keys == one.keys()


def test_rows_and_failures_are_counted_by_class():
    broken = {**measured(LORA, error_percent=0), "model": "nobody's"}
    unsure = {**measured(LORA, error_percent=0), "confidence": "C"}
    classes = evaluate_throughput([measured(ROW, error_percent=0), broken, unsure]).as_json()["classes"]
    assert [classes["train"][key] for key in ("rows", "scored", "failed")] == [3, 1, 1]
    assert [classes["train_lora"][key] for key in ("rows", "scored", "failed")] == [2, 0, 1]
    assert [classes["decode"][key] for key in ("rows", "scored", "failed")] == [0, 0, 0]


def test_an_unknown_grouping_is_refused():
    with pytest.raises(InvalidInput) as refused:
        evaluate_throughput([], by="colour")
    assert refused.value.allowed == ("class", "table", "framework")


@pytest.mark.parametrize(
    ("row", "kind"),
    [(ROW, "train_full"), (LORA, "train_lora"), (DECODE, "decode"), (PREFILL, "prefill"), (SERVE, "serving")],
)
def test_every_phase_has_its_class_and_a_rate(row, kind):
    assert kind_of_row(row) == kind
    assert tokens_per_second_per_gpu(read_row(row)) > 0


def test_a_stated_batch_caps_the_serving_one():
    free, capped = (tokens_per_second_per_gpu(read_row({**SERVE, "micro_batch": batch})) for batch in ("max", "4"))
    assert capped < free / 3
