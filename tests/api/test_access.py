"""Access: who may ask what, one answer to every bad key, limits that are told, and what a browser may not send."""

import base64
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from service.api import openapi_document
from service.api.access import Access
from service.api.app import create_app
from service.api.limits import RateLimits
from service.api.scopes import PUBLIC
from service.domain.access import Scope
from service.flows.keys import create_key, list_keys, revoke_key

PLAN = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}}
OPERATIONS = [(path, method) for path, methods in openapi_document()["paths"].items() for method in methods]


@pytest.fixture
def guarded(holder, over, api_database, now):
    """An application that asks for keys, with a maker of them."""

    class Guarded:
        def __init__(self):
            self.engine = api_database
            self.used = []

        def key(self, scope=Scope.PLAN, *, expires_at=None, made=now - timedelta(days=2)):
            return create_key(api_database, name=f"a {scope} key", scope=scope, expires_at=expires_at, now=made)[0]

        def app(self, **access):
            known = {key.key_id: key for key in list_keys(api_database)}
            given = {"keys": lambda: known, "clock": lambda: now, "always": True, "note_use": self.used.append, **access}
            return create_app(replace(over(holder, api_database), access=Access(**given)))

        def client(self, **access):
            return TestClient(self.app(**access))

    return Guarded()


def with_key(key):
    return {"Authorization": f"Bearer {key}"}


def body_of(answer):
    """The problem without what names this one request."""
    told = dict(answer.json())
    assert told.pop("instance").startswith("urn:gpuplan:request:")
    return told


def test_without_any_key_nobody_is_asked(client):
    assert client.post("/plan", json=PLAN).status_code == 200
    assert client.get("/offers", headers=with_key("nonsense")).status_code == 200


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_asks_for_the_scope_that_the_document_tells(guarded, path, method):
    told = openapi_document()["paths"][path][method]
    keys = {scope: guarded.key(scope) for scope in Scope}
    client = guarded.client()
    url = path.replace("{", "").replace("}", "")
    anonymous = client.request(method, url)
    if path in PUBLIC:
        assert told["security"] == []
        assert anonymous.status_code not in (401, 403)
        return
    (needed,) = {scope for scheme in told["security"] for scopes in scheme.values() for scope in scopes}
    assert anonymous.status_code == 401
    for scope, key in keys.items():
        refused = client.request(method, url, headers=with_key(key)).status_code == 403
        assert refused is not scope.includes(Scope(needed)), scope


def test_every_bad_key_gets_the_same_answer(guarded, now):
    good = guarded.key()
    expired = guarded.key(expires_at=now - timedelta(seconds=1))
    revoked = guarded.key()
    revoke_key(guarded.engine, revoked[4:16], now)
    client = guarded.client()
    assert client.get("/gpus", headers=with_key(good)).status_code == 200
    bad = [
        "", "x", "gpk_", good[:-1], good + "x", good[:-1] + "~", "gpk_000000000000_" + "a" * 43, good.upper(), "a" * 100_000,
        expired, revoked, "ey.J.x", "\u00e9",
    ]  # fmt: skip
    answers = [client.get("/gpus", headers={"Authorization": f"Bearer {key}".encode()}) for key in bad]
    answers += [
        client.get("/gpus"),
        client.get("/gpus", headers={"Authorization": good}),
        client.get("/gpus", headers={"Authorization": "Basic !!"}),
        client.get("/gpus", headers={"X-API-Key": "x", "Authorization": "Digest x"}),
    ]
    first = body_of(answers[0])
    assert first["code"] == "unauthorized"
    for answer in answers:
        assert (answer.status_code, body_of(answer)) == (401, first)
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_scope_that_is_missing_is_not_told_apart(guarded):
    key = guarded.key(Scope.READ)
    client = guarded.client()
    first, second = client.post("/plan", headers=with_key(key)), client.delete("/on-prem/x", headers=with_key(key))
    assert (first.status_code, second.status_code) == (403, 403)
    assert body_of(first) == body_of(second)


def test_a_key_is_taken_from_each_of_its_places(guarded):
    key = guarded.key()
    client = guarded.client()
    basic = base64.b64encode(f"me:{key}".encode()).decode()
    for headers in ({"X-API-Key": key}, {"Authorization": f"bearer {key}"}, {"Authorization": f"Basic {basic}"}):
        assert client.get("/gpus", headers=headers).status_code == 200
    assert guarded.used == [key[4:16]] * 3


def test_only_the_digest_is_stored(guarded, api_database):
    key = guarded.key()
    with api_database.connect() as connection:
        dump = "\n".join(connection.connection.driver_connection.iterdump())
    assert key[4:16] in dump
    assert key not in dump
    assert key.split("_", 2)[2] not in dump


def test_a_plan_touches_no_database_for_its_key(guarded):
    key = guarded.key()
    client = guarded.client()
    statements = []
    event.listen(guarded.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    assert client.post("/plan", json=PLAN, headers=with_key(key)).status_code == 200
    assert client.post("/plan", json=PLAN, headers=with_key("gpk_000000000000_x")).status_code == 401
    assert statements == []


def test_a_path_of_nothing_tells_nothing_without_a_key(guarded):
    key = guarded.key()
    client = guarded.client()
    assert client.get("/nonesuch").status_code == 401
    assert client.get("/nonesuch", headers=with_key(key)).status_code == 404


def test_an_ended_key_keeps_the_door_shut_on_loopback(guarded, now):
    key = guarded.key()
    revoke_key(guarded.engine, key[4:16], now)
    assert guarded.client(always=False).get("/gpus").status_code == 401
    assert guarded.client(always=False, never=True).get("/gpus").status_code == 200


def test_limits_are_told_and_kept(guarded):
    key, other = guarded.key(), guarded.key()
    client = guarded.client(limits=RateLimits(per_key="2/hour", per_address="1000/hour"))
    answers = [client.get("/gpus", headers=with_key(key)) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["ratelimit"].split(";")[1] for answer in answers] == ["r=1", "r=0", "r=0"]
    assert answers[0].headers["ratelimit-policy"] == '"key";q=2;w=3600'
    assert 1 <= int(answers[2].headers["retry-after"]) <= 3600
    assert answers[2].json()["code"] == "too-many-requests"
    assert client.get("/gpus", headers=with_key(other)).status_code == 200


def test_an_address_is_limited_before_its_keys_are_looked_at(guarded):
    client = guarded.client(limits=RateLimits(per_key="9/hour", per_address="2/hour"))
    assert [client.get("/gpus", headers=with_key("guess")).status_code for _ in range(3)] == [401, 401, 429]
    assert client.get("/healthz").status_code == 429


def test_addresses_of_one_ipv6_network_count_together():
    limits = RateLimits(per_key="1/hour", per_address="1/hour")
    assert not limits.take_of_address("2001:db8:1:2::1", is_guarded=True).is_exceeded
    assert limits.take_of_address("2001:db8:1:2:ffff::9", is_guarded=True).is_exceeded
    assert not limits.take_of_address("2001:db8:1:3::1", is_guarded=True).is_exceeded


def test_loopback_without_keys_has_no_limit_unless_one_is_set():
    assert RateLimits(per_key="1/hour", per_address=None).take_of_address("127.0.0.1", is_guarded=False) is None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:8000", 200), ("localhost.", 200),
        ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost@evil.example", 421), ("", 421), ("[::1", 421),
    ],
)  # fmt: skip
def test_on_loopback_another_name_is_refused(guarded, host, status):
    client = guarded.client(always=False, allowed_hosts=frozenset({"127.0.0.1", "localhost", "[::1]"}))
    assert client.get("/gpus", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 202),
        ({"Origin": "http://testserver"}, 202),
        ({"Origin": "https://plans.example"}, 202),
        ({"Origin": "http://testserver:99"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 202),
    ],
)
def test_a_page_of_another_site_changes_nothing(holder, over, api_database, headers, status):
    statuses = holder.market.statuses
    context = replace(
        over(holder, api_database), access=Access(own_names=frozenset({"plans.example"})), statuses=lambda: statuses
    )
    answer = TestClient(create_app(context)).post("/providers/lambda/refresh", headers=headers)
    assert answer.status_code == status


def test_a_page_of_another_site_may_read_nothing_by_script(client):
    answer = client.get("/gpus", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
