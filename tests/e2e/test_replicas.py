"""Three API processes and two workers on one PostgreSQL: one fetch per window, a leader that is cut off or killed is
replaced within its lease, and every API process sees new prices within two seconds."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime

import httpx
import pytest
from sqlalchemy import create_engine, make_url, text

from service.flows.invariants import broken_invariants
from service.store.engine import make_engine
from tests.e2e.cable import Cable
from tests.e2e.fake_providers import LAMBDA_PATH, lambda_answer, serve_fake_providers

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
COMMAND = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())"]
INTERVAL_SECONDS, LEASE_SECONDS, SEEN_SECONDS = 3, 4, 2.0
OTHERS = ("RUNPOD", "VAST", "AWS", "AZURE", "GCP", "SAGEMAKER", "AZUREML", "VERTEX")


@pytest.fixture
def cluster(postgres_url, migrated_postgres, tmp_path_factory):
    """The running processes; the fake provider, the lines of the workers, and when it was asked."""
    from tests.conftest import _postgres_database

    with _postgres_database(postgres_url, template=migrated_postgres) as url, serve_fake_providers() as fakes:
        made = Cluster(url, fakes, tmp_path_factory.mktemp("lines"))
        try:
            made.start()
            yield made
        finally:
            made.stop()


class Cluster:
    def __init__(self, url, fakes, folder):
        self.url, self.fakes, self.folder = url, fakes, folder
        self.fetches, self.cents, self.processes, self.cables = [], 0, {}, {}
        self.engine = create_engine(url)
        fakes.answers[LAMBDA_PATH] = self._answer

    def _answer(self, request):
        self.fetches.append(time.time())
        answer = lambda_answer(request)
        for row in answer.body["data"].values() if isinstance(answer.body, dict) else ():
            row["instance_type"]["price_cents_per_hour"] += self.cents
        return answer

    def _environment(self, url):
        made = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
        made |= {f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in OTHERS}
        return made | {
            "GPUPLAN_DATABASE_URL": url.replace("postgresql+psycopg", "postgresql"),
            "GPUPLAN_LEASE_SECONDS": str(LEASE_SECONDS),
            "GPUPLAN_PROVIDERS__LAMBDA__API_KEY": "k",
            "GPUPLAN_PROVIDERS__LAMBDA__BASE_URL": self.fakes.lambda_url,
            "GPUPLAN_PROVIDERS__LAMBDA__INTERVAL_SECONDS": str(INTERVAL_SECONDS),
        }

    def _run(self, name, url, *arguments):
        with (self.folder / f"{name}.log").open("w") as told:
            self.processes[name] = subprocess.Popen([*COMMAND, *arguments], env=self._environment(url), stderr=told)

    def start(self):
        server = make_url(self.url).query["host"]
        for name in ("a", "b"):
            self.cables[name] = Cable(server, self.folder / name)
            self._run(name, self.url.replace(_quoted(server), _quoted(str(self.folder / name))), "worker")
        self.bases = []
        for number in range(3):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            self._run(f"api{number}", self.url, "serve", "--no-refresh", "--port", str(port))
            self.bases.append(f"http://127.0.0.1:{port}")
        for base in self.bases:
            wait(lambda base=base: answers(base), 120)
        wait(self.leader, 60)

    def stop(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.engine.dispose()

    def leader(self):
        """Which worker holds the lease now."""
        with self.engine.connect() as connection:
            query = "SELECT holder FROM leases WHERE name = 'refresher' AND expires_at > :now"
            holder = connection.execute(text(query), {"now": datetime.now(UTC)}).scalar()
        pid = int(holder.split(":")[1]) if holder else None
        return next((name for name in ("a", "b") if self.processes[name].pid == pid), None)

    def changed_at(self):
        with self.engine.connect() as connection:
            return connection.execute(text("SELECT changed_at FROM market_version")).scalar()


def _quoted(path):
    return path.replace("/", "%2F")


def answers(base):
    try:
        return httpx.get(f"{base}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def wait(until, seconds):
    """Seconds until it is so."""
    began = time.monotonic()
    while not until():
        assert time.monotonic() - began < seconds, "not in time"
        time.sleep(0.05)
    return time.monotonic() - began


def test_a_cluster_fetches_once_fails_over_and_tells_all(cluster):
    first = cluster.leader()
    other = {"a": "b", "b": "a"}[first]
    wait(lambda: cluster.fetches, 30)
    began, count = time.time(), len(cluster.fetches)
    time.sleep(3 * INTERVAL_SECONDS)
    windows = int(time.time() // INTERVAL_SECONDS) - int(began // INTERVAL_SECONDS) + 1
    assert 1 <= len(cluster.fetches) - count <= windows  # two workers, one fetch per window

    before = cluster.changed_at()
    cluster.cents += 100
    wait(lambda: cluster.changed_at() != before, 6 * INTERVAL_SECONDS)
    changed = cluster.changed_at()
    for base in cluster.bases:
        wait(
            lambda base=base: datetime.fromisoformat(httpx.get(f"{base}/readyz").json()["prices_as_of"]) >= changed, SEEN_SECONDS
        )

    cluster.cables[first].cut()
    wait(lambda: cluster.leader() == other, LEASE_SECONDS * 7 / 3)  # it may just have been renewed; a beat is a third of it
    count = len(cluster.fetches)
    wait(lambda: len(cluster.fetches) > count, 4 * INTERVAL_SECONDS)
    cluster.cables[first].mend()
    time.sleep(LEASE_SECONDS)
    assert cluster.leader() == other  # the old one is back and does not lead

    os.kill(cluster.processes[other].pid, signal.SIGKILL)
    wait(lambda: cluster.leader() == first, LEASE_SECONDS * 7 / 3)
    count = len(cluster.fetches)
    wait(lambda: len(cluster.fetches) > count, 4 * INTERVAL_SECONDS)

    for base in cluster.bases:
        plan = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}}
        assert (
            httpx.post(f"{base}/plan", content=json.dumps(plan), headers={"Content-Type": "application/json"}).status_code == 200
        )
    engine = make_engine(cluster.url)
    assert broken_invariants(engine) == []
    engine.dispose()
