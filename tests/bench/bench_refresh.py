"""CPU seconds of a refresh of 100,000 offers: first load, unchanged, 5 % changed. Run it, pytest does not.

python tests/bench/bench_refresh.py [offers] [database URL]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import httpx

from providers.base import Adapter, Json
from providers.offer import Batch, CapacityType, Offer, Tenancy
from service.flows.refresh import RefreshRun, refresh_feed
from service.store.engine import make_engine
from service.store.lease import LeaseKeeper
from service.store.schema import prepare_database

START = datetime(2026, 9, 1, tzinfo=UTC)
CARDS = ("H100-SXM5-80GB", "A100-SXM4-80GB", "L4", "L40S", "RTX-4090", "T4", "A10", "H200-SXM-141GB")


@dataclass(frozen=True)
class Listed(Adapter):
    """Gives the offers that it was made with."""

    name: ClassVar[str] = "bench"
    offers: tuple[Offer, ...] = ()

    def fetch(self, http: httpx.Client) -> Json:
        return None

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        return Batch(offers=self.offers, row_count=len(self.offers))


def make_offers(count: int) -> tuple[Offer, ...]:
    return tuple(
        Offer(
            feed="bench",
            provider="bench",
            tier="standard",
            instance_type=f"type-{number % 997}",
            gpu=CARDS[number % len(CARDS)],
            gpu_count=2 ** (number % 4),
            capacity_type=CapacityType.SPOT if number % 2 else CapacityType.ON_DEMAND,
            tenancy=Tenancy.HYPERSCALER,
            region=f"region-{number}",
            country="US",
            usd_per_hour=Decimal(100 + number % 900) / 100,
            gpu_memory_gb=80,
            vcpus=16.0,
            memory_gib=128.0,
            source="made for the benchmark",
            observed_at=START,
        )
        for number in range(count)
    )


def measured(name: str, work: Callable[[], Any]) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    print(f"{name:12} {time.process_time() - cpu:6.2f} s CPU {time.perf_counter() - wall:6.2f} s wall   {result}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        engine = make_engine(sys.argv[2] if len(sys.argv) > 2 else f"sqlite:///{Path(folder) / 'prices.db'}")
        prepare_database(engine)
        now = [START]
        lease = LeaseKeeper(engine, "bench", lambda: now[0]).acquire()
        assert lease is not None

        def refresh(offers: tuple[Offer, ...]) -> Any:
            now[0] += timedelta(minutes=5)
            run = RefreshRun(engine=engine, clock=lambda: now[0], lease=lease, interval_seconds=300)
            result = refresh_feed(Listed(offers), httpx.Client(), run)
            return f"{result.new} new, {result.changed} changed, {result.gone} gone, {result.unchanged} unchanged"

        first = make_offers(count)
        moved = tuple(
            replace(offer, usd_per_hour=offer.usd_per_hour * 2) if at % 20 == 0 else offer for at, offer in enumerate(first)
        )
        measured("first load", lambda: refresh(first))
        measured("unchanged", lambda: refresh(first))
        measured("5 % changed", lambda: refresh(moved))
        engine.dispose()


if __name__ == "__main__":
    main()
