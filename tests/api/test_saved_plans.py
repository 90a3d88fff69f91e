"""Saved plans on both databases: kept exactly, solved again exactly, compared, approved, reopened and shared."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256

import httpx
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from providers.base import Adapter
from providers.offer import Batch, PriceBasis
from service.api.app import create_app
from service.api.context import Context
from service.domain.request import PlanRequest
from service.estimate.calibration import UNCALIBRATED, calibration_from
from service.flows.refresh import RefreshRun, refresh_feed
from service.flows.saved_plans import SavedPlans, drop_old_history
from service.flows.snapshot import SnapshotHolder
from service.metrics import Metrics
from service.solver import identity
from service.store import idempotency
from service.store.engine import reading, writing
from service.store.lease import LeaseKeeper

WORK = {"workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8}, "usage": {"runs_per_month": 40}}
SAVE = {"name": "support bot", "owner": "ana", "note": "FY27"}
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Sells(Adapter):
    """Sells what it is given."""

    offers: tuple
    name = "lambda"

    def fetch(self, http):
        return {}

    def parse(self, payload, observed_at):
        return Batch(offers=tuple(replace(offer, observed_at=observed_at) for offer in self.offers))


class Service:
    """The app over a database, with a clock that a test moves."""

    def __init__(self, engine):
        self.now, self.engine = START, engine
        self.lease = LeaseKeeper(engine, "test", lambda: self.now, ttl=timedelta(days=400)).acquire()
        self.snapshots = SnapshotHolder(engine, lambda: self.now)
        self.client = TestClient(
            create_app(
                Context(
                    clock=lambda: self.now, market=self.snapshots.market, engine=engine, metrics=Metrics(),
                    statuses=self.snapshots.statuses, pools=self.snapshots.pools, poll=self.snapshots.poll,
                )
            )
        )  # fmt: skip

    def refresh(self, offers):
        run = RefreshRun(engine=self.engine, clock=lambda: self.now, lease=self.lease, interval_seconds=3600)
        with httpx.Client() as http:
            assert refresh_feed(Sells(tuple(offers)), http, run).outcome == "complete"
        self.snapshots.poll()

    def dearer(self, offers, factor):
        self.refresh([replace(offer, usd_per_hour=offer.usd_per_hour * Decimal(factor)) for offer in offers])

    def save(self, **changed):
        answer = self.client.post("/plan", json={**WORK, "save": SAVE, **changed})
        assert answer.status_code == 200, answer.text
        return answer

    def approve(self, plan_id, **changed):
        body = {
            "state": "approved", "by": "cfo", "limit_usd": 1000.0, "valid_until": "2026-06-01T00:00:00Z",
            "allowed_drift_fraction": 0.05,
        }  # fmt: skip
        return self.client.put(f"/plans/{plan_id}/state", json={**body, **changed})

    def ask_again(self, plan_id):
        answer = self.client.post(f"/plans/{plan_id}/refresh")
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def listed(offers):
    return [offer for offer in offers if offer.feed == "lambda"]


@pytest.fixture
def service(engine, listed):
    made = Service(engine)
    made.refresh(listed)
    return made


def test_saving_changes_nothing_of_the_answer_and_says_where_it_is(service):
    plain = service.client.post("/plan", json=WORK).json()
    saved = service.save()
    assert saved.json()["plan_id"] == plain["plan_id"]
    assert saved.json()["options"] == plain["options"]
    assert saved.headers["location"] == f"/plans/{plain['plan_id']}"
    kept = service.client.get(saved.headers["location"]).json()
    assert kept["answer"] == saved.json()
    assert (kept["state"], kept["name"], kept["owner"], kept["note"]) == ("draft", "support bot", "ana", "FY27")
    assert kept["request"]["workload"] == WORK["workload"]
    assert kept["hashes"]["snapshot_id"] == saved.json()["prices"]["snapshot_id"]


def test_an_unsaved_plan_is_not_found(service):
    plan_id = service.client.post("/plan", json=WORK).json()["plan_id"]
    answer = service.client.get(f"/plans/{plan_id}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert service.client.post(f"/plans/{plan_id}/refresh").status_code == 404
    assert service.client.post(f"/plans/{plan_id}/share", json={}).status_code == 404


def test_the_saved_answer_and_a_re_solve_at_its_snapshot_are_equal_to_the_last_digit(service, listed):
    pool = {"gpu": "H100 SXM", "capex_usd_per_node": 275000}
    service.client.put("/on-prem/dc1", json=pool)
    service.now += timedelta(minutes=7, seconds=13)
    plan_id = service.save(on_prem=["dc1"]).json()["plan_id"]
    for days, factor in ((3, "1.1"), (9, "0.8")):
        service.now += timedelta(days=days)
        service.dearer(listed, factor)
    etag = service.client.get("/on-prem/dc1").headers["etag"]
    service.client.put("/on-prem/dc1", json={**pool, "capex_usd_per_node": 1}, headers={"If-Match": etag})
    again = service.ask_again(plan_id)
    assert again["at_snapshot"] == {"is_equal": True, "plan": None, "change": None, "explained": "Equal to the last digit."}
    assert again["now"]["options"][0]["usd_per_hour"] != again["saved"]["options"][0]["usd_per_hour"]


def test_a_plan_of_an_earlier_day_is_solved_again_too(service, listed):
    service.now += timedelta(days=2)
    service.dearer(listed, "1.5")
    plan_id = service.save(as_of="2026-03-02T00:00:00Z").json()["plan_id"]
    assert service.ask_again(plan_id)["at_snapshot"]["is_equal"] is True


def test_a_plan_made_with_own_factors_is_solved_with_them_again(service, listed):
    service.snapshots.calibration = calibration_from({"seconds": {"hf/train": 1.25}})
    service.dearer(listed, "1.01")
    plan_id = service.save().json()["plan_id"]
    service.snapshots.calibration = UNCALIBRATED
    service.now += timedelta(hours=1)
    service.dearer(listed, "1.02")
    again = service.ask_again(plan_id)
    assert again["at_snapshot"]["is_equal"] is True
    # without the factor a run takes 1 / 1.25 of its time: volume is a fifth less
    assert again["change"]["volume_usd"] == pytest.approx(-0.2 * again["change"]["before_usd"], rel=1e-6)


def test_another_version_shows_both_answers_and_the_difference(service, monkeypatch):
    plan_id = service.save().json()["plan_id"]
    for module in ("service.solver.solve", "service.flows.plan_refresh", "service.solver.identity"):
        monkeypatch.setattr(f"{module}.SOLVER_VERSION", "2")
    again = service.ask_again(plan_id)
    assert (again["saved_solver_version"], again["solver_version"]) == (identity.SOLVER_VERSION.replace("2", "1"), "2")
    assert again["at_snapshot"]["is_equal"] is False
    assert again["at_snapshot"]["plan"]["options"] == again["saved"]["options"]
    assert again["at_snapshot"]["change"]["difference_usd"] == 0
    assert again["at_snapshot"]["explained"].startswith("saved under version 1, solved under 2")


def test_history_that_a_saved_plan_used_is_kept(service, listed):
    plan_id = service.save().json()["plan_id"]
    for _ in range(4):
        service.now += timedelta(days=40)
        service.dearer(listed, "1.02")
    dropped = drop_old_history(service.engine, before=service.now)
    assert dropped == 0
    assert service.ask_again(plan_id)["at_snapshot"]["is_equal"] is True


def test_history_that_no_plan_used_goes(service, listed):
    service.now += timedelta(days=40)
    service.dearer(listed, "1.02")
    assert drop_old_history(service.engine, before=service.now + timedelta(days=40)) == len(listed)


def test_a_dearer_market_is_a_price_effect(service, listed):
    plan_id = service.save().json()["plan_id"]
    service.now += timedelta(hours=1)
    service.dearer(listed, "1.1")
    change = service.ask_again(plan_id)["change"]
    # every price is 10 % up: so is the total, all of it by price; hours and option are the same
    assert change["difference_fraction"] == pytest.approx(0.1, abs=1e-6)
    assert change["price_usd"] == change["difference_usd"]
    assert (change["volume_usd"], change["mix_usd"]) == (0, 0)


def test_another_first_option_is_a_mix_effect_and_all_add_up(service, listed):
    plan_id = service.save().json()["plan_id"]
    service.now += timedelta(hours=1)
    service.refresh([replace(one, usd_per_hour=one.usd_per_hour * (2 if "A100" in one.gpu else 1)) for one in listed])
    change = service.ask_again(plan_id)["change"]
    # the A100 doubles: price = its old total; then the H100 is first, which is cheaper than the doubled A100: mix < 0
    assert change["price_usd"] == pytest.approx(change["before_usd"])
    assert change["mix_usd"] < 0
    parts = [round(change[name] * 1e6) for name in ("price_usd", "volume_usd", "mix_usd")]
    assert sum(parts) == round(change["difference_usd"] * 1e6)
    assert "A100" in change["before"]
    assert "H100" in change["after"]


def test_the_states_of_a_plan(service):
    plan_id = service.save().json()["plan_id"]
    propose = {"state": "proposed", "by": "ana"}
    assert service.client.put(f"/plans/{plan_id}/state", json=propose).json()["state"] == "proposed"
    approved = service.approve(plan_id).json()
    assert approved["state"] == "approved"
    assert approved["approval"]["by"] == "cfo"
    assert [one["event"] for one in approved["events"]] == ["saved", "proposed", "approved"]
    refused = service.client.put(f"/plans/{plan_id}/state", json={"state": "draft", "by": "ana"})
    assert refused.status_code == 409
    assert "approved" in refused.json()["detail"]
    service.now = datetime(2026, 6, 1, tzinfo=UTC)
    assert service.client.get(f"/plans/{plan_id}").json()["state"] == "expired"
    assert service.client.get("/plans").json()["plans"][0]["state"] == "expired"


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"limit_usd": 0.01}, "/limit_usd"),
        ({"valid_until": "2026-01-01T00:00:00Z"}, "/valid_until"),
        ({"allowed_drift_fraction": None}, ""),
        ({"by": ""}, "/by"),
        ({"state": "signed"}, "/state"),
    ],
)
def test_an_approval_that_does_not_hold_is_refused(service, changed, pointer):
    plan_id = service.save().json()["plan_id"]
    answer = service.approve(plan_id, **changed)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(("factor", "state"), [("1.04", "approved"), ("1.06", "proposed"), ("0.9", "proposed")])
def test_drift_past_what_is_allowed_reopens(service, listed, factor, state):
    plan_id = service.save().json()["plan_id"]
    service.approve(plan_id)
    service.now += timedelta(hours=1)
    service.dearer(listed, factor)
    again = service.ask_again(plan_id)
    assert again["state"] == state
    kept = service.client.get(f"/plans/{plan_id}").json()
    assert kept["state"] == state
    assert (kept["reopened"] is None) == (state == "approved")
    assert kept["drift_fraction"] == pytest.approx(float(factor) - 1, abs=1e-6)


def test_a_total_over_the_approved_limit_reopens(service, listed):
    saved = service.save().json()
    total = saved["options"][0]["cost"]["ranking_usd"]
    service.approve(saved["plan_id"], limit_usd=total * 1.01, allowed_drift_fraction=1.0)
    service.now += timedelta(hours=1)
    service.dearer(listed, "1.02")
    again = service.ask_again(saved["plan_id"])
    assert again["state"] == "proposed"
    assert "limit" in again["reopened"]


def test_a_draft_is_renamed_by_saving_it_again_and_an_approved_plan_is_not(service):
    plan_id = service.save().json()["plan_id"]
    assert service.save(save={**SAVE, "name": "other"}).json()["plan_id"] == plan_id
    assert service.client.get(f"/plans/{plan_id}").json()["name"] == "other"
    service.approve(plan_id)
    answer = service.client.post("/plan", json={**WORK, "save": SAVE})
    assert answer.status_code == 409


def test_pages_of_plans_follow_each_other(service):
    names = [f"plan {number}" for number in range(5)]
    for number, name in enumerate(names):
        service.now += timedelta(seconds=1)
        service.save(save={**SAVE, "name": name}, limit=number + 1)
    first = service.client.get("/plans?limit=2")
    assert [one["name"] for one in first.json()["plans"]] == ["plan 4", "plan 3"]
    assert 'rel="next"' in first.headers["link"]
    seen, cursor = [], None
    while True:
        page = service.client.get("/plans", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [one["name"] for one in page["plans"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == names[::-1]
    assert service.client.get("/plans?owner=nobody").json()["plans"] == []
    other = first.json()["next_cursor"]
    assert service.client.get("/plans", params={"limit": 2, "owner": "ana", "cursor": other}).status_code == 400


def test_a_link_shows_the_plan_until_it_is_over_or_revoked(service):
    saved = service.save().json()
    place = f"/plans/{saved['plan_id']}/share"
    first, second = (service.client.post(place, json={"valid_hours": 2}).json() for _ in range(2))
    shown = service.client.get(first["url"])
    assert shown.status_code == 200
    assert shown.json()["plan"]["options"] == saved["options"]
    assert shown.json()["hidden"] == []
    assert service.client.delete(f"{place}/{first['share_id']}").status_code == 204
    assert service.client.get(first["url"]).status_code == 404
    assert service.client.get(second["url"]).status_code == 200
    listed = service.client.get(place).json()["shares"]
    assert {one["share_id"]: one["revoked_at"] is not None for one in listed} == {
        first["share_id"]: True, second["share_id"]: False,
    }  # fmt: skip
    assert all(one["url"] is None for one in listed)
    service.now += timedelta(hours=2)
    assert service.client.get(second["url"]).status_code == 404
    assert service.client.get(f"/shared/{'x' * 43}").status_code == 404


def test_the_secret_of_a_link_is_not_stored(service):
    plan_id = service.save().json()["plan_id"]
    token = service.client.post(f"/plans/{plan_id}/share", json={}).json()["url"].rpartition("/")[2]
    with reading(service.engine) as connection:
        found = [connection.execute(text(f"SELECT * FROM {table}")).all() for table in ("plan_shares", "plan_events")]
    rows = [str(tuple(row)) for table in found for row in table]
    assert rows
    assert not [row for row in rows if token in row]


def test_a_link_hides_negotiated_prices_and_what_could_tell_them(engine, listed):
    service = Service(engine)
    secret = replace(listed[0], usd_per_hour=Decimal("1.234567"), price_basis=PriceBasis.NEGOTIATED)
    service.refresh([secret, *listed[1:]])
    saved = service.save(on_prem=[{"gpu": "H100 SXM", "capex_usd_per_node": 275000}])
    assert "1.234567" in saved.text
    assert saved.json()["options"][0]["price"]["basis"] == "negotiated"
    link = service.client.post(f"/plans/{saved.json()['plan_id']}/share", json={}).json()
    shown = service.client.get(link["url"])
    assert "1.234567" not in shown.text
    first = shown.json()["plan"]["options"][0]
    assert (first["usd_per_hour"], first["cost"]["ranking_usd"]) == (None, None)
    assert all(line["usd_per_run"] is None for line in first["cost"]["lines"])
    figures = {f"{saved.json()['options'][0]['cost'][name]:.2f}" for name in ("usd_per_run", "usd_per_month", "ranking_usd")}
    assert not [figure for figure in figures if figure in shown.text]
    assert "negotiated" in shown.json()["hidden"][0]
    assert shown.json()["plan"]["decision"]["breakeven_utilization"] is None


def test_a_request_sent_twice_with_a_key_is_done_once(service, listed):
    headers = {"Idempotency-Key": "k1"}
    body = {**WORK, "save": SAVE}
    first = service.client.post("/plan", json=body, headers=headers)
    service.now += timedelta(hours=1)
    service.dearer(listed, "1.3")
    second = service.client.post("/plan", json=body, headers=headers)
    assert second.text == first.text
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert len(service.client.get("/plans").json()["plans"]) == 1
    other = service.client.post("/plan", json={**WORK, "limit": 3}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    service.now += timedelta(hours=24)
    assert service.client.post("/plan", json={**WORK, "limit": 3}, headers=headers).status_code == 200


def test_a_failed_request_frees_its_key(service):
    bad = {**WORK, "on_prem": ["unknown"]}
    for _ in range(2):
        assert service.client.post("/plan", json=bad, headers={"Idempotency-Key": "bad"}).status_code == 422
    assert service.client.post("/plan", json=WORK, headers={"Idempotency-Key": "bad"}).status_code == 200


def test_a_key_whose_first_request_still_runs_is_409(service):
    asked = PlanRequest.model_validate_json(json.dumps(WORK)).model_dump_json(exclude_unset=True)
    digest = sha256(asked.encode()).hexdigest()
    assert service.client.post("/plan", json=WORK, headers={"Idempotency-Key": "before"}).status_code == 200
    with writing(service.engine) as connection:
        scope = connection.execute(text("SELECT scope FROM idempotency_keys")).scalar_one()  # of this caller and route
        assert idempotency.begin(connection, scope=scope, key="k", body_hash=digest, now=service.now) is None
    answer = service.client.post("/plan", json=WORK, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.headers["retry-after"]) == (409, "1")
    service.now += timedelta(minutes=3)  # the process that had it is gone
    assert service.client.post("/plan", json=WORK, headers={"Idempotency-Key": "k"}).status_code == 200


def test_the_store_of_chat_and_launch_finds_the_saved_plan(service):
    saved = service.save().json()
    store = SavedPlans(service.engine)
    assert store.get(saved["plan_id"]).plan_id == saved["plan_id"]
    assert store.get("0" * 32) is None
