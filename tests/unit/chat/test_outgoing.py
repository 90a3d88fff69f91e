"""What this service sends by itself: only to public https addresses that were checked, signed, and again where that helps."""

import hashlib
import hmac
import json
from datetime import UTC, datetime

import httpx
import pytest

from providers.errors import InvalidInput
from service.chat.outgoing import Alarms, Poster, checked_address
from service.flows.watches import Target, UndeliverableAlarm

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
PUBLIC = "93.184.216.34"


def at(*addresses):
    return lambda host, port: list(addresses)


class Server:
    """Answers with the given statuses in turn, then 200."""

    def __init__(self, *statuses, body=None):
        self.statuses, self.body, self.requests = list(statuses), body, []

    def __call__(self, request):
        self.requests.append(request)
        return httpx.Response(self.statuses.pop(0) if self.statuses else 200, json=self.body or {})

    @property
    def client(self):
        return httpx.Client(transport=httpx.MockTransport(self))


def alarms(server, **changes):
    return Alarms(http=server.client, clock=lambda: NOW, **{"resolve": at(PUBLIC), **changes})


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "::1", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1",
    ],
)  # fmt: skip
def test_an_address_inside_is_refused_whatever_its_name(address):
    with pytest.raises(InvalidInput, match="private"):
        checked_address("https://alarms.example/x", allow_private=False, resolve=at(PUBLIC, address))


@pytest.mark.parametrize(
    "url",
    ["http://alarms.example/x", "https://user@alarms.example/x", "https:///x", "ftp://a/x", "https://a\\@b/x", "https://[::1/x"],
)
def test_what_is_no_plain_https_address_is_refused(url):
    with pytest.raises(InvalidInput):
        checked_address(url, allow_private=False, resolve=at(PUBLIC))


def test_a_setting_allows_addresses_inside():
    assert checked_address("http://alarms.local:8080/x?a=1", allow_private=True, resolve=at("10.0.0.1")) == (
        "http://10.0.0.1:8080/x?a=1",
        "alarms.local:8080",
    )


def test_a_name_that_is_not_found_is_refused():
    def lost(host, port):
        raise OSError

    with pytest.raises(InvalidInput, match="not found"):
        checked_address("https://alarms.example/x", allow_private=False, resolve=lost)


def test_a_webhook_is_called_at_the_checked_address_and_signed():
    server = Server()
    target = Target(kind="webhook", place="https://alarms.example/hook?a=1", secret="s3")
    alarms(server).send(target, "d1", "words", {"watch_id": "w"})
    (request,) = server.requests
    assert str(request.url) == f"https://{PUBLIC}/hook?a=1"  # the port is the scheme's own
    assert request.headers["host"] == "alarms.example"
    assert request.extensions["sni_hostname"] == "alarms.example"
    stamp = request.headers["x-gpuplan-timestamp"]
    expected = hmac.new(b"s3", f"v1:{stamp}:".encode() + request.content, hashlib.sha256).hexdigest()
    assert request.headers["x-gpuplan-signature"] == f"v1={expected}"
    assert stamp == str(int(NOW.timestamp()))
    assert json.loads(request.content) == {"delivery_id": "d1", "watch_id": "w"}


def test_an_address_that_moved_inside_since_is_not_called():
    server = Server()
    with pytest.raises(UndeliverableAlarm, match="private"):
        alarms(server, resolve=at("127.0.0.1")).send(Target(kind="webhook", place="https://a.example/"), "d", "t", {})
    assert server.requests == []


@pytest.mark.parametrize("status", [301, 404, 500])
def test_anything_but_success_is_no_delivery(status):
    with pytest.raises(UndeliverableAlarm, match=str(status)):
        alarms(Server(status)).send(Target(kind="webhook", place="https://a.example/"), "d", "t", {})


def test_slack_s_own_no_is_no_delivery():
    target = Target(kind="slack", place="C1")
    with pytest.raises(UndeliverableAlarm):
        alarms(Server(body={"ok": False}), slack_bot_token="x").send(target, "d", "t", {})
    server = Server(body={"ok": True})
    alarms(server, slack_bot_token="xoxb").send(target, "d", "<!channel> t", {})
    assert "<!channel>" not in json.loads(server.requests[0].content)["text"]
    assert server.requests[0].headers["authorization"] == "Bearer xoxb"


def test_a_chat_without_an_outgoing_address_is_no_delivery():
    with pytest.raises(UndeliverableAlarm, match="not set"):
        alarms(Server()).send(Target(kind="teams", place="c"), "d", "t", {})


@pytest.mark.parametrize(
    ("statuses", "calls", "is_delivered"),
    [((), 1, True), ((503,), 2, True), ((429, 503), 3, True), ((503, 503, 503), 3, False), ((404,), 1, False)],
)
def test_an_answer_is_sent_again_only_where_that_can_help(statuses, calls, is_delivered):
    server, waits = Server(*statuses), []
    poster = Poster(server.client, sleep=waits.append)
    if is_delivered:
        poster.post("https://hooks.slack.com/x", {})
    else:
        with pytest.raises(UndeliverableAlarm):
            poster.post("https://hooks.slack.com/x", {})
    assert len(server.requests) == calls
    assert len(waits) == calls - 1
