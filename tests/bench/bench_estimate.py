"""Times the estimates of one workload on every card of the table, at 1, 2, 4 and 8 GPUs, in every strategy.

    python tests/bench/bench_estimate.py

CPU time of this process, so that a busy machine does not count, the least of some tries. Cold: a workload that was never
asked for. Warm: the same job again, as when only the amount of work changes.
"""

import gc
import json
import time

from providers.gpus import GPUS
from service.domain.workload import Workload
from service.estimate.estimate import estimate_on, estimates_by_strategy, job_shape
from service.estimate.job import JobShape

WORKLOADS = {
    "QLoRA of 8B": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 5e7},
    "full fine-tune of 8B": {"model": "llama-3.1-8b", "technique": "full", "tokens": 5e7},
    "serving 8B in 4 bits": {"task": "infer", "model": "llama-3.1-8b", "precision": "int4"},
    "serving 70B": {"task": "infer", "model": "llama-3.1-70b"},
    "serving 8B in 20 ms": {"task": "infer", "model": "llama-3.1-8b", "time_per_output_token_seconds": 0.02},
}
COUNTS = (1, 2, 4, 8)
TRIES = 8


def milliseconds(job: JobShape) -> float:
    begun = time.process_time()
    for gpu in GPUS.values():
        for count in COUNTS:
            estimate_on(job, gpu, gpu_count=count)
    return 1e3 * (time.process_time() - begun)


def never_asked(fields: dict, number: int) -> JobShape:
    """The workload with a length of its own: nothing of it is remembered."""
    length = {"prompt_tokens": 512 + number} if fields.get("task") == "infer" else {"sequence_length": 2048 - number}
    return job_shape(Workload.model_validate_json(json.dumps(fields | length)))[0]


def main() -> None:
    gc.freeze()  # as the service does before it answers
    print(f"{len(GPUS)} cards x {len(COUNTS)} counts")
    for name, fields in WORKLOADS.items():
        jobs = [never_asked(fields, number) for number in range(TRIES)]
        cold = min(milliseconds(job) for job in jobs)
        warm = min(milliseconds(job) for job in jobs)
        tried = sum(len(estimates_by_strategy(jobs[0], gpu, gpu_count=count)) for gpu in GPUS.values() for count in COUNTS)
        print(f"{name:22s} {tried:5d} strategies  cold {cold:6.1f} ms  warm {warm:5.2f} ms")


if __name__ == "__main__":
    main()
