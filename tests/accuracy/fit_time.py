"""Fits constants of the time model to the measured rows, and tells how they do on tables left out of the fit.

Coordinate search on the mean absolute log error, capped so that a row that contradicts itself pulls no further, with
large tables counted by the root of their rows and a small price for leaving the starting value.

    python tests/accuracy/fit_time.py decode decode.kv_share decode.int8       # fits, prints old -> new
    python tests/accuracy/fit_time.py decode decode.kv_share --leave-out       # scores every table without it
"""

import copy
import csv
import sys
import tomllib
from collections import Counter
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

from service.estimate.score_throughput import tokens_per_second_per_gpu
from service.estimate.throughput_rows import ReadRow, read_row
from service.estimate.time_constants import constants_from

ROWS = Path(__file__).parent / "measured_throughput.csv"
CONSTANTS = Path(__file__).parents[2] / "service" / "estimate" / "time_constants.toml"
CAP = 0.8  # of a log error: a factor of 2.2
PRICE = 0.01  # of a squared log change of a constant
ROUNDS = 8
Sample = tuple[str, ReadRow, float]  # table, row, tokens per second and GPU


def samples(phase: str) -> list[Sample]:
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["confidence"] != "C"]
    read = [(row["source"], read_row(row), float(row["tokens_per_s_per_gpu"])) for row in rows]
    return [sample for sample in read if sample[1].phase == phase]


def value_of(tables: dict[str, Any], name: str) -> float:
    found: Any = tables
    for key in name.split("."):
        found = found[key]
    return float(found)


def set_value(tables: dict[str, Any], name: str, value: float) -> None:
    *path, last = name.split(".")
    for key in path:
        tables = tables[key]
    tables[last] = value


def log_errors(tables: dict[str, Any], data: list[Sample]) -> list[float]:
    constants = constants_from(tables)
    return [log(tokens_per_second_per_gpu(read, constants) / measured) for _, read, measured in data]


def loss(tables: dict[str, Any], data: list[Sample], start: dict[str, float]) -> float:
    sizes = Counter(table for table, _, _ in data)
    weights = [sizes[table] ** -0.5 for table, _, _ in data]
    errors = log_errors(tables, data)
    missed = sum(weight * min(abs(error), CAP) for weight, error in zip(weights, errors, strict=True)) / sum(weights)
    return missed + PRICE * sum(log(value_of(tables, name) / value) ** 2 for name, value in start.items())


def fit(tables: dict[str, Any], data: list[Sample], names: list[str]) -> dict[str, Any]:
    """The tables with the named constants moved to the least loss that coordinate search finds."""
    fitted = copy.deepcopy(tables)
    start = {name: value_of(tables, name) for name in names}
    stride = dict.fromkeys(names, 0.25)
    best = loss(fitted, data, start)
    for name in names * ROUNDS:
        value = value_of(fitted, name)
        for factor in (1 + stride[name], 1 / (1 + stride[name])):
            set_value(fitted, name, value * factor)
            tried = loss(fitted, data, start)
            if tried < best - 1e-6:
                best = tried
                break
            set_value(fitted, name, value)
        else:
            stride[name] *= 0.55
    return fitted


def median_error_percent(tables: dict[str, Any], data: list[Sample]) -> float:
    return median(100 * abs(exp(error) - 1) for error in log_errors(tables, data))


def main(phase: str, names: list[str], *, leave_out: bool) -> None:
    tables = tomllib.loads(CONSTANTS.read_text(encoding="utf-8"))
    data = samples(phase)
    if leave_out:
        for table in sorted({sample[0] for sample in data}):
            fitted = fit(tables, [sample for sample in data if sample[0] != table], names)
            left = [sample for sample in data if sample[0] == table]
            print(f"{table:28s} {len(left):4d} rows, left out: {median_error_percent(fitted, left):5.1f} %")
        return
    fitted = fit(tables, data, names)
    for name in names:
        print(f"{name:48s} {value_of(tables, name):10.4g} -> {value_of(fitted, name):10.4g}")
    print(f"median error {median_error_percent(tables, data):.1f} -> {median_error_percent(fitted, data):.1f} %")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    main(words[0], words[1:], leave_out="--leave-out" in sys.argv)
