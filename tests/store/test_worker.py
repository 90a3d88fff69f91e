"""One refresh per interval whatever the number of processes; failures are tried again; jobs survive a restart."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest

from providers.errors import ProviderCredentials, ProviderRateLimited, ProviderUnavailable
from providers.offer import Batch
from service.flows.jobs import cancel_job, enqueue_refresh, job_status, run_next_job, take_over_jobs
from service.flows.refresh import RefreshResult
from service.metrics import Metrics
from service.store import feeds
from service.store.engine import reading
from service.store.errors import LeaseLost, UnknownJob
from service.store.lease import LeaseKeeper
from service.worker import Refresher, UnknownFeed


@pytest.fixture
def refresher_of(engine, clock, fake, offers_of):
    made = []

    def make(holder, *adapters, interval_seconds=300, metrics=None):
        adapters = adapters or (fake(batch=Batch(offers=offers_of(3))),)
        made.append(
            Refresher(
                engine=engine,
                adapters=adapters,
                intervals={adapter.name: interval_seconds for adapter in adapters},
                http=None,
                clock=clock,
                holder=holder,
                metrics=metrics,
            )
        )
        return made[-1]

    yield make
    for refresher in made:
        refresher.stop()


def test_two_processes_and_three_windows_give_three_calls(refresher_of, fake, offers_of, clock):
    # behaviour 24
    adapter = fake(batch=Batch(offers=offers_of(3)))
    one, two = refresher_of("one", adapter), refresher_of("two", adapter)
    for _ in range(3):
        for refresher in (one, two, one, two):
            refresher.refresh_window("fake")
        clock.pass_(minutes=5)
    assert adapter.calls == 3


def test_the_next_process_takes_over_when_the_leader_is_gone(refresher_of, fake, offers_of, clock):
    adapter = fake(batch=Batch(offers=offers_of(3)))
    one, two = refresher_of("one", adapter), refresher_of("two", adapter)
    assert one.refresh_window("fake").outcome == "complete"
    clock.pass_(minutes=5)  # one was killed: it renews no more
    assert two.refresh_window("fake").outcome == "complete"
    assert one.refresh_window("fake") is None
    assert adapter.calls == 2


def test_a_stopped_process_gives_the_lead_up_at_once(refresher_of, clock):
    one, two = refresher_of("one"), refresher_of("two")
    assert one.lead() is not None
    assert two.lead() is None
    one.stop()
    assert two.lead() is not None


def test_a_failed_refresh_leaves_the_interval_open_and_the_next_success_closes_it(refresher_of, fake, offers_of):
    adapter = fake(batch=Batch(offers=offers_of(3)), error=ProviderUnavailable("fake", "503"))
    refresher = refresher_of("one", adapter)
    assert refresher.refresh_window("fake").outcome == "failed"
    adapter.error = None
    assert refresher.refresh_window("fake").outcome == "complete"
    assert refresher.refresh_window("fake") is None


def test_a_provider_that_asks_for_time_gets_it(refresher_of, fake, clock):
    adapter = fake(error=ProviderRateLimited("fake", "429", retry_after=timedelta(seconds=600)))
    refresher = refresher_of("one", adapter)
    refresher.refresh_window("fake")
    clock.pass_(seconds=599)
    assert refresher.refresh_window("fake") is None
    clock.pass_(seconds=1)
    assert refresher.refresh_window("fake") is not None
    assert adapter.calls == 2


def test_refused_credentials_stop_the_schedule_until_a_refresh_by_hand_works(refresher_of, fake, offers_of, clock):
    adapter = fake(batch=Batch(offers=offers_of(3)), error=ProviderCredentials("fake", "401"))
    refresher = refresher_of("one", adapter)
    refresher.refresh_window("fake")
    clock.pass_(minutes=5)
    assert refresher.refresh_window("fake") is None
    adapter.error = None
    assert refresher.refresh_by_hand("fake").outcome == "complete"
    clock.pass_(minutes=5)
    assert refresher.refresh_window("fake").outcome == "complete"


def test_a_broken_adapter_is_a_failure_of_that_feed_only(engine, refresher_of, fake):
    refresher = refresher_of("one", fake(error=ZeroDivisionError("a mistake of ours")))
    result = refresher.refresh_window("fake")
    assert (result.outcome, result.error) == ("failed", "internal")
    with reading(engine) as connection:
        assert feeds.feed_states(connection)[("fake", "")]["detail"] == "fake: ZeroDivisionError"


def test_refreshes_are_counted(refresher_of):
    metrics = Metrics()
    refresher_of("one", metrics=metrics).refresh_window("fake")
    text = generate_latest(metrics.registry).decode()
    assert 'gpuplan_refreshes_total{feed="fake",outcome="complete"} 1.0' in text
    assert "gpuplan_refresher_leads 1.0" in text


def test_missed_intervals_give_one_run_and_a_late_one_is_not_dropped(refresher_of, fake, offers_of, clock):
    # behaviour 26: the run was due 2.5 intervals ago (the loop was blocked), two more came due meanwhile
    metrics, seen = Metrics(), threading.Event()

    class Told(fake):
        def fetch(self, http):
            super().fetch(http)
            seen.set()

    adapter = Told(batch=Batch(offers=offers_of(3)))
    refresher = refresher_of("one", adapter, interval_seconds=3600, metrics=metrics)
    refresher.scheduler.remove_job("fake-first")
    refresher.scheduler.start(paused=True)
    refresher.scheduler.modify_job("fake", next_run_time=datetime.now(UTC) - timedelta(seconds=2.5 * 3600))
    refresher.scheduler.resume()
    assert seen.wait(timeout=10)
    refresher.stop()
    assert adapter.calls == 1
    assert 'event="missed"' not in generate_latest(metrics.registry).decode()


def test_the_grace_of_every_feed_is_at_least_its_interval(refresher_of):
    jobs = {job.id: job for job in refresher_of("one", interval_seconds=3600).scheduler.get_jobs()}
    assert jobs["fake"].misfire_grace_time == 3600
    assert jobs["fake"].trigger.interval == timedelta(seconds=3600)


def test_an_adapter_without_its_key_is_not_scheduled(refresher_of, fake):
    refresher = refresher_of("one", fake(missing="the key is not set"))
    assert not {"fake", "fake-first"} & {job.id for job in refresher.scheduler.get_jobs()}


def test_a_started_refresher_runs_each_adapter_now_and_stops_cleanly(refresher_of, fake, offers_of):
    began = threading.Event()

    class Told(fake):
        def fetch(self, http):
            super().fetch(http)
            began.set()

    refresher = refresher_of("one", Told(batch=Batch(offers=offers_of(3))), interval_seconds=86_400)
    refresher.start()
    assert began.wait(timeout=10)
    refresher.stop()
    assert not refresher.scheduler.running


def test_a_job_runs_once_and_tells_its_result(engine, refresher_of, clock):
    refresher = refresher_of("one")
    job_id = enqueue_refresh(engine, "fake", clock)
    assert enqueue_refresh(engine, "fake", clock) == job_id  # the same question while it waits
    assert job_status(engine, job_id)["status"] == "queued"
    refresher.lead()
    assert refresher.work() == 1
    done = job_status(engine, job_id)
    assert (done["status"], done["result"]["new"], done["progress"], done["problem"]) == ("succeeded", 3, 1.0, None)
    assert refresher.work() == 0


def test_a_job_for_nobody_fails_with_the_reason(engine, refresher_of, clock):
    refresher = refresher_of("one")
    job_id = enqueue_refresh(engine, "nobody", clock)
    refresher.lead()
    refresher.work()
    assert job_status(engine, job_id)["problem"]["code"] == UnknownFeed.code


def test_a_job_that_ran_when_its_process_died_is_failed_by_the_next_leader(engine, clock):
    keeper = LeaseKeeper(engine, "one", clock)
    job_id = enqueue_refresh(engine, "fake", clock)

    def dies(feed, accept):
        raise LeaseLost("killed")

    with pytest.raises(LeaseLost):
        run_next_job(engine, keeper.acquire(), clock, dies)
    assert job_status(engine, job_id)["status"] == "running"
    clock.pass_(minutes=1)
    assert take_over_jobs(engine, keeper.acquire(), clock) == 1  # the same holder after a restart: a new number
    assert (job_status(engine, job_id)["status"], job_status(engine, job_id)["problem"]["code"]) == ("failed", "interrupted")


def test_a_refresher_that_begins_to_lead_ends_what_the_last_one_left(engine, refresher_of, clock):
    job_id = enqueue_refresh(engine, "fake", clock)

    def dies(feed, accept):
        raise LeaseLost("killed")

    with pytest.raises(LeaseLost):
        run_next_job(engine, LeaseKeeper(engine, "dead", clock).acquire(), clock, dies)
    clock.pass_(minutes=1)
    refresher_of("one").lead()
    assert job_status(engine, job_id)["status"] == "failed"


def test_a_waiting_job_outlives_a_restart(engine, clock):
    job_id = enqueue_refresh(engine, "fake", clock)
    first = LeaseKeeper(engine, "one", clock)
    first.release(first.acquire())
    second = LeaseKeeper(engine, "two", clock).acquire()
    take_over_jobs(engine, second, clock)
    assert run_next_job(engine, second, clock, lambda feed, accept: RefreshResult(feed=feed, outcome="complete")) == job_id


def test_a_cancelled_job_stays_cancelled(engine, clock):
    lease = LeaseKeeper(engine, "one", clock).acquire()
    waiting = enqueue_refresh(engine, "fake", clock)
    assert cancel_job(engine, waiting, clock)["status"] == "cancelled"
    assert run_next_job(engine, lease, clock, lambda feed, accept: RefreshResult(feed=feed, outcome="complete")) is None
    running = enqueue_refresh(engine, "fake", clock)

    def cancelled_meanwhile(feed, accept):
        cancel_job(engine, running, clock)
        return RefreshResult(feed=feed, outcome="complete")

    run_next_job(engine, lease, clock, cancelled_meanwhile)
    assert job_status(engine, running)["status"] == "cancelled"


def test_an_unknown_job_is_said_so(engine):
    with pytest.raises(UnknownJob):
        job_status(engine, "none")
