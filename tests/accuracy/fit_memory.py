"""Fits constants of the memory model to the measured rows, and tells how they do on tables left out of the fit.

Every constant starts from what counting alone suggests (PRIOR), not from the file, so that a table left out has no say.
Coordinate search on the mean absolute log error, capped so that a row that contradicts itself pulls no further, with
large tables counted by the root of their rows.

    python tests/accuracy/fit_memory.py                # fits on all tables, prints prior -> fitted beside the file
    python tests/accuracy/fit_memory.py --leave-out    # fits without each table in turn and scores it
"""

import copy
import csv
import sys
from collections import Counter
from dataclasses import replace
from math import log
from pathlib import Path
from statistics import mean, median
from typing import Any

from service.estimate.memory_constants import MemoryConstants, constants_from, read_tables
from service.estimate.memory_rows import read_memory_row
from service.estimate.memory_setup import MemorySetup
from service.estimate.vram import memory_need

ROWS = Path(__file__).parent / "measured_memory.csv"
CAP = 0.5  # of a log error: a factor of 1.65
PRICE = 0.002  # of a squared log change of a constant: one that no row decides stays where it is
STEPS = (0.6, 0.8, 0.9, 1.1, 1.25, 1.6)
ROUNDS = 2
PRIOR = {
    "training.one_live_layer": 1.5,
    "training.selective_kept": 0.5,
    "training.selective_eager": 1.0,
    "training.bnb_gated": 1.0,
    "training.bnb_plain": 1.0,
    "training.dequantised_copies": 1.0,
    "training.adapter_v2_bytes": 2.0,
    "training.tensor_gathered": 2.0,
    "training.load_overlap": 0.5,
    "logits_bytes.hf": 12.0,
    "logits_bytes.hf_older": 14.0,
    "logits_bytes.torchtune": 12.0,
    "logits_bytes.compiled": 10.0,
    "logits_bytes.chunked": 2.0,
    "logits_bytes.litgpt": 6.0,
    "logits_bytes.litgpt_full": 12.0,
    "logits_bytes.torchtitan": 12.0,
    "logits_bytes.torchtitan_compiled": 8.0,
    "logits_bytes.megatron": 10.0,
    "logits_bytes.deepspeed": 12.0,
    "inference.eager_attention_bytes": 8.0,
    "inference.workspace_allocated": 1.0,
    "inference.workspace_autoawq": 1.0,
    "inference.workspace_device": 2.0,
    "inference.autoawq_fixed_gib": 0.1,
    "overhead.context_gib": 0.6,
    "overhead.collective_gib": 0.6,
    "overhead.fragmentation": 0.05,
    "overhead.variable_length": 1.0,
}
Sample = tuple[str, MemorySetup, float]  # table, setup, measured GiB


def samples() -> list[Sample]:
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["confidence"] != "C"]
    return [(row["source"], read_memory_row(row)[0], float(row["measured_gib"])) for row in rows]


def with_values(values: dict[str, float]) -> MemoryConstants:
    tables: dict[str, Any] = copy.deepcopy(read_tables())
    for name, value in values.items():
        table, key = name.split(".")
        tables[table][key] = value
    return constants_from(tables)


def log_errors(values: dict[str, float], data: list[Sample]) -> list[float]:
    constants = with_values(values)
    return [log(memory_need(replace(setup, constants=constants)).point_gib / measured) for _, setup, measured in data]


def loss(values: dict[str, float], data: list[Sample]) -> float:
    sizes = Counter(table for table, _, _ in data)
    weights = [sizes[table] ** -0.5 for table, _, _ in data]
    errors = log_errors(values, data)
    fit = sum(weight * min(abs(error), CAP) for weight, error in zip(weights, errors, strict=True)) / sum(weights)
    return fit + PRICE * sum(log(values[name] / PRIOR[name]) ** 2 for name in values)


def fitted(data: list[Sample]) -> dict[str, float]:
    best, least = dict(PRIOR), loss(PRIOR, data)
    for _ in range(ROUNDS):
        for name in PRIOR:
            for step in STEPS:
                tried = best | {name: best[name] * step}
                if (score := loss(tried, data)) < least:
                    best, least = tried, score
    return best


def leave_out(data: list[Sample]) -> None:
    medians, rows = [], []
    for table in sorted({name for name, _, _ in data}):
        values = fitted([sample for sample in data if sample[0] != table])
        errors = [100 * abs(2.718281828**error - 1) for error in log_errors(values, [one for one in data if one[0] == table])]
        medians.append(median(errors))
        rows += errors
        print(f"{table:28s} {len(errors):4d} rows, median {median(errors):5.1f} %")
    rows.sort()
    print(f"all rows: median {median(rows):.2f} %, p90 {rows[int(0.9 * len(rows))]:.1f} %, tables' mean {mean(medians):.2f} %")


def main() -> None:
    data = samples()
    if "--leave-out" in sys.argv:
        leave_out(data)
        return
    now = read_tables()
    for name, value in fitted(data).items():
        table, key = name.split(".")
        print(f"{name:36s} prior {PRIOR[name]:6.2f} fitted {value:6.2f} file {now[table][key]:6.2f}")


if __name__ == "__main__":
    main()
