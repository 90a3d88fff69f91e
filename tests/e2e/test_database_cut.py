"""The database goes away and comes back under load: plans go on from memory, the rest says so and comes back with it."""

import logging
import os
import threading
import time
from datetime import UTC, datetime

import pytest
from sqlalchemy import make_url
from starlette.testclient import TestClient

from service.api.app import create_app
from service.api.context import Context
from service.flows.invariants import broken_invariants
from service.flows.reference import ensure_reference_loaded
from service.flows.snapshot import SnapshotHolder
from service.logs import configure_logs
from service.metrics import Metrics
from service.settings import build_adapters, load_settings
from service.store.engine import make_engine
from tests.conftest import _postgres_database
from tests.e2e.cable import Cable

pytestmark = pytest.mark.postgres
PLAN = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}, "limit": 1}


@pytest.fixture
def cut_off(postgres_url, migrated_postgres, tmp_path_factory, monkeypatch):
    """The application over a database behind a line; the line; the database without it."""
    configure_logs(logging.CRITICAL)
    for name in [name for name in os.environ if name.startswith("GPUPLAN_")]:
        monkeypatch.delenv(name)
    with _postgres_database(postgres_url, template=migrated_postgres) as url:
        server = make_url(url).query["host"]
        cable = Cable(server, tmp_path_factory.mktemp("line") / "s")
        engine = make_engine(url.replace(server.replace("/", "%2F"), str(cable.folder).replace("/", "%2F")))
        [reference] = [one for one in build_adapters(load_settings()) if one.name == "reference"]
        ensure_reference_loaded(engine, reference, lambda: datetime.now(UTC), holder="test", interval_seconds=86400)
        snapshots = SnapshotHolder(engine, lambda: datetime.now(UTC), poll_seconds=0.1)
        snapshots.start()
        context = Context(
            clock=lambda: datetime.now(UTC), market=snapshots.market, engine=engine, metrics=Metrics(), poll=snapshots.poll
        )
        yield TestClient(create_app(context)), cable, url
        snapshots.stop()
        engine.dispose()


def test_plans_go_on_while_the_database_is_away(cut_off):
    client, cable, url = cut_off
    seen, ended = [], threading.Event()

    def ask(number):
        while not ended.is_set():
            saves = number % 2 == 0
            body = {**PLAN, "save": {"name": f"p{number}", "owner": "t", "note": ""}} if saves else PLAN
            seen.append((saves, cable.is_cut, client.post("/plan", json=body).status_code, cable.is_cut))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    cable.cut()
    time.sleep(1.5)
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200
    assert "gpuplan_database_up 0.0" in client.get("/metrics").text
    cable.mend()
    time.sleep(1.5)
    ended.set()
    for thread in threads:
        thread.join()

    assert {status for saves, _, status, _ in seen if not saves} == {200}
    saving = {(before, after): set() for before in (False, True) for after in (False, True)}
    for saves, before, status, after in seen:
        if saves:
            saving[before, after].add(status)
    assert saving[True, True] <= {503}
    assert saving[False, False] <= {200, 503}  # begun just before the cut and told after it was mended
    assert all(statuses <= {200, 503} for statuses in saving.values())
    assert client.get("/readyz").status_code == 200
    assert client.post("/plan", json={**PLAN, "save": {"name": "after", "owner": "t", "note": ""}}).status_code == 200
    engine = make_engine(url)
    assert broken_invariants(engine) == []
    engine.dispose()
