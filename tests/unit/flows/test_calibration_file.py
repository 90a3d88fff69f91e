"""The file of a calibration: what is written is read back, and a file that is none stops instead of being ignored."""

import csv
import json
import tomllib

import pytest

from service.cli.app import run
from service.estimate.calibration import UNCALIBRATED
from service.estimate.score_throughput import tokens_per_second_per_gpu
from service.estimate.throughput_rows import read_row
from service.flows.calibration import CalibrationUnreadable, load_calibration

ROW = {
    "technique": "full", "phase": "train", "precision": "bf16-pure", "micro_batch": "4", "seq_len": "2048",
    "grad_checkpointing": "1", "strategy": "single", "n_gpus": "1", "gpu": "A100-SXM4-80GB", "framework": "torchtune",
    "confidence": "A",
}  # fmt: skip


def measured(folder, *, factor: float) -> str:
    """A table of a machine that takes that many times our time."""
    rows = [ROW | {"id": f"{t}{m}", "source": t, "model": m} for t in "abc" for m in ("Llama-2-7B", "Qwen2.5-7B")]
    rows = [row | {"tokens_per_s_per_gpu": repr(tokens_per_second_per_gpu(read_row(row)) / factor)} for row in rows]
    path = folder / "mine.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def test_what_the_command_writes_is_what_the_setting_reads(tmp_path, capsys):
    out = tmp_path / "calibration.toml"
    assert run(["calibrate", measured(tmp_path, factor=1.5), "--out", str(out)]) == 0
    read = load_calibration(out)
    raw = tomllib.loads(out.read_text(encoding="utf-8"))
    assert dict(read.seconds) == raw["seconds"]
    assert dict(read.cards) == raw["cards"]
    assert 1.1 < read.seconds["torchtune/train"] * read.cards["A100-SXM4-80GB"] < 1.5
    assert (read.rows, read.as_of) == (6, raw["about"]["as_of"])
    assert "GPUPLAN_CALIBRATION_PATH" in capsys.readouterr().out


def test_a_calibration_that_does_not_help_is_refused_and_nothing_is_written(tmp_path, capsys):
    out = tmp_path / "calibration.toml"
    assert run(["calibrate", measured(tmp_path, factor=1.0), "--out", str(out)]) == 1
    assert "no help" in capsys.readouterr().err
    assert not out.exists()


def test_no_path_is_no_calibration():
    assert load_calibration(None) is UNCALIBRATED


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read"),
        (b"[memory\n", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        (b'[memory]\n"hf/training" = 99\n', "outside"),
        (b"[prices]\n", "no table prices"),
        (b"#" * 1_000_001, "over 1000000 bytes"),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path, content, told):
    path = tmp_path / "calibration.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CalibrationUnreadable, match=told):
        load_calibration(path)


PLAN = ("plan", "--model", "llama-3.1-8b", "--technique", "lora", "--framework", "torchtune", "--tokens", "50M", "--json")
ESTIMATE = (
    "estimate",
    "--gpu",
    "H100 SXM",
    "--model",
    "llama-3.1-8b",
    "--technique",
    "lora",
    "--framework",
    "torchtune",
    "--tokens",
    "50M",
    "--json",
)


@pytest.fixture
def calibrated(tmp_path, monkeypatch):
    """Twice our time for torchtune, on a machine without stored prices."""
    path = tmp_path / "mine.toml"
    path.write_text('[about]\nrows = 9\nas_of = "2026-08-01"\n[seconds]\n"torchtune/train" = 2.0\n', encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GPUPLAN_URL", raising=False)
    return path


def answered(capsys, arguments) -> dict:
    assert run(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


def hours_by_card(plan: dict) -> dict[tuple, float]:
    return {(one["gpu"], one["gpu_count"], one["nodes"]): one["hours"]["mid"] for one in plan["options"]}


def test_a_plan_counts_with_the_users_own_pace_and_says_so(calibrated, capsys, monkeypatch):
    ours = answered(capsys, PLAN)
    monkeypatch.setenv("GPUPLAN_CALIBRATION_PATH", str(calibrated))
    theirs = answered(capsys, PLAN)
    before, after = hours_by_card(ours), hours_by_card(theirs)
    shared = before.keys() & after.keys()
    assert shared
    assert all(after[key] > 1.5 * before[key] for key in shared)  # hours hold set-up time too
    listed = [one for one in theirs["assumptions"] if one["name"].startswith("calibration")]
    assert [(one["name"], one["value"]) for one in listed] == [("calibration: time of torchtune/train", 2.0)]
    assert theirs["plan_id"] != ours["plan_id"]


def test_an_estimate_counts_with_it_too(calibrated, capsys, monkeypatch):
    ours = answered(capsys, ESTIMATE)
    monkeypatch.setenv("GPUPLAN_CALIBRATION_PATH", str(calibrated))
    theirs = answered(capsys, ESTIMATE)
    rates = [one["gpus"][0]["groups"][-1]["tokens_per_second"]["mid"] for one in (ours, theirs)]
    assert rates[1] == pytest.approx(rates[0] / 2, rel=1e-4)


@pytest.mark.parametrize("arguments", [PLAN, ESTIMATE])
def test_a_setting_that_names_no_calibration_stops_the_command(calibrated, capsys, monkeypatch, arguments):
    monkeypatch.setenv("GPUPLAN_CALIBRATION_PATH", str(calibrated.with_name("absent.toml")))
    assert run(list(arguments)) == 2
    said = capsys.readouterr()
    assert "calibration" in said.err
    assert str(calibrated.parent) not in said.err
