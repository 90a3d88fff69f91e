"""Bounded, retried, silent reads over a faked transport."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import httpx
import pytest
import stamina

from providers import http as http_module
from providers.errors import (
    ProviderCredentials,
    ProviderPayloadInvalid,
    ProviderPayloadTooLarge,
    ProviderRateLimited,
    ProviderUnavailable,
)
from providers.http import get_json, make_client, post_json, stream_lines

URL = "https://market.example/v1/prices?key=SECRET"
HEADERS = {"Authorization": "Bearer SECRET"}


class Faked:
    """Answers in turn (the last one for ever), and remembers what was asked."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


def client_of(*answers):
    faked = Faked(*answers)
    return make_client(transport=httpx.MockTransport(faked)), faked


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """No real waiting: the seconds each retry would wait are collected."""
    waited = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    return waited


OK = {"data": [1]}


@pytest.mark.parametrize(
    "failure", [httpx.Response(500), httpx.Response(503), httpx.ReadTimeout("slow"), httpx.ConnectError("no route to SECRET")]
)
def test_a_passing_failure_is_tried_again(failure, waits):
    http, faked = client_of(failure, failure, httpx.Response(200, json=OK))
    assert get_json(http, "acme", URL, headers=HEADERS) == OK
    assert len(faked.requests) == 3
    # exponential: 1 s and 2 s, each with up to a second of jitter
    assert 1 <= waits[0] <= 2 <= waits[1] <= 3


def test_four_tries_are_the_end():
    http, faked = client_of(httpx.Response(502))
    with pytest.raises(ProviderUnavailable, match="HTTP 502"):
        get_json(http, "acme", URL)
    assert len(faked.requests) == 4


def test_a_body_that_breaks_off_is_tried_again():
    def broken():
        def body():
            yield b'{"da'
            raise httpx.ReadError("reset")

        return httpx.Response(200, content=body())

    http, faked = client_of(broken, httpx.Response(200, json=OK))
    assert get_json(http, "acme", URL) == OK
    assert len(faked.requests) == 2


def test_a_catalogue_post_counts_as_a_read():
    http, faked = client_of(httpx.Response(500), httpx.Response(200, json=OK))
    assert post_json(http, "acme", URL, body={"limit": 5}) == OK
    assert [request.content for request in faked.requests] == [b'{"limit":5}'] * 2


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_not_tried_again(status):
    http, faked = client_of(httpx.Response(status))
    with pytest.raises(ProviderCredentials):
        get_json(http, "acme", URL)
    assert len(faked.requests) == 1


def test_a_market_may_say_404_for_a_refused_key():
    def is_key_fault(status: int, body: bytes) -> bool:
        return status == 404 and b"user key" in body

    http, _ = client_of(httpx.Response(404, text="Invalid user key"))
    with pytest.raises(ProviderCredentials):
        get_json(http, "acme", URL, is_key_fault=is_key_fault)
    http, _ = client_of(httpx.Response(404, text="no such page"))
    with pytest.raises(ProviderPayloadInvalid, match="HTTP 404"):
        get_json(http, "acme", URL, is_key_fault=is_key_fault)
    with pytest.raises(ProviderPayloadInvalid, match="HTTP 404"):
        get_json(http, "acme", URL)


def test_retry_after_in_seconds_is_honoured(waits):
    http, _ = client_of(httpx.Response(429, headers={"Retry-After": "7"}), httpx.Response(200, json=OK))
    assert get_json(http, "acme", URL) == OK
    assert waits == [7.0]


def test_retry_after_as_a_date_is_honoured(waits):
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=31), usegmt=True)
    http, _ = client_of(httpx.Response(429, headers={"Retry-After": until}), httpx.Response(200, json=OK))
    assert get_json(http, "acme", URL) == OK
    assert 28 <= waits[0] <= 31


def test_a_long_retry_after_waits_a_minute_and_is_reported_in_full(waits):
    http, faked = client_of(httpx.Response(429, headers={"Retry-After": "600"}))
    with pytest.raises(ProviderRateLimited) as caught:
        get_json(http, "acme", URL)
    assert waits == [60.0, 60.0, 60.0]
    assert len(faked.requests) == 4
    assert caught.value.retry_after == timedelta(minutes=10)


@pytest.mark.parametrize("header", ["soon", "-5", "Wed, 21 Oct 2015 07:28:00 GMT", "", "٣"])
def test_an_unusable_retry_after_falls_back_to_backing_off(header, waits):
    http, _ = client_of(httpx.Response(429, headers={"Retry-After": header.encode()}), httpx.Response(200, json=OK))
    assert get_json(http, "acme", URL) == OK
    assert 1 <= waits[0] <= 2


def test_retries_can_be_switched_off():
    http, faked = client_of(httpx.Response(503))
    stamina.set_active(False)
    try:
        with pytest.raises(ProviderUnavailable):
            get_json(http, "acme", URL)
    finally:
        stamina.set_active(True)
    assert len(faked.requests) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"", "empty"),
        (b"API requests too frequent", "broken JSON"),
        (b"[" * 100_000, "broken"),
    ],
)
def test_what_is_no_json_is_an_invalid_payload(body, said):
    http, faked = client_of(httpx.Response(200, content=body))
    with pytest.raises(ProviderPayloadInvalid, match=said):
        get_json(http, "acme", URL)
    assert len(faked.requests) == 1


def test_an_endless_body_is_left_at_the_limit():
    read = []

    def endless():
        def body():
            while True:
                read.append(1)
                yield b" " * 1000

        return httpx.Response(200, content=body())

    http, _ = client_of(endless)
    with pytest.raises(ProviderPayloadTooLarge, match="10,000"):
        get_json(http, "acme", URL, max_bytes=10_000)
    assert len(read) <= 12


def test_an_announced_length_over_the_limit_is_not_read():
    http, _ = client_of(httpx.Response(200, content=b"[" + b" " * 200 + b"]"))
    with pytest.raises(ProviderPayloadTooLarge):
        get_json(http, "acme", URL, max_bytes=100)


def test_the_limit_counts_unpacked_bytes():
    import gzip

    packed = gzip.compress(b" " * 1_000_000)
    assert len(packed) < 10_000
    http, _ = client_of(httpx.Response(200, content=packed, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(ProviderPayloadTooLarge):
        get_json(http, "acme", URL, max_bytes=10_000)


def test_a_dripping_body_is_given_up(monkeypatch):
    clock = iter(range(0, 100_000, 400))
    monkeypatch.setattr(http_module.time, "monotonic", lambda: next(clock))
    http, _ = client_of(lambda: httpx.Response(200, content=(b" " for _ in range(100))))
    with pytest.raises(ProviderUnavailable, match="900 s"):
        get_json(http, "acme", URL)


def test_a_redirect_on_the_same_host_is_followed():
    http, faked = client_of(httpx.Response(307, headers={"Location": "/v2/prices"}), httpx.Response(200, json=OK))
    assert get_json(http, "acme", URL, headers=HEADERS) == OK
    assert faked.requests[1].url == "https://market.example/v2/prices"


@pytest.mark.parametrize("to", ["https://evil.example/", "http://market.example/", "https://market.example:8443/x"])
def test_a_redirect_elsewhere_is_refused_and_no_key_leaves(to):
    http, faked = client_of(httpx.Response(302, headers={"Location": to}), httpx.Response(200, json=OK))
    with pytest.raises(ProviderUnavailable, match="not followed"):
        get_json(http, "acme", URL, headers=HEADERS)
    assert len(faked.requests) == 1


def test_a_ring_of_redirects_ends():
    http, faked = client_of(httpx.Response(302, headers={"Location": "/round"}))
    with pytest.raises(ProviderUnavailable, match="too many redirects"):
        get_json(http, "acme", URL)
    assert len(faked.requests) == 4


ANSWERS = [
    httpx.Response(401, text="SECRET"),
    httpx.Response(429, text="SECRET"),
    httpx.Response(500, text="SECRET"),
    httpx.Response(418, text="SECRET"),
    httpx.Response(200, text="SECRET"),
    httpx.Response(302, headers={"Location": "https://evil.example/SECRET"}),
    httpx.ConnectError("SECRET"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_secret_stands_in_an_error_or_what_it_is_chained_to(answer, capsys, caplog):
    http, _ = client_of(answer)
    with pytest.raises(Exception, match="acme") as caught:
        get_json(http, "acme", URL, headers=HEADERS)
    error = caught.value
    while error is not None:
        assert "SECRET" not in repr(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    said = capsys.readouterr()
    assert "SECRET" not in said.out + said.err + caplog.text


def test_numbers_are_exact():
    http, _ = client_of(httpx.Response(200, content=b'{"a": 0.1, "b": 3, "c": 1e-7, "d": 1.10}'))
    answer = get_json(http, "acme", URL)
    assert answer == {"a": Decimal("0.1"), "b": 3, "c": Decimal("1e-7"), "d": Decimal("1.10")}
    assert isinstance(answer["b"], int)


def test_lines_come_one_by_one_across_chunk_borders():
    http, _ = client_of(httpx.Response(200, content=(part for part in [b"SKU,Pri", b"ce\r\nA,1\n\xc3", b"\xa9,2"])))
    assert list(stream_lines(http, "acme", URL)) == ["SKU,Price", "A,1", "é,2"]


def test_an_opening_that_fails_is_tried_again_but_not_a_break_in_the_middle():
    def broken():
        def body():
            yield b"a\nb"
            raise httpx.ReadError("reset")

        return httpx.Response(200, content=body())

    http, faked = client_of(httpx.Response(503), broken)
    lines = stream_lines(http, "acme", URL)
    assert next(lines) == "a"
    with pytest.raises(ProviderUnavailable, match="middle"):
        next(lines)
    assert len(faked.requests) == 2


def test_a_stream_may_be_left_early():
    closed = []

    class Body(httpx.SyncByteStream):
        def __iter__(self):
            yield b"a\n" * 100

        def close(self):
            closed.append(True)

    http, _ = client_of(httpx.Response(200, stream=Body()))
    lines = stream_lines(http, "acme", URL)
    next(lines)
    lines.close()
    assert closed


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (httpx.Response(200, html="<html></html>"), ProviderPayloadInvalid),
        (httpx.Response(200, content=b"\xff\n"), ProviderPayloadInvalid),
        (httpx.Response(200, content=b"x" * 1_000_001), ProviderPayloadInvalid),
        (httpx.Response(403), ProviderCredentials),
    ],
)
def test_a_stream_that_is_no_table_is_refused(response, error):
    http, _ = client_of(response)
    with pytest.raises(error):
        list(stream_lines(http, "acme", URL))


def test_a_stream_over_the_limit_is_refused():
    http, _ = client_of(httpx.Response(200, content=b"abc\n" * 100))
    with pytest.raises(ProviderPayloadTooLarge):
        list(stream_lines(http, "acme", URL, max_bytes=99))


def test_the_client_names_itself_and_bounds_every_wait():
    http, faked = client_of(httpx.Response(200, json=OK))
    get_json(http, "acme", URL, read_timeout_seconds=30)
    timeout = faked.requests[0].extensions["timeout"]
    assert timeout == {"connect": 10.0, "read": 30.0, "write": 30.0, "pool": 10.0}
    assert faked.requests[0].headers["User-Agent"].startswith("gpu-cost-optimizer/")
    assert http.timeout.read == 60.0


@pytest.mark.parametrize(("url", "key"), [("https://market.example:port/x", "k"), ("market.example", "k"), (URL, "SECRET-é")])
def test_settings_that_cannot_be_sent_are_told_without_the_key(url, key):
    http, _ = client_of(httpx.ConnectError("never"))
    with pytest.raises(ProviderUnavailable) as caught:
        get_json(http, "acme", url, headers={"Authorization": key})
    assert "SECRET" not in repr(caught.value.__context__) + repr(caught.value)
