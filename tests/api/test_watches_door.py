"""POST, GET and DELETE /watches: one condition, a public https address, a secret that is told once."""

import pytest

PRICE = {"gpu": "H100", "max_usd_per_gpu_hour": 2.0}
BODY = {"price": PRICE, "webhook_url": "https://alarms.example/gpu?token=hidden"}


def post(client, **changed):
    return client.post("/watches", json={**BODY, **changed})


def test_a_watch_is_kept_listed_and_forgotten(stored_client):
    made = post(stored_client)
    assert made.status_code == 201
    found = made.json()
    assert (found["kind"], found["state"], found["target"]) == ("price", "unmet", "https://alarms.example")
    assert len(found["secret"]) >= 32
    (listed,) = stored_client.get("/watches").json()["watches"]
    assert listed == {**found, "secret": None}
    assert "hidden" not in stored_client.get("/watches").text
    assert stored_client.delete(f"/watches/{found['watch_id']}").status_code == 204
    assert stored_client.get("/watches").json() == {"watches": []}
    assert stored_client.delete(f"/watches/{found['watch_id']}").status_code == 404


def test_a_watch_by_chat_needs_a_place_for_its_alarm(client):
    found = client.post("/chat", json={"text": "watch h100 under $2/gpu/h"}).json()
    assert found["understood"] is False
    assert "POST /watches" in found["text"]


def test_a_verdict_is_watched_by_its_plan_or_by_its_request(client):
    plan = client.post("/chat", json={"text": "breakeven h100 at 45%"}).json()["plan"]
    watched = {"webhook_url": BODY["webhook_url"], "plan_id": plan["plan_id"]}
    made = client.post("/watches", json=watched).json()
    assert (made["kind"], made["state"]) == ("verdict", plan["decision"]["verdict"])
    request = {"workload": {"model": "gpt2", "tokens": 1e9}}
    assert client.post("/watches", json={"webhook_url": BODY["webhook_url"], "plan": request}).json()["kind"] == "verdict"


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"webhook_url": "http://alarms.example/gpu"}, "/webhook_url"),
        ({"webhook_url": "https://user@alarms.example/"}, "/webhook_url"),
        ({"webhook_url": "gopher://alarms.example/"}, "/webhook_url"),
        ({"price": {"gpu": "H100"}}, "/price"),
        ({"price": {**PRICE, "max_usd_per_hour": 1.0}}, "/price"),
        ({"price": {**PRICE, "max_usd_per_gpu_hour": 0}}, "/price/max_usd_per_gpu_hour"),
        ({"price": {**PRICE, "gpu": "nonesuch"}}, "/price/gpu"),
        ({"price": None, "plan": {"workload": {"model": "nonesuch", "tokens": 1}}}, "/plan/workload/model"),
        ({"plan_id": "abcd"}, ""),
        ({"price": None, "plan_id": "nonesuch"}, "/plan_id"),
        ({"prize": PRICE}, "/prize"),
    ],
)
def test_refusals_say_where(client, changed, pointer):
    answer = post(client, **changed)
    assert answer.status_code == 422, answer.text
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]


def test_an_address_inside_is_refused(over, holder, api_engine):
    from starlette.testclient import TestClient

    from service.api.app import create_app

    inside = TestClient(create_app(over(holder, api_engine, resolve=lambda host, port: ["169.254.169.254"])))
    answer = post(inside)
    assert answer.status_code == 422
    assert "private network" in answer.json()["detail"]
