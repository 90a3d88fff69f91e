"""Readers, writers and a refresh at once: nobody is told that the database is locked, and no fetch holds a transaction."""

from concurrent.futures import ThreadPoolExecutor

from providers.offer import Batch
from service.domain.request import OnPremPool
from service.flows.refresh import RefreshRun, refresh_feed
from service.flows.snapshot import SnapshotHolder
from service.store import pools
from service.store.engine import reading, writing
from service.store.lease import LeaseKeeper


def test_readers_and_writers_beside_a_refresh_all_succeed(engine, clock, refresh, offers_of):
    # behaviour 28 in small: 20 refreshes of 200 prices beside 6 threads that save and poll
    def save(at):
        with writing(engine) as connection:
            pools.save_pool(connection, OnPremPool(name=f"dc{at}", gpu="H100 SXM", usd_per_gpu_hour=2), now=clock.now)
        return SnapshotHolder(engine, clock).poll()

    with ThreadPoolExecutor(6) as threads:
        saved = [threads.submit(save, at) for at in range(40)]
        outcomes = {refresh(*offers_of(200, usd_per_hour=str(10 + at))).outcome for at in range(20)}
        assert all(done.result(timeout=60) for done in saved)
    assert outcomes == {"complete"}
    with reading(engine) as connection:
        assert len(pools.pools_now(connection)) == 40


def test_no_connection_is_in_use_while_a_provider_is_read(engine, clock, fake, offers_of):
    in_use = []

    class Watches(fake):
        def fetch(self, http):
            in_use.append(engine.pool.checkedout())

    lease = LeaseKeeper(engine, "one", clock).acquire()
    watches = Watches(batch=Batch(offers=offers_of(3)))
    result = refresh_feed(watches, None, RefreshRun(engine=engine, clock=clock, lease=lease, interval_seconds=300))
    assert (result.outcome, in_use) == ("complete", [0])
