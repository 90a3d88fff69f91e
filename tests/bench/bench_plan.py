"""How long a warm plan takes on 1,000, 100,000 and 1,000,000 GPU offers, beside a plain NumPy filter and sort.

usage: python tests/bench/bench_plan.py [sizes...]   -> one JSON line per size and kind of plan

The floor is the work of a plain listing on the same rows in the same run: filter by memory and count, sort by price.
All requests differ in `tokens`, so that nothing can be answered from a cache. Times are medians and minima of single
plans in process; `ratio` is by medians. Garbage that outlives the set-up is frozen, as a server does after loading.
"""

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable

import catalogue
import numpy as np

from providers.offer import Offer
from service.domain.request import PlanRequest
from service.solver.columns import pack_offers, unpack
from service.solver.market import FeedStatus, Market
from service.solver.solve import solve

SIZES = (1_000, 100_000, 1_000_000)
RUNS = 200
POOL = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "nodes": 1, "capex_usd_per_node": 275000.0}


def packed(offers: list[Offer]) -> dict[str, bytes]:
    feeds: dict[str, list[Offer]] = {}
    for offer in offers:
        feeds.setdefault(offer.feed, []).append(offer)
    return {name: pack_offers(rows) for name, rows in feeds.items()}


def loaded(blobs: dict[str, bytes]) -> Market:
    feeds = {name: unpack(blob) for name, blob in blobs.items()}
    statuses = [FeedStatus(name=name, last_success_at=catalogue.OBSERVED_AT, offers=feed.rows) for name, feed in feeds.items()]
    return Market.build(feeds, statuses, snapshot_id="bench", as_of=catalogue.OBSERVED_AT)


def requests(with_pool: bool) -> list[PlanRequest]:
    def one(tokens: float) -> PlanRequest:
        body = {
            "workload": {"task": "train", "model": "llama-3.1-8b", "technique": "lora", "tokens": tokens},
            "usage": {"runs_per_month": 8},
            "constraints": {"data_sensitivity": "internal"},
            "on_prem": [POOL] if with_pool else [],
        }
        return PlanRequest.model_validate_json(json.dumps(body))

    return [one(5e7 + 1000.0 * number) for number in range(RUNS)]


def floor_of(market: Market) -> Callable[[], object]:
    """A plain NumPy filter and sort over the same rows: at least 80 GB, 1 to 8 cards, by price."""
    memory = np.concatenate([feed.arrays["gpu_memory_gb"] for feed in market.feeds]).astype(np.int16)
    count = np.concatenate([feed.arrays["gpu_count"] for feed in market.feeds]).astype(np.int16)
    price = np.concatenate([feed.usd_per_hour for feed in market.feeds])

    def listed() -> object:
        rows = np.flatnonzero((memory >= 80) & (count >= 1) & (count <= 8))
        return rows[np.argsort(price[rows], kind="stable")]

    return listed


def milliseconds(calls: list[Callable[[], object]]) -> tuple[list[float], float]:
    """Wall time of each call, and the mean CPU time, which other processes disturb less."""
    times, used = [], time.process_time()
    for call in calls:
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1e3)
    return times, (time.process_time() - used) * 1e3 / len(calls)


def measured(size: int) -> None:
    blobs = packed(catalogue.offers(size))
    started = time.perf_counter()
    market = loaded(blobs)
    load_seconds = time.perf_counter() - started
    listed = floor_of(market)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    for with_pool in (False, True):
        asked = requests(with_pool)
        started = time.perf_counter()
        answer = solve(asked[0], market, evaluated_at=catalogue.OBSERVED_AT)
        first_ms = (time.perf_counter() - started) * 1e3
        plans, plan_cpu = milliseconds(
            [lambda body=body: solve(body, market, evaluated_at=catalogue.OBSERVED_AT) for body in asked]
        )
        floor, floor_cpu = milliseconds([listed] * 51)
        figures = {
            "offers": size,
            "pool": with_pool,
            "groups": len(market.groups),
            "options_found": answer.options_found,
            "plan_ms_median": round(statistics.median(plans), 3),
            "plan_ms_min": round(min(plans), 3),
            "plan_cpu_ms_mean": round(plan_cpu, 3),
            "first_plan_ms": round(first_ms, 1),
            "numpy_ms_median": round(statistics.median(floor), 3),
            "numpy_ms_min": round(min(floor), 3),
            "numpy_cpu_ms_mean": round(floor_cpu, 3),
            "ratio": round(statistics.median(plans) / statistics.median(floor), 2),
            "load_seconds": round(load_seconds, 3),
            "packed_mib": round(sum(map(len, blobs.values())) / 2**20, 1),
        }
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    for size in [int(argument) for argument in sys.argv[1:]] or SIZES:
        measured(size)
