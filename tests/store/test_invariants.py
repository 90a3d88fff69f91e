"""The invariant checker: a database that was refreshed, and killed while it was, is sound; each kind of damage is told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from service.flows.invariants import broken_invariants
from service.store.engine import writing

KILLS = 200 if os.environ.get("GPUPLAN_HYPOTHESIS_PROFILE") == "full" else 10


@pytest.fixture
def refreshed(engine, refresh, offers_of):
    """Two feeds' worth of changes: new, changed, gone and back again."""
    refresh(*offers_of(10))
    refresh(*offers_of(10, usd_per_hour="11"))
    refresh(*offers_of(8, usd_per_hour="11"))
    refresh(*offers_of(10, usd_per_hour="12"))
    return engine


def test_what_refreshes_write_is_sound(refreshed):
    assert broken_invariants(refreshed) == []


def test_an_empty_database_is_sound(engine):
    assert broken_invariants(engine) == []


ONE = "(SELECT offer_id FROM current_prices ORDER BY offer_id LIMIT 1)"


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (f"UPDATE current_prices SET micro_usd_per_hour = 0 WHERE offer_id = {ONE}", "above zero"),
        (f"DELETE FROM current_prices WHERE offer_id = {ONE}", "counts the offers"),
        (f"DELETE FROM current_prices WHERE offer_id = {ONE}", "blob holds"),
        (f"UPDATE current_prices SET micro_usd_per_hour = 7 WHERE offer_id = {ONE}", "blob holds"),
        ("DELETE FROM packed_feeds", "blob holds"),
        ("UPDATE packed_feeds SET version = 99", "ahead of the market"),
        ("DELETE FROM market_changes WHERE version = 2", "change of the market is recorded"),
        ("DELETE FROM market_changes WHERE version = 2", "begin and end at recorded changes"),
        ("UPDATE market_version SET version = version + 1", "change of the market is recorded"),
        (
            "UPDATE current_prices SET valid_from = (SELECT min(valid_from) FROM price_history)",
            "no closed interval behind its start",
        ),
        (
            "UPDATE price_history SET valid_to = (SELECT max(valid_from) FROM current_prices) "
            "WHERE valid_from = (SELECT min(valid_from) FROM price_history)",
            "do not overlap",
        ),
    ],
)
def test_damage_is_told(refreshed, damage, invariant):
    with writing(refreshed) as connection:
        connection.execute(text(damage))
    found = [one.invariant for one in broken_invariants(refreshed)]
    assert any(invariant in one for one in found), found


def test_kills_at_random_moments_lose_nothing(engine, database_url):
    engine.dispose()
    script = Path(__file__).with_name("kill_refreshes.py")
    done = subprocess.run(
        [sys.executable, str(script), database_url, str(KILLS), "20260901"], capture_output=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert (told["kills"], told["wrong_offers"], told["broken_invariants"]) == (KILLS, 0, [])
    assert told["refreshes"] > KILLS / 5  # they were killed at work, not before it
