"""The file of a calibration: what is written is read back, and a file that is none stops instead of being ignored."""

import csv
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
