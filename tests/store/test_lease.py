"""One holder at a time; whoever was overtaken cannot write, however long it slept."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from service.flows.refresh import RefreshRun, refresh_feed
from service.store import feeds
from service.store.engine import reading
from service.store.errors import LeaseLost
from service.store.lease import LeaseKeeper
from service.store.tables import CurrentPrice, PriceHistory

TTL = timedelta(seconds=30)
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def keepers(engine, clock):
    return LeaseKeeper(engine, "one", clock, ttl=TTL), LeaseKeeper(engine, "two", clock, ttl=TTL)


def test_a_held_lease_is_renewed_by_its_holder_and_refused_to_others(keepers, clock):
    one, two = keepers
    first = one.acquire()
    clock.pass_(seconds=29)
    assert two.acquire() is None
    assert one.acquire() == first
    clock.pass_(seconds=29)  # 58 s after the first, 29 s after the renewal
    assert two.acquire() is None
    assert one.current_holder() == "one"


def test_an_expired_lease_goes_to_another_with_a_greater_number(keepers, clock):
    one, two = keepers
    first = one.acquire()
    clock.pass_(seconds=30)
    second = two.acquire()
    assert second.fence == first.fence + 1
    assert one.acquire() is None


def test_a_holder_that_let_it_expire_gets_a_new_number(keepers, clock):
    one, _ = keepers
    first = one.acquire()
    clock.pass_(seconds=31)
    assert one.acquire().fence == first.fence + 1


def test_a_released_lease_is_free_at_once_and_the_number_goes_on(keepers):
    one, two = keepers
    first = one.acquire()
    one.release(first)
    assert two.acquire().fence == first.fence + 1
    one.release(first)  # no longer ours: nothing happens
    assert two.current_holder() == "two"


def test_a_paused_old_leader_cannot_write(engine, clock, keepers, fake, offers_of):
    # behaviour 24: the old leader sleeps while it fetches, a new one takes over and writes, the old one wakes up
    from providers.offer import Batch

    one, two = keepers
    old = one.acquire()

    class Sleeps(fake):
        def fetch(self, http):
            clock.pass_(seconds=31)
            fresh = fake(batch=Batch(offers=offers_of(3, usd_per_hour="11")))
            refresh_feed(fresh, http, RefreshRun(engine=engine, clock=clock, lease=two.acquire(), interval_seconds=300))

    sleeper = Sleeps(batch=Batch(offers=offers_of(3, usd_per_hour="99")))
    with pytest.raises(LeaseLost):
        refresh_feed(sleeper, None, RefreshRun(engine=engine, clock=clock, lease=old, interval_seconds=300))
    with reading(engine) as connection:
        assert connection.execute(select(func.max(CurrentPrice.micro_usd_per_hour))).scalar() == 11_000_000
        assert connection.execute(select(func.count()).select_from(PriceHistory)).scalar() == 0


KILLED = """
import os, signal, sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from providers.base import Adapter
from providers.offer import Batch
from service.flows.refresh import RefreshRun, refresh_feed
from service.store import feeds, prices
from service.store.engine import make_engine, reading
from service.store.lease import LeaseKeeper

database_url, now, module, name = sys.argv[1], datetime.fromisoformat(sys.argv[2]), *sys.argv[3].split(".")
engine, clock = make_engine(database_url), lambda: now
with reading(engine) as connection:
    [stored] = prices.offers_at(connection, now).values()
dearer = Batch(offers=tuple(replace(offer, usd_per_hour=offer.usd_per_hour + 1) for offer in stored))

class Dearer(Adapter):
    name = "fake"
    def fetch(self, http): return None
    def parse(self, payload, observed_at): return dearer

of_module = {"feeds": feeds, "prices": prices}[module]
real = getattr(of_module, name)

def killed(*args, **kwargs):
    real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(of_module, name, killed)
lease = LeaseKeeper(engine, "killed", clock, name="killed", ttl=timedelta(days=1)).acquire()
refresh_feed(Dearer(), None, RefreshRun(engine=engine, clock=clock, lease=lease, interval_seconds=300))
"""


@pytest.mark.parametrize("step", ["prices.apply_difference", "feeds.save_states"])
def test_a_kill_in_the_middle_of_a_refresh_leaves_no_half_batch(engine, database_url, clock, refresh, offers_of, tmp_path, step):
    refresh(*offers_of(50))
    first = clock.now
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), database_url, clock.pass_(hours=1).isoformat(), step]
    done = subprocess.run(command, check=False, capture_output=True, timeout=60, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    with reading(engine) as connection:
        rows = connection.execute(select(CurrentPrice.valid_from, CurrentPrice.micro_usd_per_hour)).all()
        assert set(map(tuple, rows)) == {(first, 10_000_000)}
        assert len(rows) == 50
        assert connection.execute(select(func.count()).select_from(PriceHistory)).scalar() == 0
        assert feeds.market_version(connection).changed_at == first
    assert refresh(*offers_of(50, usd_per_hour="11")).changed == 50  # and nothing is locked
