"""`gpuplan evaluate`: our estimates beside measured or published figures, row by row."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded

app = typer.Typer(help="Score our estimates on a file of measured or published figures.", no_args_is_help=True)

File = Annotated[str, typer.Argument(help="CSV with the columns of the measured tables (- for standard input).")]
By = Annotated[str, typer.Option(help="Also group by: class, table or framework.")]
Hide = Annotated[bool, typer.Option("--hide-framework", help="Score as if the framework were not told.")]
AsJson = Annotated[bool, typer.Option("--json", help="The scores on stdout as JSON.")]

FIGURES = ("ROWS", "MEDIAN ERROR %", "P90 ERROR %", "UNDER (POINT) %", "UNDER (SAFE) %", "MEAN OF TABLE MEDIANS %")
KEYS = ("median_ape", "p90_ape", "under_point", "under_safe", "table_mean_median")


class Score(Protocol):
    """What both scorers give."""

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on."""


@app.command("memory")
def memory(file: File, by: By = "class", hide_framework: Hide = False, json_: AsJson = False) -> int:
    """Score the memory model: point and safe value against measured GiB."""
    from service.estimate.score_memory import evaluate_memory

    return _scored(file, lambda rows: evaluate_memory(rows, by=by, hide_framework=hide_framework), by=by, as_json=json_)


@app.command("throughput")
def throughput(file: File, by: By = "class", hide_framework: Hide = False, json_: AsJson = False) -> int:
    """Score the run-time model: tokens per second of training, prefill, decoding and serving."""
    from service.estimate.score_throughput import evaluate_throughput

    return _scored(file, lambda rows: evaluate_throughput(rows, by=by, hide_framework=hide_framework), by=by, as_json=json_)


def rows_of(file: str, *, needed: frozenset[str]) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises CommandError (usage): not readable, not text, no header, a needed column missing."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the file cannot be read ({type(error).__name__})", code=USAGE) from error
    try:
        reader = csv.DictReader(text.splitlines(), strict=True)
        rows = [{name: value or "" for name, value in row.items() if name is not None} for row in reader]
    except csv.Error as error:
        raise CommandError(f"not a CSV file: {error}", code=USAGE) from error
    if missing := sorted(needed - set(reader.fieldnames or ())):
        raise CommandError(f"columns are missing: {', '.join(missing)}", code=USAGE)
    return rows


def _scored(file: str, score: Callable[[list[dict[str, str]]], Score], *, by: str, as_json: bool) -> int:
    rows = rows_of(file, needed=frozenset({"model", "gpu", "framework"}))
    found = guarded(lambda: score(rows)).as_json()
    if as_json:
        import json

        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        _show(found, by)
    return FOUND


def _show(found: dict[str, Any], by: str) -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    out = console()
    made = table("CLASS", *FIGURES, right=FIGURES)
    for name, score in found["classes"].items():
        made.add_row(name, str(score["scored"]), *(_percent(score[key]) for key in KEYS))
    made.add_row("all", str(found["scored"]), *(_percent(found[key]) for key in KEYS), style="bold")
    out.print(made)
    if by != "class":
        grouped = table(by.upper(), *FIGURES, right=FIGURES)
        for name, score in found["groups"].items():
            grouped.add_row(escape(name), str(score["scored"]), *(_percent(score[key]) for key in KEYS))
        out.print(grouped)
    worst = table("WORST ROWS", "TABLE", "ERROR %", "NOTES", right=("ERROR %",))
    for row in found["worst"]:
        worst.add_row(escape(row["id"]), escape(row["table"]), f"{row['error_percent']:+.1f}", escape("; ".join(row["notes"])))
    out.print(worst)
    out.print(f"{found['rows']} rows, {found['scored']} scored, {found['failed']} could not be estimated.")
    for failure in found["failures"]:
        out.print(f"  {escape(failure['id'])}: {escape(failure['reason'])}")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
