"""ask, launch and watch in a terminal, on the list that is shipped: no network, no database."""

import json
import os

import pytest

from service.cli.app import run

LINE = ["ask", "cheapest", "8b", "lora", "under", "$30/h"]


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GPUPLAN_") and "TEST" not in name and "PROFILE" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def say(capsys, *words):
    code = run(list(words))
    return code, capsys.readouterr()


def test_a_line_is_answered_and_its_plan_kept_for_the_next_command(capsys):
    code, said = say(capsys, *LINE)
    assert code == 0
    assert "Read as: cheapest 8b lora under $30/h" in said.out
    assert say(capsys, "ask", "explain", "1")[1].out.startswith("#1: ")
    code, said = say(capsys, "launch", "--format", "torchrun")
    assert code == 0
    assert said.out.startswith("#!/bin/sh")
    assert "note: Effective batch size" in said.err


def test_json_is_alone_on_stdout(capsys):
    code, said = say(capsys, *LINE, "--json")
    assert code == 0
    assert json.loads(said.out)["plan"]["options"]


def test_a_line_that_is_not_understood_is_a_usage_fault_with_a_caret(capsys):
    code, said = say(capsys, "ask", "cheapest 8b lorra")
    assert code == 2
    assert said.out == ""
    assert "cheapest 8b lorra\n            ^^^^^" in said.err


def test_nothing_fits_is_3(capsys):
    assert say(capsys, "ask", "cheapest 70b full under $0.01/h")[0] == 3


def test_without_a_plan_there_is_nothing_to_explain_or_launch(capsys):
    assert say(capsys, "ask", "explain 1")[0] == 2
    code, said = say(capsys, "launch", "--format", "torchrun")
    assert code == 1
    assert "no plan of the last 24 hours" in said.err


def test_a_plan_older_than_a_day_is_forgotten(capsys, tmp_path):
    say(capsys, *LINE)
    kept = tmp_path / "state" / "gpuplan" / "last-plan.json"
    assert kept.stat().st_mode & 0o077 == 0
    a_day_ago = kept.stat().st_mtime - 86_401
    os.utime(kept, (a_day_ago, a_day_ago))
    assert say(capsys, "ask", "explain 1")[0] == 2


def test_launch_takes_the_json_of_a_plan_from_a_file(capsys, tmp_path):
    _, said = say(capsys, "plan", "--params-b", "8", "--technique", "lora", "--tokens", "10M", "--json")
    path = tmp_path / "plan.json"
    path.write_text(said.out)
    target = tmp_path / "config.yaml"
    code, said = say(capsys, "launch", "--plan", f"@{path}", "--format", "accelerate", "--output", str(target))
    assert code == 0
    assert said.out == ""
    assert "distributed_type" in target.read_text()


@pytest.mark.parametrize("options", [["--format", "slurm"], ["--format", "vllm"], ["--format", "torchrun", "--option", "200"]])
def test_what_cannot_be_launched_is_a_usage_fault(capsys, options):
    say(capsys, *LINE)
    assert say(capsys, "launch", *options)[0] == 2


def test_a_watch_needs_a_database_a_webhook_and_a_price(capsys):
    assert say(capsys, "watch", "h100 under $2/gpu/h")[0] == 2
    code, said = say(capsys, "watch", "h100 under $2", "--webhook", "https://93.184.216.34/x")
    assert code == 2
    assert "$2/gpu/h" in said.err
    code, said = say(capsys, "watch", "h100 under $2/gpu/h", "--webhook", "https://93.184.216.34/x")
    assert code == 1
    assert "no database yet" in said.err
