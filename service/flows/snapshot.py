"""Snapshot: the market in memory, rebuilt only where it changed and swapped in one assignment."""

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from service.domain.access import ApiKey
from service.domain.request import OnPremPool
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.flows.standing import standing_of
from service.flows.status import FeedSetting, statuses_of
from service.solver.columns import FeedColumns, unpack
from service.solver.market import FeedStatus, Market
from service.solver.tables import MedianKey, PriceMedian
from service.store.snapshot_rows import StoredMarket, StoredVersion, cold_connection, read_market, read_version

if TYPE_CHECKING:
    from sqlalchemy import Engine

POLL_SECONDS = 1.0
NO_VERSION = StoredVersion(version=-1, status_version=-1, changed_at=None, medians_for=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One market with the pools and stored states that belong to it. Never written to after it is made."""

    market: Market
    pools: Mapping[str, OnPremPool]
    at: StoredVersion = NO_VERSION
    states: tuple[Mapping[str, Any], ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)  # of each feed's columns
    keys: Mapping[str, ApiKey] = field(default_factory=dict)  # who may ask, by the public part of the key


def snapshot_id(version: int, changed_at: datetime | None) -> str:
    """Names one state of the prices: its number and the instant at which it began."""
    return f"{version}-{int(changed_at.timestamp() * 1_000_000):x}" if changed_at else f"{version}-0"


def build_snapshot(
    stored: StoredMarket,
    before: Snapshot | None,
    known: Mapping[str, FeedSetting],
    *,
    now: datetime,
    left_out: Collection[str] = (),
    calibration: Calibration = UNCALIBRATED,
) -> Snapshot:
    """The snapshot of these rows; columns of feeds whose version is the same are taken over as they are."""
    columns: dict[str, FeedColumns] = {}
    held = {} if before is None else dict(zip(before.market.feed_names, before.market.feeds, strict=True))
    for feed in stored.packed_versions:
        if feed not in left_out:
            columns[feed] = unpack(stored.packed[feed]) if feed in stored.packed else held[feed]
    statuses = tuple(s for s in statuses_of(stored.states, known, now=now) if s.name not in left_out or s.name in known)
    if before is not None and before.at.version == stored.at.version:
        market = replace(before.market, statuses=statuses)
    else:
        market = Market.build(
            columns,
            statuses,
            snapshot_id=snapshot_id(stored.at.version, stored.at.changed_at),
            as_of=stored.at.changed_at,
            medians=_medians(stored.medians),
            calibration=calibration,
            standing=standing_of(stored.standing),
        )
    pools = {name: OnPremPool.model_validate(pool, strict=False) for name, pool in stored.pools.items()}
    versions = {feed: stored.packed_versions[feed] for feed in columns}
    return Snapshot(market=market, pools=pools, at=stored.at, states=stored.states, versions=versions, keys=stored.keys)


def load_snapshot_cold(
    database_url: str, *, now: datetime, left_out: Collection[str] = (), calibration: Calibration = UNCALIBRATED
) -> Snapshot:
    """The snapshot for one command, without engine, ORM or adapters.

    Raises:
        SchemaOutdated: there is no database yet, or an older one.
        SchemaTooNew: a newer version wrote it.
    """
    with cold_connection(database_url) as connection:
        stored = read_market(connection, {})
    return build_snapshot(stored, None, {}, now=now, left_out=left_out, calibration=calibration)


def load_market_cold(database_url: str, *, now: datetime, left_out: Collection[str] = ()) -> Market:
    """The market alone; see `load_snapshot_cold`."""
    return load_snapshot_cold(database_url, now=now, left_out=left_out).market


class SnapshotHolder:
    """Holds the newest snapshot. A thread polls the version row; readers only follow a reference."""

    def __init__(
        self,
        engine: "Engine",
        clock: Callable[[], datetime],
        known: Mapping[str, FeedSetting] | None = None,
        *,
        poll_seconds: float = POLL_SECONDS,
        calibration: Calibration = UNCALIBRATED,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._known = dict(known or {})
        self._left_out = frozenset(name for name, setting in self._known.items() if not setting.enabled)
        self._poll_seconds = poll_seconds
        self.calibration = calibration
        self._current: Snapshot | None = None
        self._polling = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.last_error: str | None = None  # class of the last failed poll; None after a good one

    def current(self) -> Snapshot | None:
        """The newest snapshot; None before the first poll."""
        return self._current

    def market(self) -> Market | None:
        """The newest market; None before the first poll."""
        return None if self._current is None else self._current.market

    def pools(self) -> Mapping[str, OnPremPool]:
        """The stored pools of the newest snapshot."""
        return {} if self._current is None else self._current.pools

    def keys(self) -> Mapping[str, ApiKey]:
        """The API keys of the newest snapshot."""
        return {} if self._current is None else self._current.keys

    def statuses(self) -> tuple[FeedStatus, ...]:
        """Every adapter's status as it is now: staleness grows also while nothing is written."""
        states = () if self._current is None else self._current.states
        return statuses_of(states, self._known, now=self._clock())

    def poll(self) -> bool:
        """Reads the version row and, if it moved, what changed; True when the snapshot was swapped."""
        with self._polling:
            before = self._current
            connection = self._engine.raw_connection()
            try:
                at = read_version(connection)
                connection.rollback()
                if before is not None and at == before.at:
                    return False
                stored = read_market(connection, {} if before is None else before.versions)
            finally:
                connection.close()
            self._current = build_snapshot(
                stored, before, self._known, now=self._clock(), left_out=self._left_out, calibration=self.calibration
            )
            return True

    def start(self) -> None:
        """Polls once, then in a thread until `stop`."""
        self.poll()
        self._thread = threading.Thread(target=self._run, name="snapshot", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        import structlog

        log = structlog.get_logger("snapshot")
        while not self._stop.wait(self._poll_seconds):
            try:
                self.poll()
                self.last_error = None
            except Exception as error:  # noqa: BLE001 - the thread lives on: the last snapshot still answers
                self.last_error = type(error).__name__
                log.warning("snapshot_poll_failed", error=self.last_error)


def _medians(rows: Collection[tuple[Any, ...]]) -> dict[MedianKey, PriceMedian]:
    return {
        (provider, gpu, capacity_type, region_class): PriceMedian(
            usd_per_gpu_hour=usd, days=days, low_usd_per_gpu_hour=low, high_usd_per_gpu_hour=high
        )
        for provider, gpu, capacity_type, region_class, usd, low, high, days in rows
    }
