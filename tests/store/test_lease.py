"""One holder at a time; whoever was overtaken cannot write, however long it slept."""

import subprocess
import sys
import textwrap
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from service.flows.refresh import RefreshRun, refresh_feed
from service.store.engine import reading
from service.store.errors import LeaseLost
from service.store.lease import LeaseKeeper
from service.store.tables import CurrentPrice, PriceHistory

TTL = timedelta(seconds=30)


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


KILLED = textwrap.dedent(
    """
    import dataclasses, os, signal, sys
    from datetime import UTC, datetime, timedelta
    from decimal import Decimal
    sys.path.insert(0, sys.argv[2])
    from bench_refresh import Listed, make_offers
    from service.flows.refresh import RefreshRun, refresh_feed
    from service.store import feeds, prices
    from service.store.engine import make_engine
    from service.store.lease import LeaseKeeper

    engine = make_engine(sys.argv[1])
    clock = lambda: datetime(2026, 9, 1, tzinfo=UTC) + timedelta(hours=int(sys.argv[3] == "change"))
    lease = LeaseKeeper(engine, "killed", clock, ttl=timedelta(days=1)).acquire()
    offers = make_offers(300)
    if sys.argv[3] == "change":
        offers = tuple(dataclasses.replace(o, usd_per_hour=o.usd_per_hour + 1) for o in offers)
        stored = feeds.save_packed if sys.argv[4] == "late" else prices._insert

        def killed(*args, **kwargs):
            stored(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        if sys.argv[4] == "late":
            feeds.save_packed = killed
        else:
            prices._insert = killed
    refresh_feed(Listed(offers), None, RefreshRun(engine=engine, clock=clock, lease=lease, interval_seconds=300))
    """
)


@pytest.mark.parametrize("moment", ["early", "late"])
def test_a_kill_in_the_middle_of_a_refresh_leaves_no_half_batch(engine, database_url, tmp_path, moment):
    from pathlib import Path

    bench = str(Path(__file__).resolve().parent.parent / "bench")
    script = tmp_path / "killed.py"
    script.write_text(KILLED)

    def run(what):
        command = [sys.executable, str(script), database_url, bench, what, moment]
        return subprocess.run(command, check=False, capture_output=True, timeout=60, cwd=Path(bench).parent.parent)

    first = run("load")
    assert first.returncode == 0, first.stderr.decode()
    assert run("change").returncode == -9
    with reading(engine) as connection:
        rows = connection.execute(select(func.count(), func.min(CurrentPrice.valid_from), func.max(CurrentPrice.valid_from)))
        count, least, most = rows.one()
        assert (count, least == most) == (300, True)
        assert connection.execute(select(func.count()).select_from(PriceHistory)).scalar() == 0
