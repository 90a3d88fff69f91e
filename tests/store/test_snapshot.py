"""The snapshot follows the stored prices, keeps what did not change, and can be had as it was."""

import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from providers.errors import ProviderUnavailable
from providers.offer import Batch, CapacityType, Tenancy
from service.domain.request import OnPremPool
from service.flows.as_of import load_market_at
from service.flows.medians import refresh_medians
from service.flows.reference import ensure_reference_loaded
from service.flows.snapshot import SnapshotHolder, load_market_cold, load_snapshot_cold
from service.flows.status import FeedSetting
from service.store import pools
from service.store.engine import writing
from service.store.errors import SchemaOutdated, SchemaTooNew, UnknownPool


@pytest.fixture
def holder(engine, clock):
    return SnapshotHolder(engine, clock)


@pytest.fixture
def other(refresh, fake):
    """The same refreshes for a second feed."""
    second = type(refresh).__new__(type(refresh))
    second.engine, second.clock, second.lease, second.adapter = refresh.engine, refresh.clock, refresh.lease, fake(feed="other")
    return second


def prices_of(market):
    return sorted(market.offer(row).usd_per_hour for row in range(market.offers))


def test_a_poll_without_a_change_keeps_the_same_market(holder, refresh, offers_of):
    refresh(*offers_of(3))
    assert holder.poll() is True
    market = holder.market()
    assert holder.poll() is False
    assert holder.market() is market
    assert market.offers == 3


def test_an_unchanged_refresh_renews_the_age_and_not_the_columns(holder, refresh, offers_of, clock):
    refresh(*offers_of(3))
    holder.poll()
    before = holder.market()
    refresh(*offers_of(3))
    assert holder.poll() is True
    after = holder.market()
    assert after.feeds[0] is before.feeds[0]
    assert after.snapshot_id == before.snapshot_id
    assert after.status("fake").last_success_at == clock.now


def test_only_the_feed_that_changed_is_read_again(holder, refresh, other, offers_of):
    refresh(*offers_of(3))
    other(*offers_of(2))
    holder.poll()
    before = dict(zip(holder.market().feed_names, holder.market().feeds, strict=True))
    other(*offers_of(2, usd_per_hour="11"))
    holder.poll()
    after = dict(zip(holder.market().feed_names, holder.market().feeds, strict=True))
    assert after["fake"] is before["fake"]
    assert after["other"] is not before["other"]
    assert prices_of(holder.market()) == [Decimal(10)] * 3 + [Decimal(11)] * 2
    refresh(*offers_of(3, usd_per_hour="12"))
    holder.poll()
    assert prices_of(holder.market()) == [Decimal(11)] * 2 + [Decimal(12)] * 3


def test_a_disabled_feed_is_in_no_market_but_in_the_statuses(engine, clock, refresh, other, offers_of):
    refresh(*offers_of(3))
    other(*offers_of(2))
    known = {"fake": FeedSetting(name="fake", enabled=False, lacks_key=False, interval_seconds=300)}
    holder = SnapshotHolder(engine, clock, known)
    holder.poll()
    assert holder.market().feed_names == ("other",)
    assert {status.name: status.state for status in holder.statuses()} == {"fake": "disabled", "other": "ok"}


def test_states_tell_the_truth_at_the_moment_they_are_asked(engine, clock, refresh, offers_of):
    # behaviour 19: last good 49 h ago, three failures since; the next good refresh clears it
    known = {
        "fake": FeedSetting(name="fake", enabled=True, lacks_key=False, interval_seconds=300),
        "new": FeedSetting(name="new", enabled=True, lacks_key=False, interval_seconds=300),
        "locked": FeedSetting(name="locked", enabled=True, lacks_key=True, interval_seconds=300),
    }
    holder = SnapshotHolder(engine, clock, known)

    def state(name="fake"):
        holder.poll()
        return next(status for status in holder.statuses() if status.name == name)

    refresh(*offers_of(10))
    assert (state().state, state("new").state, state("locked").state) == ("ok", "never", "needs_key")
    refresh(*offers_of(10), failed_scopes={"west": "provider-unavailable"})
    assert state().state == "degraded"
    refresh(*offers_of(2))
    assert (state().state, state().error) == ("degraded", "too-few-shapes")
    refresh(error=ProviderUnavailable("fake", "503"))
    assert state().state == "failing"
    clock.pass_(hours=49)
    assert (state().state, state().is_stale(clock.now)) == ("stale", True)
    for _ in range(3):
        refresh(error=ProviderUnavailable("fake", "503"))
    stale = state()
    assert (stale.state, stale.error) == ("stale", "provider-unavailable")
    assert stale.age_hours(clock.now) == pytest.approx(49 + 5 * 5 / 60)  # two refused or failed, then three more, 5 min each
    refresh(*offers_of(10))
    assert (state().state, state().error) == ("ok", None)


def test_three_missed_refreshes_and_not_two_are_stale(engine, clock, refresh, offers_of):
    holder = SnapshotHolder(engine, clock)
    refresh(*offers_of(3))
    holder.poll()
    clock.pass_(seconds=900)
    assert holder.statuses()[0].state == "ok"
    clock.pass_(seconds=1)
    assert holder.statuses()[0].state == "stale"


def test_a_shipped_list_does_not_go_stale_by_not_being_read(engine, clock, fake, offers_of):
    ensure_reference_loaded(engine, fake(batch=Batch(offers=offers_of(2)), feed="reference"), clock, holder="a")
    holder = SnapshotHolder(engine, clock)
    clock.pass_(days=400)
    holder.poll()
    assert [(status.name, status.state) for status in holder.statuses()] == [("reference", "ok")]


def test_a_past_market_is_the_one_that_was(engine, holder, refresh, offers_of, clock):
    refresh(*offers_of(3))
    holder.poll()
    then, at = holder.market(), clock.now
    with writing(engine) as connection:
        pools.save_pool(connection, OnPremPool(name="dc1", gpu="H100 SXM", usd_per_gpu_hour=2), now=clock.pass_(minutes=1))
    refresh(*offers_of(2, usd_per_hour="12"))
    assert load_market_at(engine, then.as_of - timedelta(microseconds=1), {}) is None
    past = load_market_at(engine, then.as_of, {}, evaluated_at=at)
    assert (past.market.snapshot_id, past.market.as_of) == (then.snapshot_id, then.as_of)
    assert [past.market.offer(row) for row in range(3)] == [then.offer(row) for row in range(3)]
    assert not past.market.status("fake").is_stale(at)
    assert (past.pools, list(load_market_at(engine, clock.now, {}).pools)) == ({}, ["dc1"])


def test_a_feed_confirmed_without_change_is_fresh_in_the_past_too(engine, holder, refresh, offers_of, clock):
    for _ in range(10):
        refresh(*offers_of(3))
    holder.poll()
    changed_at, evaluated_at = holder.market().as_of, clock.now
    assert evaluated_at - changed_at == timedelta(minutes=45)
    clock.pass_(days=200)
    past = load_market_at(engine, changed_at, {}, evaluated_at=evaluated_at)
    assert not past.market.status("fake").is_stale(evaluated_at)
    assert load_market_at(engine, changed_at, {}, evaluated_at=clock.now).market.status("fake").is_stale(clock.now)


def test_pools_are_kept_changed_and_forgotten(engine, holder, clock):
    first = OnPremPool(name="dc1", gpu="H100 SXM", capex_usd_per_node=275_000, life_years=4)
    with writing(engine) as connection:
        assert pools.save_pool(connection, first, now=clock.now) is True
    holder.poll()
    assert holder.pools() == {"dc1": first}
    with writing(engine) as connection:
        assert pools.save_pool(connection, first.model_copy(update={"nodes": 2}), now=clock.pass_(minutes=1)) is False
    holder.poll()
    assert holder.pools()["dc1"].nodes == 2
    with writing(engine) as connection:
        pools.delete_pool(connection, "dc1", now=clock.pass_(minutes=1))
        with pytest.raises(UnknownPool):
            pools.delete_pool(connection, "dc1", now=clock.now)
    holder.poll()
    assert holder.pools() == {}


def test_medians_need_fourteen_days_and_weigh_by_time(engine, holder, refresh, offer_of, clock):
    # One spot machine with 8 cards: 8 USD (1 a card) for 10 days, 16 (2 a card) for 6 days. By time the median is 1.
    spot = {"capacity_type": CapacityType.SPOT, "tenancy": Tenancy.COMMUNITY_HOST}
    clock.now = clock.now.replace(hour=0, minute=0) - timedelta(minutes=5)
    refresh(offer_of(usd_per_hour="8", **spot), offer_of(usd_per_hour="30"))
    clock.pass_(days=10, minutes=-5)
    refresh(offer_of(usd_per_hour="16", **spot), offer_of(usd_per_hour="30"))
    clock.pass_(days=3)
    assert refresh_medians(engine, refresh.lease, clock.now) is True
    holder.poll()
    assert holder.market().medians == {}  # 13 days
    clock.pass_(days=3)
    assert refresh_medians(engine, refresh.lease, clock.now) is True
    assert refresh_medians(engine, refresh.lease, clock.pass_(hours=1)) is False
    holder.poll()
    assert list(holder.market().medians) == [("fake", "H100-SXM5-80GB", "spot", "US")]
    [median] = holder.market().medians.values()
    assert (median.usd_per_gpu_hour, median.low_usd_per_gpu_hour, median.high_usd_per_gpu_hour) == (1.0, 1.0, 2.0)
    assert median.days == pytest.approx(16)
    assert load_market_at(engine, clock.now, {}).market.medians == holder.market().medians


def test_a_cold_read_sees_what_a_poll_sees(database_url, holder, refresh, offers_of, clock):
    refresh(*offers_of(3))
    holder.poll()
    cold = load_snapshot_cold(database_url, now=clock.now)
    assert cold.at == holder.current().at
    assert cold.market.statuses == holder.market().statuses
    assert [cold.market.offer(row) for row in range(3)] == [holder.market().offer(row) for row in range(3)]
    assert load_market_cold(database_url, now=clock.now, left_out={"fake"}).offers == 0


def test_a_cold_read_refuses_what_it_does_not_know(tmp_path, database_url, engine, clock):
    with pytest.raises(SchemaOutdated, match="no database yet"):
        load_market_cold(f"sqlite:///{tmp_path / 'absent.db'}", now=clock.now)
    with writing(engine) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNew, match="9999"):
        load_market_cold(database_url, now=clock.now)


def test_a_cold_read_imports_no_orm():
    code = (
        "import sys, service.flows.snapshot\n"
        "heavy = {'sqlalchemy', 'sqlmodel', 'alembic', 'httpx', 'boto3', 'apscheduler', 'psycopg'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    root = Path(__file__).resolve().parent.parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_reference_prices_are_loaded_once_and_renewed_when_they_change(engine, clock, fake, offers_of):
    shipped = fake(batch=Batch(offers=offers_of(4, is_dated=True)))
    assert ensure_reference_loaded(engine, shipped, clock, holder="a").new == 4
    assert ensure_reference_loaded(engine, shipped, clock, holder="b").unchanged == 4
    newer = fake(batch=Batch(offers=offers_of(1, is_dated=True)))  # a list may shrink: it is edited on purpose
    assert ensure_reference_loaded(engine, newer, clock, holder="a").gone == 3


def test_the_holder_polls_in_its_thread(engine, clock, refresh, offers_of):
    import threading

    swapped = threading.Event()

    class Told(SnapshotHolder):
        def poll(self):
            if changed := super().poll():
                swapped.set()
            return changed

    holder = Told(engine, clock, poll_seconds=0.01)
    holder.start()
    swapped.clear()
    refresh(*offers_of(3))
    assert swapped.wait(timeout=10)
    holder.stop()
    assert holder.market().offers == 3
