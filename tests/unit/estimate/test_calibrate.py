"""Calibration by the user's own rows: shrunk, tried on rows left out, refused without help, and applied to jobs."""

import json
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.errors import InvalidInput
from providers.gpus import GPUS
from service.domain.workload import Workload
from service.estimate.calibrate import CalibrationRefused, fit_calibration
from service.estimate.calibration import UNCALIBRATED, Calibration, calibration_from
from service.estimate.estimate import estimate_on, job_shape
from service.estimate.job_memory import job_memory
from service.estimate.memory_rows import read_memory_row
from service.estimate.parallel import SINGLE
from service.estimate.safety import fitted_gib
from service.estimate.score_throughput import tokens_per_second_per_gpu
from service.estimate.throughput_rows import read_row
from service.estimate.vram import memory_need

MODELS = ("Llama-2-7B", "Llama-2-13B", "Qwen2.5-7B", "Mistral-7B")
ROW = {
    "technique": "lora", "phase": "train", "precision": "bf16-pure", "micro_batch": "4", "seq_len": "2048", "lora_rank": "8",
    "lora_targets": "q,v", "grad_checkpointing": "0", "flash_attention": "fa2", "strategy": "single", "n_gpus": "1",
    "gpu": "A100-SXM4-80GB", "framework": "torchtune", "measured": "torch max allocated", "confidence": "A",
}  # fmt: skip
ENGINE = {"technique": "inference", "phase": "decode", "micro_batch": "1", "input_len": "64", "output_len": "64"}


def slower(factor: float, *, table: str, model: str = MODELS[0], **cells) -> dict:
    """A row of a machine that takes that many times our time."""
    row = ROW | {"model": model, "source": table, "id": f"{table} {model}"} | cells
    return row | {"tokens_per_s_per_gpu": repr(tokens_per_second_per_gpu(read_row(row)) / factor)}


def larger(factor: float, *, table: str, model: str = MODELS[0], **cells) -> dict:
    """A row whose fitted parts are that many times ours."""
    row = ROW | {"model": model, "source": table, "id": f"{table} {model}"} | cells
    need = memory_need(read_memory_row(row)[0])
    fitted = fitted_gib(need.parts)
    return row | {"measured_gib": repr(need.point_gib - fitted + factor * fitted)}


def job(calibration: Calibration = UNCALIBRATED, **fields):
    work = {"model": "llama-2-7b", "technique": "lora", "framework": "torchtune", "tokens": 1e6} | fields
    return job_shape(Workload.model_validate_json(json.dumps(work)), calibration)


def test_a_steady_difference_is_found_and_shrunk():
    rows = [slower(1.5, table=table, model=model) for table in "abc" for model in MODELS]
    found = fit_calibration(rows, as_of="2026-08-01")
    factor = found.calibration.seconds["torchtune/train"] * found.calibration.cards["A100-SXM4-80GB"]
    # "no change" weighs as one table: three tables of four rows move most of the way, never all of it
    assert 1.2 < factor < 1.5
    assert (found.time.left_out, found.time.folds, found.memory) == ("table", 3, None)
    assert found.time.error_after < found.time.error_before == pytest.approx(100 * (1 - 1 / 1.5))


def test_more_tables_move_further():
    few, many = (
        fit_calibration([slower(1.5, table=table, model=model) for table in tables for model in MODELS], as_of="2026-08-01")
        for tables in ("ab", "abcdefgh")
    )
    assert few.calibration.seconds["torchtune/train"] < many.calibration.seconds["torchtune/train"]


def test_a_cards_own_slowness_is_told_from_the_frameworks():
    rows = [slower(1.6, table=t, model=m, gpu="RTX 4090") for t in "abc" for m in MODELS[:1]]
    rows += [slower(1.0, table=t, model=m) for t in "abcd" for m in MODELS]
    cards = fit_calibration(rows, as_of="2026-08-01").calibration.cards
    assert cards["RTX 4090"] > 1.15
    assert cards["A100-SXM4-80GB"] < 1.05


def test_the_fitted_parts_of_memory_move_and_the_formats_stay():
    found = fit_calibration([larger(1.4, table=t, model=m) for t in "abc" for m in MODELS], as_of="2026-08-01")
    factor = found.calibration.memory["torchtune/training"]
    assert 1.15 < factor < 1.4
    ours, calibrated = job_memory(job()[0], SINGLE), job_memory(job(found.calibration)[0], SINGLE)
    parts, moved = ({part.name: part.gib for part in need.parts} for need in (ours, calibrated))
    assert moved["weights"] == parts["weights"]
    assert moved["activations"] == pytest.approx(factor * parts["activations"])
    assert sum(moved.values()) == pytest.approx(calibrated.point_gib)
    assert calibrated.safe_gib > ours.safe_gib


def test_tables_that_contradict_each_other_are_refused():
    rows = [slower(factor, table=table, model=m) for table, factor in (("a", 1.5), ("b", 0.67), ("c", 1.0)) for m in MODELS]
    with pytest.raises(CalibrationRefused, match="no help"):
        fit_calibration(rows, as_of="2026-08-01")


def test_rows_that_we_meet_already_are_refused():
    with pytest.raises(CalibrationRefused):
        fit_calibration([slower(1.0, table=t, model=m) for t in "abc" for m in MODELS], as_of="2026-08-01")


def test_too_few_rows_are_refused_with_their_number():
    with pytest.raises(CalibrationRefused, match="time: 3 usable rows, 4 are needed"):
        fit_calibration([slower(2.0, table="a", model=m) for m in MODELS[:3]], as_of="2026-08-01")


def test_one_half_may_help_where_the_other_does_not():
    rows = [slower(1.5, table=t, model=m) | larger(1.0, table=t, model=m) for t in "abc" for m in MODELS]
    times = {row["id"]: slower(1.5, table=row["source"], model=row["model"]) for row in rows}
    found = fit_calibration([row | times[row["id"]] for row in rows], as_of="2026-08-01")
    assert found.calibration.memory == {}
    assert found.calibration.seconds
    assert not found.memory.helps


@pytest.mark.parametrize(
    ("tables", "models", "left_out"), [("ab", MODELS[:2], "table"), ("a", MODELS, "model"), ("a", MODELS[:1] * 4, "row")]
)
def test_what_is_left_out_is_the_coarsest_that_there_is(tables, models, left_out):
    rows = [slower(1.6, table=t, model=m) for t in tables for m in models]
    assert fit_calibration(rows, as_of="2026-08-01").time.left_out == left_out


def test_rows_that_cannot_be_used_are_named():
    rows = [slower(1.5, table=t, model=m) for t in "abc" for m in MODELS]
    rows += [rows[0] | {"id": "bad", "seq_len": "long"}, rows[0] | {"id": "mine", "framework": "my-own"}]
    rows += [rows[0] | {"id": "c", "confidence": "C"}]
    found = fit_calibration(rows, as_of="2026-08-01")
    assert [row for row, _ in found.unused] == ["bad", "mine"]
    assert found.time.rows == 12


def test_time_and_rate_of_a_job_follow_the_factors():
    twice = Calibration(seconds={"torchtune/train": 1.6}, cards={"H100-SXM": 1.25}, rows=9, as_of="2026-08-01")
    ours, theirs = (estimate_on(job(one)[0], GPUS["H100-SXM"], gpu_count=1) for one in (UNCALIBRATED, twice))
    assert theirs.seconds_per_unit.mid == pytest.approx(2.0 * ours.seconds_per_unit.mid)
    assert theirs.tokens_per_second.mid == pytest.approx(0.5 * ours.tokens_per_second.mid)
    other = estimate_on(job(twice, framework="litgpt")[0], GPUS["A100-SXM4-80GB"], gpu_count=1)
    assert other == estimate_on(job(framework="litgpt")[0], GPUS["A100-SXM4-80GB"], gpu_count=1)


def test_a_slower_engine_meets_the_same_targets_with_smaller_batches():
    work = {"task": "infer", "model": "llama-3.1-8b", "framework": "vllm", "time_per_output_token_seconds": 0.03}
    asked = Workload.model_validate_json(json.dumps(work))
    slow = Calibration(seconds={"vllm/serving": 2.0})
    rates = [
        estimate_on(job_shape(asked, one)[0], GPUS["H100-SXM"], gpu_count=1).requests_per_second.mid
        for one in (UNCALIBRATED, slow)
    ]
    assert rates[1] < rates[0] / 2  # twice the time, and fewer sequences at once


def test_a_calibration_is_listed_as_an_assumption():
    used = Calibration(memory={"torchtune/training": 1.1}, cards={"L4": 0.9}, rows=12, as_of="2026-08-01")
    listed = {one.name: one for one in job(used)[1]}
    assert listed["calibration: memory of torchtune/training"].value == 1.1
    assert "12 measured rows" in listed["calibration: time on L4"].source
    assert not [name for name in {one.name for one in job(used, framework="hf")[1]} if "torchtune" in name]
    assert not [one for one in job()[1] if one.name.startswith("calibration")]


@pytest.mark.parametrize(
    ("tables", "pointer"),
    [
        ({"speed": {}}, ""),
        ({"memory": {"hf/cooking": 1.0}}, "/memory"),
        ({"seconds": {"hf/train": 9.0}}, "/seconds/hf/train"),
        ({"seconds": {"hf/train": True}}, "/seconds/hf/train"),
        ({"cards": {"H1000": 1.0}}, "/cards"),
        ({"cards": 3}, "/cards"),
        ({"memory": {"hf/training": float("nan")}}, "/memory/hf/training"),
    ],
)
def test_what_a_calibration_cannot_hold_is_refused(tables, pointer):
    with pytest.raises(InvalidInput) as refused:
        calibration_from(tables)
    assert (refused.value.pointer or "") == pointer


@given(factor=st.floats(0.25, 4.0))
def test_memory_grows_with_its_factor_and_parts_add_up(factor):
    base = job_memory(job()[0], SINGLE)
    need = job_memory(job(calibration_from({"memory": {"torchtune/training": factor}}))[0], SINGLE)
    assert (need.point_gib - base.point_gib) * log(factor) >= -1e-9
    assert sum(part.gib for part in need.parts) == pytest.approx(need.point_gib)
    assert need.safe_gib >= need.point_gib


def test_the_version_names_the_factors():
    one, same, other = (calibration_from({"cards": {"L4": factor}}) for factor in (1.1, 1.1, 1.2))
    assert one.version == same.version != other.version
    assert UNCALIBRATED.version == ""
