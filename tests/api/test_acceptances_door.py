"""PUT, GET and DELETE /acceptances/{name} on both databases, and a plan that counts on one."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from service.api.app import create_app
from service.api.context import Context
from service.cli.app import run
from service.domain.acceptance import Acceptance
from service.flows.acceptances import put_acceptance
from service.flows.as_of import load_market_at
from service.flows.snapshot import SnapshotHolder
from service.flows.standing import PolicyUnreadable, keep_policy, load_policy
from service.metrics import Metrics
from service.solver.policy_table import SHIPPED, read_policy

PAPER = {
    "provider": "lambda", "tier": "on-demand", "attestation": "soc2_type2", "document": "file 12", "approver": "Ada",
    "accepted_on": "2026-01-01", "expires_on": "2027-12-31",
}  # fmt: skip


@pytest.fixture
def snapshots(engine, now):
    made = SnapshotHolder(engine, lambda: now)
    made.poll()
    return made


@pytest.fixture
def stored(engine, now, market, snapshots):
    """An application over a database, whose prices are those of the small market."""
    from dataclasses import replace

    def standing():
        return replace(market, standing=snapshots.market().standing)

    context = Context(clock=lambda: now, market=standing, engine=engine, metrics=Metrics(), poll=snapshots.poll)
    return TestClient(create_app(context))


def code(answer):
    return answer.status_code, answer.json()["code"]


def confidential(client, *accept):
    body = {
        "workload": {"task": "raw", "vram_gib": 20, "gpu_hours": 10}, "usage": {"runs": 1, "reference_gpu": "H100 SXM"},
        "constraints": {"data_sensitivity": "confidential", "providers": ["lambda"], "accept": list(accept)},
    }  # fmt: skip
    return client.post("/plan", json=body).json()


def test_an_acceptance_is_registered_counted_on_changed_and_ended(stored):
    assert confidential(stored, "soc2")["options"] == []
    made = stored.put("/acceptances/soc2", json=PAPER)
    assert (made.status_code, made.headers["location"]) == (201, "/acceptances/soc2")
    assert confidential(stored, "soc2")["options"]
    assert confidential(stored)["options"] == []

    read = stored.get("/acceptances/soc2")
    assert read.json() == {**PAPER, "name": "soc2", "isolation": None, "note": ""}
    assert code(stored.put("/acceptances/soc2", json=PAPER)) == (428, "precondition-required")
    assert code(stored.put("/acceptances/soc2", json=PAPER, headers={"If-Match": '"old"'})) == (412, "precondition-failed")
    over = stored.put("/acceptances/soc2", json={**PAPER, "expires_on": "2026-01-02"}, headers={"If-Match": read.headers["etag"]})
    assert over.status_code == 200
    assert confidential(stored, "soc2")["options"] == []

    assert code(stored.delete("/acceptances/soc2")) == (428, "precondition-required")
    assert stored.delete("/acceptances/soc2", headers={"If-Match": "*"}).status_code == 204
    assert code(stored.get("/acceptances/soc2")) == (404, "not-found")
    assert code(stored.delete("/acceptances/soc2", headers={"If-Match": "*"})) == (404, "not-found")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"provider": "nobody"}, "/provider"),
        ({"tier": "gold"}, "/tier"),
        ({"attestation": "trust"}, "/attestation"),
        ({"expires_on": "soon"}, "/expires_on"),
        ({"expires_on": "2025-01-01"}, ""),
        ({"name": "other"}, "/name"),
        ({"isolation": "wall"}, "/isolation"),
        ({"approver": None}, "/approver"),
    ],
)
def test_what_admits_nothing_is_refused(stored, change, pointer):
    answer = stored.put("/acceptances/soc2", json={**PAPER, **change})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_an_instant_has_the_acceptances_and_the_policy_of_then(engine, now, snapshots):
    own = read_policy(SHIPPED.text.replace("known_country = true\n", ""))
    paper = Acceptance.model_validate_json(json.dumps({**PAPER, "name": "soc2"}))
    put_acceptance(engine, paper, seen=None, must_be_new=True, now=now)
    keep_policy(engine, own, now=now + timedelta(hours=1))
    keep_policy(engine, SHIPPED, now=now + timedelta(hours=2))
    first, second, third = (
        load_market_at(engine, now + timedelta(hours=hours, minutes=1), {}).market.standing for hours in (0, 1, 2)
    )
    assert [one.policy.version for one in (first, second, third)] == [SHIPPED.version, own.version, SHIPPED.version]
    assert all(set(one.acceptances) == {"soc2"} for one in (first, second, third))
    snapshots.poll()
    assert snapshots.market().standing.acceptances["soc2"] == paper


def test_the_same_policy_again_is_no_change(engine, now):
    own = read_policy(SHIPPED.text.replace("known_country = true\n", ""))
    for _ in range(3):
        keep_policy(engine, own, now=now)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM standing")).scalar() == 1


def test_a_policy_file_that_cannot_be_followed_is_an_error(tmp_path):
    assert load_policy(None) == SHIPPED
    for raw in (b"", b"\xff", b"title = 1", b"x" * 1_000_001):
        path = tmp_path / "policy.toml"
        path.write_bytes(raw)
        with pytest.raises(PolicyUnreadable):
            load_policy(path)
    with pytest.raises(PolicyUnreadable):
        load_policy(tmp_path / "none.toml")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GPUPLAN_URL", raising=False)
    return tmp_path


ADD = ("accept", "add", "soc2", "--provider", "lambda", "--tier", "on-demand", "--attestation", "soc2_type2", "--document", "f",
       "--approver", "Ada", "--expires", "2099-01-01")  # fmt: skip


def test_the_command_registers_lists_reports_and_ends(home, capsys):
    assert run([*ADD]) == 0
    assert run([*ADD]) == 2
    assert "--replace" in capsys.readouterr().err
    assert run([*ADD, "--replace"]) == 0
    assert run(["accept", "list", "--json"]) == 0
    assert [(one["name"], one["counts_today"]) for one in json.loads(capsys.readouterr().out)] == [("soc2", True)]
    assert run(["policy", "report", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    line = next(one for one in told["tiers"] if (one["provider"], one["tier"]) == ("lambda", "on-demand"))
    assert line["classes"]["internal"] == "yes"
    assert line["classes"]["confidential"] != "yes"
    assert line["classes_with_acceptances"]["confidential"] == "yes"
    assert line["classes_with_acceptances"]["local_only"] != "yes"
    assert told["policy_version"] == SHIPPED.version
    assert run(["policy", "report"]) == 0
    assert SHIPPED.version in capsys.readouterr().out
    assert run(["accept", "remove", "soc2"]) == 0
    assert run(["accept", "remove", "soc2"]) == 1


def test_the_command_follows_the_policy_that_the_setting_names(home, monkeypatch, capsys):
    path = home / "policy.toml"
    path.write_text(SHIPPED.text.replace("proof_in_date = true\n", ""))
    monkeypatch.setenv("GPUPLAN_POLICY_PATH", str(path))
    assert run(["policy", "report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policy_version"] == load_policy(path).version != SHIPPED.version
    path.write_text("no policy")
    assert run(["policy", "report"]) == 2
    assert "policy file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [(("--tier", "gold"), "/tier"), (("--attestation", "trust"), "attestation"), (("--expires", "soon"), "YYYY-MM-DD")],
)
def test_the_command_refuses_what_admits_nothing(home, capsys, change, told):
    assert run([*ADD, *change]) == 2
    assert told in capsys.readouterr().err
