"""CPU seconds and memory of cold commands on a stored catalogue of 100,000 offers, and until `gpuplan serve` is ready.

Run: python tests/bench/bench_cold.py [offers] [times]   -> one JSON line per command
The catalogue is stored by the refresh flow into a SQLite file, one feed per provider; each command is a process of its
own, measured by what the kernel says of it when it ends (user and system CPU, peak resident memory).
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import catalogue
import httpx

from providers.base import Adapter, Json
from providers.offer import Batch, Offer
from service.flows.refresh import RefreshRun, refresh_feed
from service.store.engine import make_engine
from service.store.lease import LeaseKeeper
from service.store.schema import prepare_database

RUN = (sys.executable, "-c", "from service.cli import main; main()")
PLAN = ("plan", "--model", "llama-3.1-8b", "--technique", "lora", "--tokens", "50M", "--sensitivity", "internal")
COMMANDS = {
    "help": ("--help",),
    "plan": PLAN,
    "plan --json": (*PLAN, "--json"),
    "offers": ("offers", "--gpu", "H100"),
    "offers --json": ("offers", "--gpu", "H100", "--json"),
}
LIMITS = {"help": (0.3, 150), "plan": (1.0, 150), "plan --json": (1.0, 150), "offers": (1.0, 150), "offers --json": (1.0, 150)}
READY_SECONDS = 3.0


@dataclass(frozen=True)
class Listed(Adapter):
    """Gives the offers that it was made with; a subclass is named after their feed."""

    name: ClassVar[str] = "bench"
    offers: tuple[Offer, ...] = ()

    def fetch(self, http: httpx.Client) -> Json:
        return None

    def parse(self, payload: Json, observed_at: Any) -> Batch:
        return Batch(offers=self.offers, row_count=len(self.offers))


def stored(url: str, count: int) -> None:
    """Writes the catalogue into the database; feeds are named so that no setting of an adapter leaves them out."""
    feeds: dict[str, list[Offer]] = {}
    distinct = {offer.offer_id: offer for offer in catalogue.offers(3 * count)}  # the catalogue repeats some offers
    if len(distinct) < count:
        raise SystemExit(f"the catalogue has only {len(distinct)} different offers")
    for offer in list(distinct.values())[:count]:
        feeds.setdefault(f"bench-{offer.feed}", []).append(offer)
    engine = make_engine(url)
    prepare_database(engine)
    lease = LeaseKeeper(engine, "bench", lambda: catalogue.OBSERVED_AT).acquire()
    assert lease is not None
    run = RefreshRun(engine=engine, clock=lambda: catalogue.OBSERVED_AT, lease=lease, interval_seconds=300)
    for name, offers in feeds.items():
        adapter = type("Named", (Listed,), {"name": name})(offers=tuple(replace(offer, feed=name) for offer in offers))
        result = refresh_feed(adapter, httpx.Client(), run)
        if result.new != len(offers):
            raise SystemExit(f"{name}: {result}")
    engine.dispose()


def used(arguments: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float, float]:
    """CPU seconds, peak MiB and wall seconds of one run."""
    began = time.perf_counter()
    child = subprocess.Popen([*RUN, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read() if child.stderr else b""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {child.returncode}: {error.decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.perf_counter() - began


def ready(environment: dict[str, str]) -> tuple[float, float, float]:
    """Wall seconds until /readyz answers 200, then CPU seconds and peak MiB of the server at its end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    began = time.perf_counter()
    server = subprocess.Popen(
        [*RUN, "serve", "--port", str(port)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        seconds = _answered(f"http://127.0.0.1:{port}/readyz", began)
    finally:
        server.terminate()
        _, _, usage = os.wait4(server.pid, 0)
        server.returncode = 0
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _answered(url: str, began: float) -> float:
    while time.perf_counter() - began < 60:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - loopback
                if answer.status == 200:
                    return time.perf_counter() - began
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise SystemExit("the service was not ready within a minute")


def main() -> None:
    if len(sys.argv) == 4:
        stored(sys.argv[3], int(sys.argv[1]))
        return
    count, times = (int(argument) for argument in (*sys.argv[1:], *("100000", "5")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'prices.db'}"
        # in a process of its own: a child's peak begins at the memory of the process that it is forked from
        subprocess.run([sys.executable, __file__, str(count), str(times), url], check=True)
        environment = {**os.environ, "GPUPLAN_DATABASE_URL": url, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed command is compiled once
        for name, arguments in COMMANDS.items():
            used(arguments, environment)  # compiles
            runs = [used(arguments, environment) for _ in range(times)]
            cpu, memory = min(run[0] for run in runs), max(run[1] for run in runs)
            most_cpu, most_memory = LIMITS[name]
            print(
                json.dumps({
                    "command": name, "offers": count, "cpu_seconds_min": round(cpu, 3),
                    "cpu_seconds_median": round(statistics.median(run[0] for run in runs), 3),
                    "wall_seconds_min": round(min(run[2] for run in runs), 3), "peak_mib": round(memory, 1),
                    "within": cpu <= most_cpu and memory <= most_memory,
                }),
                flush=True,
            )  # fmt: skip
        ready(environment)
        best = min(ready(environment) for _ in range(3))
        figures = {"command": "serve", "ready_seconds_min": round(best[0], 3), "within": best[0] <= READY_SECONDS}
        print(json.dumps({**figures, "cpu_seconds": round(best[1], 3), "peak_mib": round(best[2], 1)}), flush=True)


if __name__ == "__main__":
    main()
