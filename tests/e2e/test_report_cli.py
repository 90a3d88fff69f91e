"""Saving, listing, comparing and reporting from the command line, on a database of this machine."""

import json
from datetime import UTC, datetime

import httpx
import pytest

from providers.reference import Reference
from service.cli.app import run
from service.flows.refresh import RefreshRun, refresh_feed
from service.store.engine import make_engine
from service.store.lease import LeaseKeeper
from service.store.schema import prepare_database

PLAN = ("plan", "--model", "llama-3.1-8b", "--technique", "lora", "--tokens", "50M", "--limit", "3", "--runs-per-month", "8")


def now():
    return datetime.now(UTC)


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A database with the shipped list."""
    url = f"sqlite:///{tmp_path}/prices.db"
    monkeypatch.setenv("GPUPLAN_DATABASE_URL", url)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    engine = make_engine(url)
    prepare_database(engine)
    lease = LeaseKeeper(engine, "test", now).acquire()
    with httpx.Client() as http:
        refresh_feed(Reference(), http, RefreshRun(engine=engine, clock=now, lease=lease, interval_seconds=86_400))
    engine.dispose()


def told(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_plan_is_saved_listed_shown_compared_and_reported(prices, capsys, tmp_path):
    answer = told(capsys, *PLAN, "--save", "=tuning", "--owner", "ana", "--note", "FY27")
    plan_id = answer["plan_id"]
    [listed] = told(capsys, "plans", "list", "--owner", "ana")["plans"]
    assert (listed["plan_id"], listed["name"], listed["state"]) == (plan_id, "=tuning", "draft")
    assert told(capsys, "plans", "show", plan_id)["answer"] == answer
    again = told(capsys, "plans", "refresh", plan_id)
    assert again["at_snapshot"]["is_equal"] is True
    out = tmp_path / "out"
    assert run(["report", plan_id, "--title", "FY27", "--currency", "EUR", "--format", "md,csv", "--out", str(out)]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert [name.partition(".")[2] for name in names] == ["csv", "md"]
    assert all(name.startswith("gpuplan-estimate-") for name in names)
    assert next(out.glob("*.md")).read_text(encoding="utf-8").startswith("# FY27\n")
    for shown in (["plans", "list"], ["plans", "show", plan_id], ["plans", "refresh", plan_id]):
        assert run(shown) == 0
    assert "Equal to the last digit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*PLAN, "--save", "x"], "--owner"),
        ([*PLAN, "--owner", "x"], "--save"),
        (["plans", "show", "nothing"], "no saved plan"),
        (["report", "0" * 32], "/plan_ids/0"),
        (["report"], "plan_ids"),
        (["report", "0" * 32, "--format", "docx"], "docx"),
        (["report", "0" * 32, "--start", "2027-01-01"], "--end"),
    ],
)
def test_mistakes_are_told_in_one_line(prices, capsys, arguments, words):
    assert run(arguments) in (1, 2)
    assert words in capsys.readouterr().err


def test_without_a_database_it_says_what_makes_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GPUPLAN_DATABASE_URL", f"sqlite:///{tmp_path}/none.db")
    assert run(["plans", "list"]) == 1
    assert "gpuplan refresh" in capsys.readouterr().err
