"""All speed figures of one run as one JSON document. Run it, pytest does not.

python tests/bench/run.py [--sizes 1000 100000 1000000] [--clients 1 8 64] [--requests 400] [--without api,refresh,...]

Every figure stands beside the target it is held to; `met` is null where there is none. The exit code is 1 when one is missed.
"""

import argparse
import json
import multiprocessing
import os
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(PROJECT), str(HERE)]

GPUHUNT_MS = 66.0  # the catalogue query of gpuhunt on the same 100,000 rows, as ../shared/bench measured it
PARTS = ("plan", "api", "refresh", "memory", "start")


def figure(name, value, unit, *, least=None, most=None):
    """One figure; `least` or `most` is its target."""
    met = None if least is None and most is None else value >= least if least is not None else value <= most
    return {"name": name, "value": round(value, 4), "unit": unit, "target": least if least is not None else most, "met": met}


def plan_figures(sizes):
    """Plans in process on each size, the snapshot's build, and both peers: gpuhunt's query and a plain filter and sort."""
    command = [sys.executable, str(HERE / "bench_plan.py"), *map(str, sizes)]
    rows = [json.loads(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
    by = {(row["offers"], row["pool"]): row for row in rows if "pool" in row}
    for (size, with_pool), row in by.items():
        kind = f"plan{' with a pool' if with_pool else ''}, {size:,} offers"
        is_told = size == 100_000 and not with_pool
        yield figure(f"{kind}, median", row["plan_ms_median"], "ms", **({"most": 1.0} if is_told else {}))
        yield figure(f"{kind}, least", row["plan_ms_min"], "ms")
        yield figure(f"{kind}, against a NumPy filter and sort", row["ratio"], "times")
        if is_told:
            yield figure("gpuhunt's query against a plan", GPUHUNT_MS / row["plan_ms_median"], "times", least=60)
        if not with_pool:
            yield figure(f"snapshot of {size:,} offers built", row["load_seconds"], "s")
    if {(100_000, False), (1_000_000, False)} <= by.keys():
        growth = by[1_000_000, False]["plan_ms_median"] / by[100_000, False]["plan_ms_median"]
        yield figure("plan on 1,000,000 offers against 100,000", growth, "times", most=2.0)


def asked(connections, path, bodies):
    """Requests per second and the seconds of each, all bodies over the connections, side by side."""
    queue, lock, seconds = iter(bodies), threading.Lock(), []

    def work(connection):
        while True:
            with lock:
                content = next(queue, None)
            if content is None:
                return
            began = time.perf_counter()
            connection.post(path, content)
            seconds.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work, args=(connection,)) for connection in connections]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(seconds) / (time.perf_counter() - began), seconds


def api_figures(sizes, clients, requests):
    """POST /plan against the constant endpoint of the same app, with and without a pool, and with a key."""
    for size in sizes:
        kinds = [(False, False), *([(True, False), (False, True)] if size == 100_000 else [])]
        for with_pool, with_key in kinds:
            yield from _served(size, clients if not (with_pool or with_key) else clients[:1], requests, with_pool, with_key)


def _served(size, clients, requests, with_pool, with_key):
    import bench_api

    key = f"gpk_{'0' * 12}_{'b' * 43}" if with_key else None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    server = spawn.Process(target=bench_api.serve, args=(port, size, ready, with_pool, key), daemon=True)
    server.start()
    assert ready.wait(600), "the server did not get ready"
    time.sleep(1.0)
    least = 0.02 if with_pool else 0.10
    try:
        for number in clients:
            connections = [bench_api.Connection(port, key) for _ in range(number)]
            bodies = [bench_api.body(50_000_000 + 1000 * number + at, with_pool) for at in range(requests)]
            asked(connections, "/plan", bodies[:50])
            rates, ratios, seconds = [], [], []
            for part in range(3):
                some = bodies[part::3]
                rate, each = asked(connections, "/plan", some)
                constant, _ = asked(connections, "/bench/constant", some)
                rates.append(rate)
                ratios.append(rate / constant)
                seconds += each
            kind = f"POST /plan{' with a pool' if with_pool else ''}{' with a key' if with_key else ''}, {size:,} offers"
            kind += f", {number} client{'s' if number > 1 else ''}"
            p50, p99 = statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]
            yield figure(f"{kind}", statistics.median(rates), "plans/s")
            told = {"least": least} if size == 100_000 and number == clients[0] else {}
            yield figure(f"{kind}, against the constant endpoint", statistics.median(ratios), "fraction", **told)
            yield figure(f"{kind}, p50", p50 * 1e3, "ms")
            yield figure(f"{kind}, p99", p99 * 1e3, "ms")
            if number == 64:
                yield figure(f"{kind}, p99 against p50", p99 / p50, "times", most=10.0)
    finally:
        server.terminate()
        server.join(10)


def refresh_figures():
    """CPU of a refresh of 100,000 offers on SQLite."""
    told = subprocess.run([sys.executable, str(HERE / "bench_refresh.py")], capture_output=True, text=True, check=True).stdout
    most = {"unchanged": 2.0, "5 % changed": 4.0}
    for name, seconds in re.findall(r"^(.+?)\s+([0-9.]+) s CPU", told, re.MULTILINE):
        yield figure(
            f"refresh of 100,000 offers, {name}", float(seconds), "s CPU", **({"most": most[name]} if name in most else {})
        )


def _resident_mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _memory(answer, folder):
    import gc

    import bench_plan

    blobs = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    gc.collect()
    before = _resident_mib()
    market = bench_plan.loaded(blobs)
    blobs.clear()
    gc.collect()
    answer.put((market.offers, _resident_mib() - before))


def memory_figures():
    """What a snapshot of 100,000 offers adds to a process that has everything else."""
    import bench_plan
    import catalogue

    spawn = multiprocessing.get_context("spawn")
    answer = spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        for name, blob in bench_plan.packed(catalogue.offers(100_000)).items():
            (Path(folder) / name).write_bytes(blob)
        process = spawn.Process(target=_memory, args=(answer, folder))
        process.start()
        _, mib = answer.get(timeout=300)
        process.join()
    yield figure("memory of 100,000 offers", mib, "MiB", most=60.0)


def start_figures():
    """Seconds from the command to the first answer of /readyz, on a database that has its prices."""
    import httpx

    command = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())", "serve", "--no-refresh"]
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
        environment |= {"GPUPLAN_DATABASE_URL": f"sqlite:///{folder}/prices.db", "PYTHONPATH": str(PROJECT)}
        for round_ in ("first", "second"):
            began = time.perf_counter()
            process = subprocess.Popen([*command, "--port", str(port)], env=environment, stderr=subprocess.DEVNULL)
            while True:
                try:
                    assert httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200
                    break
                except httpx.TransportError:
                    assert process.poll() is None, "the service ended"
                    time.sleep(0.02)
            seconds = time.perf_counter() - began
            process.terminate()
            process.wait(30)
            name = "ready on an empty database" if round_ == "first" else "ready"
            yield figure(name, seconds, "s", **({} if round_ == "first" else {"most": 3.0}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=400, help="per endpoint and number of clients")
    parser.add_argument("--without", default="", help=f"parts to leave out, by comma: {', '.join(PARTS)}")
    options = parser.parse_args()
    left_out = set(filter(None, options.without.split(",")))
    assert left_out <= set(PARTS), f"the parts are {', '.join(PARTS)}"
    runs = {
        "plan": lambda: plan_figures(options.sizes),
        "api": lambda: api_figures(options.sizes, options.clients, options.requests),
        "refresh": refresh_figures,
        "memory": memory_figures,
        "start": start_figures,
    }
    figures, load = [], os.getloadavg()[0]
    for part, run in runs.items():
        if part not in left_out:
            for one in run():
                print(f"{one['name']}: {one['value']} {one['unit']}", file=sys.stderr, flush=True)
                figures.append({"part": part, **one})
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": load,
        "load_after": os.getloadavg()[0],
    }
    print(json.dumps({"machine": machine, "left_out": sorted(left_out), "figures": figures}, indent=1))
    return 1 if any(one["met"] is False for one in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
