"""Requests per second of POST /plan against an endpoint of the same app that checks the same body and answers a constant.

Run: python tests/bench/bench_api.py [--offers 100000] [--requests 2000]
Every body differs (`tokens` grows), so that no cache of answers could serve it. The server is a process of its own on
loopback; both endpoints are asked in turns over the same connections, and the medians of the rounds are compared.
"""

import argparse
import json
import multiprocessing
import socket
import statistics
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT), str(Path(__file__).resolve().parent)]

NOW = datetime(2026, 9, 20, 12, 2, tzinfo=UTC)  # two minutes after the catalogue was read
LEAST, AIM = 0.10, 0.25


def body(tokens, pool):
    asked = {
        "workload": {
            "name": "support-bot-sft", "task": "train", "model": "meta-llama/Llama-3.1-8B", "technique": "lora",
            "precision": "bf16", "sequence_length": 2048, "micro_batch_size": 4, "gradient_checkpointing": True, "tokens": tokens,
            "data": {"dataset_gb": 120, "location": {"provider": "aws", "region": "us-east-1"}},
            "checkpoint": {"supported": "yes", "interval_minutes": 30, "restart_minutes": 10},
        },
        "usage": {"runs_per_month": 8, "horizon_months": 36},
        "constraints": {"data_sensitivity": "internal", "capacity_types": ["on_demand", "spot"], "deadline_hours": 24},
    }  # fmt: skip
    if pool:
        asked["on_prem"] = [{"gpu": "H100 SXM", "gpus_per_node": 8, "nodes": 1, "mode": "buy", "capex_usd_per_node": 275000}]
    return json.dumps(asked).encode()


def guarded(key):
    """Access that asks for one key, as a server beyond loopback has it."""
    from service.api.access import Access
    from service.api.limits import RateLimits
    from service.domain.access import ApiKey, Scope
    from service.flows.keys import digest_of, key_id_of

    known = ApiKey(key_id=key_id_of(key), name="bench", scope=Scope.PLAN, digest=digest_of(key), created_at=NOW)
    limits = RateLimits(per_key="100000000/minute", per_address="100000000/minute")
    return Access(keys=lambda: {known.key_id: known}, clock=lambda: NOW, always=True, note_use=str, limits=limits)


def serve(port, offers, ready, pool, key):
    """The server process: the real app on a market of this size, and the endpoint it is compared with."""
    import logging

    import catalogue
    import uvicorn
    from starlette.responses import Response

    from service.api.app import create_app
    from service.api.body import parse_json, read_json
    from service.api.context import Context
    from service.api.plan import plan_json
    from service.domain.request import DataSensitivity, PlanRequest
    from service.flows.plan import make_plan
    from service.logs import configure_logs
    from service.main import settle
    from service.metrics import Metrics
    from service.solver.columns import columns_of
    from service.solver.market import FeedStatus, Market
    from service.store.engine import make_engine

    configure_logs(logging.WARNING)
    sold = catalogue.offers(offers)
    names = sorted({offer.feed for offer in sold})
    market = Market.build(
        {name: columns_of([offer for offer in sold if offer.feed == name]) for name in names},
        [FeedStatus(name=name, last_success_at=NOW, last_attempt_at=NOW) for name in names],
        snapshot_id="bench",
        as_of=NOW,
    )
    del sold  # a server that reads packed columns holds no Offer objects
    settle()
    access = {"access": guarded(key)} if key else {}
    app = create_app(
        Context(clock=lambda: NOW, market=lambda: market, engine=make_engine("sqlite://"), metrics=Metrics(), **access)
    )
    asked = parse_json(body(50_000_000, pool), PlanRequest)
    plan = make_plan(asked, market, now=NOW, pools={}, default_sensitivity=DataSensitivity.INTERNAL)
    constant = plan_json(plan, asked)

    async def answer_constant(request):
        await read_json(request, PlanRequest)
        return Response(constant, media_type="application/json", headers={"Cache-Control": "no-store"})

    answer_constant.__annotations__ = {"request": __import__("starlette.requests", fromlist=["Request"]).Request}
    app.add_api_route("/bench/constant", answer_constant, methods=["POST"], include_in_schema=False)
    print(f"{market.offers} offers, {len(plan.options)} options, {len(constant)} bytes an answer", flush=True)
    ready.set()
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


class Connection:
    """One kept-alive connection that posts and reads whole answers."""

    def __init__(self, port, key=None):
        self.auth = f"Authorization: Bearer {key}\r\n" if key else ""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.socket.makefile("rb")

    def post(self, path, content):
        length = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        head = f"POST {path} HTTP/1.1\r\nHost: bench\r\n{self.auth}{length}\r\n"
        self.socket.sendall(head.encode() + content)
        status = int(self.reader.readline().split()[1])
        length = 0
        while (line := self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        answer = self.reader.read(length)
        if status != 200:
            raise SystemExit(f"{path} answered {status}: {answer[:300]!r}")


def requests_per_second(connections, path, bodies):
    """All bodies over the connections, side by side."""
    queue = iter(bodies)
    lock = threading.Lock()

    def work(connection):
        while True:
            with lock:
                content = next(queue, None)
            if content is None:
                return
            connection.post(path, content)

    threads = [threading.Thread(target=work, args=(connection,)) for connection in connections]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(bodies) / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--offers", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=2_000, help="per endpoint")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--pool", action="store_true", help="with own hardware to buy")
    parser.add_argument("--key", action="store_true", help="with an API key, limits and their headers")
    options = parser.parse_args()
    key = f"gpk_{'0' * 12}_{'b' * 43}" if options.key else None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ready = multiprocessing.Event()
    server = multiprocessing.Process(target=serve, args=(port, options.offers, ready, options.pool, key), daemon=True)
    server.start()
    ready.wait(120)
    time.sleep(1.0)
    connections = [Connection(port, key) for _ in range(options.connections)]
    each = options.requests // options.rounds
    bodies = [body(50_000_000 + number, options.pool) for number in range((options.rounds + 1) * each)]
    found = {"/plan": [], "/bench/constant": []}
    for number in range(options.rounds + 1):  # the first round warms up
        for path, rates in found.items():
            rate = requests_per_second(connections, path, bodies[number * each : (number + 1) * each])
            if number:
                rates.append(rate)
    server.terminate()
    plan, constant = (statistics.median(rates) for rates in found.values())
    print(
        f"POST /plan {plan:.0f} requests/s, constant {constant:.0f} requests/s, "
        f"ratio {plan / constant:.3f} (aim {AIM}, must {LEAST})"
    )
    return 0 if plan / constant >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
