"""Refreshes one feed again and again in a child that is killed at a random moment, and checks the database after each kill.

usage: python tests/store/kill_refreshes.py DATABASE_URL KILLS SEED   -> one JSON line

Every offer is listed by every refresh, each at a price one dollar above the last. So the intervals of each offer must be
1, 2, 3, ... dollars, each ending where the next begins: a lost, doubled or half-written one is seen at once.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy import select

from providers.base import Adapter
from providers.offer import Batch, CapacityType, Offer, Tenancy
from service.flows.invariants import broken_invariants
from service.flows.refresh import RefreshRun, refresh_feed
from service.store import feeds
from service.store.engine import make_engine, reading
from service.store.lease import LeaseKeeper
from service.store.tables import CurrentPrice, PriceHistory

OFFERS = 80
LIFE_IN_REFRESHES = 4  # the longest life of a child, in refreshes as long as they take on this machine
OFFER = Offer(
    feed="killed", provider="killed", tier="standard", instance_type="a", gpu="H100-SXM5-80GB", gpu_count=8,
    capacity_type=CapacityType.SPOT, tenancy=Tenancy.PROVIDER_DATACENTER, region="us-1", country="US",
    usd_per_hour=Decimal(1), gpu_memory_gb=80, observed_at=datetime(2026, 9, 1, tzinfo=UTC),
)  # fmt: skip


@dataclass(frozen=True)
class Dearer(Adapter):
    """Lists every offer at the price it is given."""

    name: ClassVar[str] = "killed"
    usd: int = 1

    def fetch(self, http):
        return None

    def parse(self, payload, observed_at):
        offers = (replace(OFFER, instance_type=f"t{at}", usd_per_hour=Decimal(self.usd)) for at in range(OFFERS))
        return Batch(offers=tuple(replace(offer, observed_at=observed_at) for offer in offers), row_count=OFFERS)


def refresh_until_killed(url, told):
    """The child: takes the lease, tells that it begins and of each refresh that ended, and never ends by itself."""
    engine = make_engine(url)
    keeper = LeaseKeeper(engine, f"child-{os.getpid()}", lambda: datetime.now(UTC), ttl=timedelta(milliseconds=1))
    while (lease := keeper.acquire()) is None:  # a paused or killed holder keeps it for a millisecond
        time.sleep(0.001)
    os.write(told, b"x")
    while True:
        with reading(engine) as connection:
            usd = feeds.market_version(connection).version + 1
        run = RefreshRun(engine=engine, clock=lambda: datetime.now(UTC), lease=lease, interval_seconds=300, accept=True)
        refresh_feed(Dearer(usd), None, run)
        os.write(told, b"r")


def wrong_chains(engine):
    """Offers whose intervals are not 1, 2, 3, ... dollars without a gap."""
    intervals = {}
    with reading(engine) as connection:
        version = feeds.market_version(connection).version
        for table in (PriceHistory.__table__, CurrentPrice.__table__):
            ends = table.c.valid_to if "valid_to" in table.c else None
            columns = [table.c.offer_id, table.c.valid_from, table.c.micro_usd_per_hour, *([] if ends is None else [ends])]
            for row in connection.execute(select(*columns)):
                intervals.setdefault(row[0], []).append((row[1], row[3] if ends is not None else None, row[2] // 10**6))
    wrong = 0
    for chain in intervals.values():
        chain.sort()
        joined = all(before[1] == after[0] for before, after in pairwise(chain))
        wrong += not joined or [usd for *_, usd in chain] != list(range(1, version + 1)) or chain[-1][1] is not None
    return wrong + abs(len(intervals) - OFFERS * bool(version)), version


def born(url):
    """A child that has begun to refresh, and the pipe that it tells on."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        refresh_until_killed(url, told)
    os.close(told)
    assert os.read(heard, 1) == b"x", "the child did not begin"
    return child, heard


def killed(child, heard):
    """Ends a child in the middle of whatever it does."""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(heard)
    assert os.WTERMSIG(status) == signal.SIGKILL


def longest_life_seconds(url):
    """So long that a child that lives it through ends some refreshes, however slow the machine is."""
    child, heard = born(url)
    began = time.perf_counter()
    for _ in range(LIFE_IN_REFRESHES):
        assert os.read(heard, 1) == b"r", "the child did not refresh"
    life = time.perf_counter() - began
    killed(child, heard)
    return life


def main():
    url, kills = sys.argv[1], int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]))  # noqa: S311 - moments of kills, no secret
    wrong, broken, versions = 0, [], []
    longest = longest_life_seconds(url)
    for _ in range(kills):
        child, heard = born(url)
        time.sleep(rng.uniform(0, longest))
        killed(child, heard)
        engine = make_engine(url)
        broken += [one.invariant for one in broken_invariants(engine)]
        found, version = wrong_chains(engine)
        wrong += found
        versions.append(version)
        engine.dispose()
    during = versions[-1] - LIFE_IN_REFRESHES
    print(json.dumps({"kills": kills, "wrong_offers": wrong, "broken_invariants": broken, "refreshes": during}))


if __name__ == "__main__":
    main()
