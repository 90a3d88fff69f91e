"""Times a plan with a pool to be bought, its decision and 1,000 draws, beside the same plan without.

    OPENBLAS_NUM_THREADS=1 python tests/bench/bench_decision.py

CPU time of this process, so that a busy machine does not count, medians of many; each request is one that was never asked.
"""

import gc
import importlib.util
import statistics
import time
from pathlib import Path

from service.domain.breakeven import BreakevenRequest
from service.flows.breakeven import make_breakeven
from service.solver.solve import solve

MAY_ADD_MILLISECONDS = 3.0
TRIES = 80
RAW = {"task": "raw", "vram_gib": 20.0, "gpu_count": 8}
BOX = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "capex_usd_per_node": 275_000.0}

spec = importlib.util.spec_from_file_location("small", Path(__file__).parents[1] / "unit" / "solver" / "conftest.py")
small = importlib.util.module_from_spec(spec)
spec.loader.exec_module(small)


def milliseconds(market, pools: list[dict]) -> float:
    """The median of plans that differ in their utilization."""
    found = []
    for number in range(TRIES):
        usage = {"utilization": 0.5 + number * 1e-4, "reference_gpu": "H100 SXM"}
        request = small.request_of(workload=RAW, usage=usage, on_prem=pools)
        begun = time.process_time()
        solve(request, market, evaluated_at=small.NOW)
        found.append(1e3 * (time.process_time() - begun))
    return statistics.median(found)


def main() -> None:
    offers = [small.offer_of(usd_per_hour=f"{30 + at * 0.01:.2f}", gpu_count=8.0, instance_type=f"b{at}") for at in range(300)]
    market = small.market_of(*offers)
    gc.freeze()
    milliseconds(market, [BOX])  # the tables of points are made once
    for _ in range(3):
        without, with_pool = milliseconds(market, []), milliseconds(market, [BOX])
        added = with_pool - without
        limit = f"may be {MAY_ADD_MILLISECONDS}"
        print(f"plan {without:.2f} ms, with a pool and 1,000 draws {with_pool:.2f} ms: {added:+.2f} ms ({limit})")
    body = {"pool": BOX, "cloud_usd_per_gpu_hour": 3.99, "utilization": 0.55}
    asked = BreakevenRequest.model_validate(body, strict=False)
    for _ in range(3):
        begun = time.process_time()
        make_breakeven(asked, lambda: market, now=small.NOW, pools={}, default_sensitivity="internal")
        print(f"breakeven with 10,000 draws {1e3 * (time.process_time() - begun):.1f} ms")


if __name__ == "__main__":
    main()
