"""Main: reads settings, makes the clock, builds everything, and runs until a signal ends it."""

import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import uuid4

import httpx
import uvicorn
from fastapi import FastAPI
from prometheus_client import start_http_server
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from providers.errors import OptimizerError
from providers.http import make_client
from service.api.app import VERSION, create_app
from service.api.context import Context
from service.chat.doors import ChatDoors, build_doors
from service.chat.watcher import Watcher
from service.flows.calibration import load_calibration
from service.flows.chat import ChatWorld, LastPlans
from service.flows.keys import LastUses
from service.flows.model_lookup import model_lookup
from service.flows.reference import ensure_reference_loaded
from service.flows.saved_plans import SavedPlans
from service.flows.snapshot import SnapshotHolder
from service.flows.standing import keep_policy, load_policy
from service.flows.status import FeedSetting, feed_settings
from service.logs import configure_logs
from service.metrics import Metrics
from service.opening import access_of
from service.reports.runner import ReportRunner
from service.settings import Settings, build_adapters, interval_seconds
from service.slow_clients import protocol_with
from service.store.engine import make_engine
from service.store.schema import prepare_database
from service.usage_poller import UsagePoller
from service.web.context import WebContext
from service.web.site import add_pages
from service.worker import Refresher

GARBAGE: Final = (20_000, 20, 20)  # objects and rounds until the collector looks: one answer makes 3,000 that need no look
STOP_SECONDS: Final = 10.0  # how long a running refresh may go on after the signal
_EXAMPLE: Final = '{"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}}'


class CannotListen(OptimizerError):
    """The address is taken or not ours."""

    code = "cannot-listen"


@dataclass(frozen=True, slots=True)
class Parts:
    """What both long-running processes are made of."""

    engine: Engine
    known: dict[str, FeedSetting]
    metrics: Metrics
    snapshots: SnapshotHolder
    http: httpx.Client
    chat: ChatDoors
    uses: LastUses
    holder: str  # names this process in the lease


def now_utc() -> datetime:
    """The clock of the service."""
    return datetime.now(UTC)


def serve(settings: Settings, *, refresh: bool = True) -> None:
    """Answers requests until a signal comes; with `refresh` it also keeps the prices fresh.

    Raises:
        CannotListen: the address is taken.
        SchemaTooNew: a newer version wrote the database.
    """
    configure_logs()
    listener = _bound(settings.host, settings.port)
    _tell(settings, listener)
    with listener, open_parts(settings) as parts:
        app = build_app(settings, parts)
        refresher = make_refresher(settings, parts) if refresh else None
        usage = None if refresher is None else make_usage_poller(settings, parts, refresher)
        watcher = Watcher(parts.chat)
        watcher.start()
        reports = ReportRunner(parts.engine, now_utc, holder=parts.holder)
        reports.start()
        settle()
        if refresher is not None and usage is not None:  # last: what it reads must not delay the first answer
            refresher.start()
            usage.start()
        parts.uses.start()
        _Server(server_config(app, settings), refresher, parts.http).run(sockets=[listener])
        if usage is not None:
            usage.stop()
        parts.uses.stop()
        reports.stop()
        watcher.stop()


def work(settings: Settings) -> None:
    """Keeps the prices fresh until a signal comes; of any number of workers one is elected."""
    configure_logs()
    with open_parts(settings) as parts:
        refresher = make_refresher(settings, parts)
        usage = make_usage_poller(settings, parts, refresher)
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        refresher.start()
        if settings.metrics_port is not None:
            start_http_server(settings.metrics_port, settings.host, parts.metrics.registry)
        usage.start()
        ended.wait()
        usage.stop()
        _stop(refresher, parts.http)


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How the server treats connections: a proxy is believed only where a setting names it."""
    proxies = list(settings.access.trusted_proxies)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        http=protocol_with(settings.limits.header_seconds),
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
    )


def build_app(settings: Settings, parts: Parts) -> FastAPI:
    """The REST doors over these parts.

    Raises:
        DoorWouldBeOpen: the address is reachable from other machines, and nothing would ask for a key.
    """
    access = access_of(settings, parts.snapshots.keys, now_utc, note_use=parts.uses.note, http=parts.http)
    context = Context(
        clock=now_utc,
        market=parts.snapshots.market,
        engine=parts.engine,
        metrics=parts.metrics,
        known=parts.known,
        statuses=parts.snapshots.statuses,
        poll=parts.snapshots.poll,
        pools=parts.snapshots.pools,
        default_sensitivity=settings.default_sensitivity,
        calibration=parts.snapshots.calibration,
        models=model_lookup(settings.huggingface, parts.http),
        chat=parts.chat,
        access=access,
        request_seconds=settings.limits.request_seconds,
        body_seconds=settings.limits.body_seconds,
    )
    app = create_app(context)
    add_pages(app, pages_of(context))
    return app


def pages_of(context: Context) -> WebContext:
    """What the web page reads: the same prices, database and clock as the REST doors."""
    return WebContext(
        clock=context.clock,
        market=context.market,
        engine=context.engine,
        known=context.known,
        statuses=context.statuses,
        pools=context.pools,
        default_sensitivity=context.default_sensitivity,
        calibration=context.calibration,
    )


@contextlib.contextmanager
def open_parts(settings: Settings) -> Iterator[Parts]:
    """The database at its schema, the reference prices in it, and the first snapshot in memory."""
    engine = make_engine(settings.database_url)
    policy = load_policy(settings.policy_path)
    prepare_database(engine)
    keep_policy(engine, policy, now=now_utc())
    holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    known = feed_settings(settings)
    for adapter in build_adapters(settings):
        if adapter.is_shipped:
            every = interval_seconds(settings, adapter)
            ensure_reference_loaded(engine, adapter, now_utc, holder=holder, interval_seconds=every)
    snapshots = SnapshotHolder(engine, now_utc, known, calibration=load_calibration(settings.calibration_path))
    snapshots.start()
    try:
        with make_client() as http, contextlib.closing(make_chat(settings, engine, snapshots)) as chat:
            yield Parts(engine, known, Metrics(), snapshots, http, chat, LastUses(engine, now_utc), holder)
    finally:
        snapshots.stop()
        engine.dispose()


def make_chat(settings: Settings, engine: Engine, snapshots: SnapshotHolder) -> ChatDoors:
    """The doors of chat, with the platforms whose secret is set."""
    world = ChatWorld(
        clock=now_utc,
        market=snapshots.market,
        engine=engine,
        last_plans=LastPlans(now_utc),
        pools=snapshots.pools,
        statuses=snapshots.statuses,
        default_sensitivity=settings.default_sensitivity,
        public_url=settings.chat.public_url,
        saved=SavedPlans(engine),
    )
    return build_doors(world, settings.chat)


def make_usage_poller(settings: Settings, parts: Parts, refresher: Refresher) -> UsagePoller:
    """Measures the stored pools where a Prometheus server is set, in the process that leads."""
    return UsagePoller(
        engine=parts.engine,
        http=parts.http,
        settings=settings.prometheus,
        pools=parts.snapshots.pools,
        clock=now_utc,
        leads=lambda: refresher.lead() is not None,
    )


def make_refresher(settings: Settings, parts: Parts) -> Refresher:
    """The refresher of every enabled adapter; it does nothing before it is started or asked."""
    adapters = build_adapters(settings)
    return Refresher(
        engine=parts.engine,
        adapters=adapters,
        intervals={adapter.name: interval_seconds(settings, adapter) for adapter in adapters},
        http=parts.http,
        clock=now_utc,
        holder=parts.holder,
        metrics=parts.metrics,
        on_change=parts.snapshots.poll,
        lease_ttl=timedelta(seconds=settings.lease_seconds),
    )


def settle() -> None:
    """Tells the garbage collector that what is there now stays: it looks only at what requests make."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


class _Server(uvicorn.Server):
    """Stops the refresher before it lets the last requests end."""

    def __init__(self, config: uvicorn.Config, refresher: Refresher | None, http: httpx.Client) -> None:
        super().__init__(config)
        self._refresher, self._http = refresher, http

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """The refresher first: it must not begin anything new."""
        if self._refresher is not None:
            await run_in_threadpool(_stop, self._refresher, self._http)
        await super().shutdown(sockets)


def _stop(refresher: Refresher, http: httpx.Client) -> None:
    """Ends the refresher; a download that does not end in time is broken off (its last good prices stay)."""
    stopping = threading.Thread(target=refresher.stop, daemon=True)
    stopping.start()
    stopping.join(STOP_SECONDS)
    if stopping.is_alive():
        http.close()
        stopping.join(STOP_SECONDS)


def _bound(host: str, port: int) -> socket.socket:
    """A socket that has the address and does not listen yet: nobody is answered before the prices are loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host.strip("[]"), port))
    except OSError as error:
        bound.close()
        raise CannotListen(f"cannot listen on {host}, port {port} ({error.strerror}): choose another with --port") from error
    return bound


def _tell(settings: Settings, listener: socket.socket) -> None:
    """The first lines: where the docs are, and a request that works."""
    host, port = listener.getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    lines = (
        f"gpuplan {VERSION}: page at {base}/, docs at {base}/docs, prices in {settings.database_shown}",
        f"Try: curl -s {base}/plan -H 'Content-Type: application/json' -d '{_EXAMPLE}'",
    )
    print(*lines, sep="\n", file=sys.stderr, flush=True)
