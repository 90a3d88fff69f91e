"""GET /prices/history on both databases: intervals that overlap a time, page by page."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from starlette.testclient import TestClient

from providers.offer import CapacityType
from service.store.engine import writing
from service.store.prices import apply_difference, difference


def on(day, hour=0):
    return datetime(2026, 2, day, hour, tzinfo=UTC)


@pytest.fixture
def history(stored_client: TestClient, engine, offers):
    """H100: 3.29 from 1 Feb, 3.09 from 10 Feb, gone on 20 Feb; its spot twin 1.50 from 10 Feb, still there; a 4090 apart."""
    h100 = offers[0]
    spot = replace(h100, capacity_type=CapacityType.SPOT, usd_per_hour=Decimal("1.50"))
    other = replace(offers[3], feed="lambda")
    states = (
        (on(1), [h100, other]),
        (on(10), [replace(h100, usd_per_hour=Decimal("3.09")), spot, other]),
        (on(20), [spot, other]),
    )
    for at, listed in states:
        with writing(engine) as connection:
            by_id = {one.offer_id: one for one in listed}
            found = difference(connection, "lambda", by_id, kept_scopes=())
            apply_difference(connection, "lambda", by_id, found, at=at)
    return stored_client


def intervals(client, query):
    answer = client.get(f"/prices/history?{query}")
    assert answer.status_code == 200, answer.text
    return [(one["usd_per_hour"], one["valid_from"][8:10], (one["valid_to"] or "")[8:10]) for one in answer.json()["intervals"]]


def test_every_interval_of_a_card_oldest_first(history):
    found = intervals(history, "gpu=H100&from=2026-01-01&to=2026-03-01")
    assert found[0] == (3.29, "01", "10")
    assert sorted(found[1:]) == [(1.5, "10", ""), (3.09, "10", "20")]


def test_what_overlaps_the_time(history):
    cases = [
        ("from=2026-02-10&to=2026-03-01", [1.5, 3.09]),  # the first interval ends where the time begins: not in it
        ("from=2026-02-09T23:59:59Z&to=2026-02-10", [3.29]),  # `to` is not included
        ("from=2026-02-09T23:59:59Z&to=2026-02-10T00:00:01Z", [1.5, 3.09, 3.29]),
        ("from=2026-02-25", [1.5]),  # to now
        ("from=2026-02-10T01:00:00%2B02:00&to=2026-02-10T00:00:00Z", [3.29]),  # 9 Feb, 23:00 UTC
        ("from=2026-02-01&to=2026-03-01&capacity_type=spot", [1.5]),
        ("from=2026-02-01&to=2026-03-01&provider=vast", []),
    ]
    for query, prices in cases:
        assert sorted(price for price, *_ in intervals(history, f"gpu=H100&{query}")) == prices, query


def test_pages_cover_everything_once(history):
    seen, url = [], "/prices/history?gpu=H100&gpu=RTX%204090&from=2026-01-01&limit=1"
    while url:
        answer = history.get(url)
        assert len(answer.json()["intervals"]) == 1
        seen += [(one["offer_id"], one["valid_from"]) for one in answer.json()["intervals"]]
        url = answer.links.get("next", {}).get("url")
    assert len(seen) == len(set(seen)) == 4


def test_a_cursor_of_another_query_is_refused(history):
    cursor = history.get("/prices/history?gpu=H100&from=2026-01-01&limit=1").json()["next_cursor"]
    assert history.get(f"/prices/history?gpu=H100&from=2026-01-02&limit=1&cursor={cursor}").status_code == 400


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("", "/gpu"),
        ("gpu=nonesuch", "/gpu"),
        ("gpu=H100&from=2026-03-01&to=2026-02-01", "/from"),
        ("gpu=H100&from=1700000000", "/from"),
        ("gpu=H100&from=2026-02-30", "/from"),
        ("gpu=H100&to=0001-01-01T00:00:00%2B14:00", "/to"),
        ("gpu=H100&to=2026-02-01T00:00:00", "/to"),
        ("gpu=H100&since=2026-01-01", "/since"),
    ],
)
def test_refusals(client, query, pointer):
    answer = client.get(f"/prices/history?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer
