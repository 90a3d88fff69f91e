"""Measuring: rows in the format of the tables, refusals, and the plumbing on a CPU with a tiny model where torch is there."""

import csv
import json
from importlib.util import find_spec

import pytest

from providers.errors import InvalidInput
from service.cli.app import run
from service.domain.workload import Workload
from service.estimate.job_defaults import job_shape
from service.estimate.memory_rows import read_memory_row
from service.estimate.score_memory import evaluate_memory
from service.estimate.score_throughput import evaluate_throughput
from service.estimate.throughput_rows import read_row
from service.flows import measure as flow
from service.flows.measure import LIBRARIES, CannotMeasure, append_row, check_measurable, measure
from service.flows.measured_row import COLUMNS, Measurement

TINY = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 128}  # fmt: skip
READ = Measurement(gpu="RTX 4090", peak_gib=14.5, tokens_per_second=2500.0, steps=10, libraries="torch 2.8.0")
needs_torch = pytest.mark.skipif(
    any(find_spec(name) is None for name in LIBRARIES), reason="torch, transformers and peft are not installed"
)

# the three libraries warn of each other's older names
quiet_libraries = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def job(**fields):
    work = {"model": "llama-2-7b", "technique": "lora", "framework": "hf", "sequence_length": 512, "micro_batch_size": 2}
    if fields.get("task") == "infer":
        work = {"model": "llama-2-7b", "framework": "hf", "prompt_tokens": 32, "output_tokens": 8}
    return job_shape(Workload.model_validate_json(json.dumps(work | fields)))[0]


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("fields", [{}, {"technique": "full"}, {"task": "infer"}])
def test_a_measurement_is_a_row_that_both_scores_read(tmp_path, fields):
    path = tmp_path / "mine.csv"
    append_row(path, job(**fields), READ, source="desk")
    append_row(path, job(**fields), READ, source="desk")
    rows = rows_of(path)
    assert [row["id"] for row in rows] == ["desk-1", "desk-2"]
    assert tuple(rows[0]) == COLUMNS
    for score in (evaluate_memory(rows), evaluate_throughput(rows)):
        assert (score.overall.scored, score.failures) == (2, ())
    assert score.scored[0][1].measured == 2500.0


def test_the_row_says_what_was_run(tmp_path):
    path = tmp_path / "mine.csv"
    append_row(path, job(gradient_checkpointing=True, lora_rank=32, lora_targets="q,v"), READ, source="desk")
    (row,) = rows_of(path)
    setup, notes = read_memory_row(row)
    assert (setup.micro_batch, setup.sequence, setup.adapters.rank, sorted(setup.adapters.targets)) == (2, 512, 32, ["q", "v"])
    assert (setup.recompute, setup.framework, setup.reading, notes) == ("full", "hf", "allocated", ())
    assert read_row(row).gpu.name == "RTX 4090"


def test_a_table_keeps_its_own_columns_and_must_have_those_of_the_row(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(",".join([*COLUMNS, "site"]) + "\n", encoding="utf-8")
    append_row(path, job(), READ, source="desk")
    assert rows_of(path)[0]["site"] == ""
    path.write_text("id,model\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="lacks the columns"):
        append_row(path, job(), READ, source="desk")
    with pytest.raises(InvalidInput, match="cannot be written"):
        append_row(tmp_path, job(), READ, source="desk")


def test_a_row_of_a_cpu_is_kept_and_not_scored(tmp_path):
    path = tmp_path / "mine.csv"
    on_cpu = Measurement(gpu="CPU", peak_gib=None, tokens_per_second=9.0, steps=1, libraries="")
    append_row(path, job(), on_cpu, source="desk")
    assert evaluate_throughput(rows_of(path)).overall.scored == 0


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"model": "bert-base-uncased", "technique": "full", "sequence_length": 128}, "/workload/model"),
        ({"model": "mixtral-8x7b"}, "/workload/model"),
        ({"model": "gpt2", "technique": "full"}, "/workload/model"),
        ({"technique": "qlora"}, "/workload/precision"),
        ({"technique": "dpo"}, "/workload/technique"),
        ({"optimizer": "lion"}, "/workload/optimizer"),
        ({"precision": "fp16"}, "/workload/precision"),
    ],
)
def test_what_is_not_measured_is_refused_before_anything_is_loaded(fields, pointer):
    with pytest.raises(InvalidInput) as refused:
        check_measurable(job(**fields))
    assert refused.value.pointer == pointer


def test_without_the_extra_the_command_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(flow, "LIBRARIES", ("torch_that_nobody_has", "a", "b"))
    assert run(["measure", "--model", "llama-2-7b", "--technique", "lora", "--out", str(tmp_path / "x.csv")]) == 1
    assert "[measure]" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


def test_an_unknown_device_is_a_mistake(capsys):
    assert run(["measure", "--model", "llama-2-7b", "--technique", "lora", "--device", "tpu"]) == 2
    assert "cuda" in capsys.readouterr().err


@needs_torch
@quiet_libraries
@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"technique": "full", "gradient_accumulation_steps": 2}, 2 * 2 * 32),
        ({"technique": "lora", "lora_rank": 4, "gradient_checkpointing": True}, 2 * 32),
        ({"technique": None, "task": "infer"}, 8),
    ],
)
def test_a_tiny_model_takes_steps_on_a_cpu(fields, tokens):
    work = {"model": TINY, "precision": "fp32"} | fields
    if work.get("task") != "infer":
        work |= {"sequence_length": 32, "micro_batch_size": 2}
    ticks = iter((10.0, 14.0))
    found = measure(job(**work), steps=3, device="cpu", tick=lambda: next(ticks))
    assert found.tokens_per_second == pytest.approx(3 * tokens / 4.0)
    assert (found.gpu, found.peak_gib) == ("CPU", None)


@needs_torch
@quiet_libraries
def test_the_command_adds_a_row(tmp_path):
    config, out = tmp_path / "config.json", tmp_path / "mine.csv"
    config.write_text(json.dumps(TINY), encoding="utf-8")
    asked = ["measure", "--config", str(config), "--technique", "lora", "--sequence-length", "16", "--lora-rank", "2"]
    assert run([*asked, "--precision", "fp32", "--steps", "1", "--device", "cpu", "--out", str(out)]) == 0
    assert [row["confidence"] for row in rows_of(out)] == ["C"]


@needs_torch
def test_without_a_gpu_the_command_says_so(tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(CannotMeasure, match="no GPU"):
        measure(job(), steps=1)
