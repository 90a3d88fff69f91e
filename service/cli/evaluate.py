"""`gpuplan evaluate`: our estimates beside measured or published figures, row by row."""

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer(help="Score our estimates on a file of measured or published figures.", no_args_is_help=True)

File = Annotated[str, typer.Argument(help="CSV with the columns of the measured tables (- for standard input).")]
By = Annotated[str, typer.Option(help="Also group by: class, table or framework.")]
Hide = Annotated[bool, typer.Option("--hide-framework", help="Score as if the framework were not told.")]
Peers = Annotated[bool, typer.Option("--peers", help="Score other estimators on the same rows beside ours.")]
AsJson = Annotated[bool, typer.Option("--json", help="The scores on stdout as JSON.")]

FIGURES = ("ROWS", "MEDIAN ERROR %", "P90 ERROR %", "UNDER (POINT) %", "UNDER (SAFE) %", "MEAN OF TABLE MEDIANS %")
KEYS = ("median_ape", "p90_ape", "under_point", "under_safe", "table_mean_median")


@app.command("memory")
def memory(file: File, by: By = "class", hide_framework: Hide = False, peers: Peers = False, json_: AsJson = False) -> int:
    """Score the memory model: point and safe value against measured GiB."""
    from service.estimate.score_memory import evaluate_memory

    rows = _rows(file)
    found = guarded(lambda: evaluate_memory(rows, by=by, hide_framework=hide_framework)).as_json()
    if peers:
        from service.flows.peers import missing_peer, score_memory_peers

        if why := missing_peer():
            print(why, file=sys.stderr)
        found["peers"] = {name: score.as_json() for name, score in score_memory_peers(rows, by=by).items()}
    return _shown(found, by=by, as_json=json_)


@app.command("throughput")
def throughput(file: File, by: By = "class", hide_framework: Hide = False, peers: Peers = False, json_: AsJson = False) -> int:
    """Score the run-time model: tokens per second of training, prefill, decoding and serving."""
    from service.estimate.score_throughput import evaluate_throughput

    rows = _rows(file)
    found = guarded(lambda: evaluate_throughput(rows, by=by, hide_framework=hide_framework)).as_json()
    if peers:
        from service.flows.peers import score_throughput_peers

        found["peers"] = {name: score.as_json() for name, score in score_throughput_peers(rows, by=by).items()}
    return _shown(found, by=by, as_json=json_)


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


def _rows(file: str) -> list[dict[str, str]]:
    return rows_of(file, needed=frozenset({"model", "gpu", "framework"}))


def _shown(found: dict[str, Any], *, by: str, as_json: bool) -> int:
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
    out.print(_figures("CLASS", found["classes"] | {"all": found}))
    if by != "class":
        out.print(_figures(by.upper(), found["groups"]))
    for name, score in found.get("peers", {}).items():
        out.print(_figures(name.upper(), score["classes"] | {"all": score}))
    worst = table("WORST ROWS", "TABLE", "ERROR %", "NOTES", right=("ERROR %",))
    for row in found["worst"]:
        worst.add_row(escape(row["id"]), escape(row["table"]), f"{row['error_percent']:+.1f}", escape("; ".join(row["notes"])))
    out.print(worst)
    out.print(f"{found['rows']} rows, {found['scored']} scored, {found['failed']} could not be estimated.")
    for failure in found["failures"]:
        out.print(f"  {escape(failure['id'])}: {escape(failure['reason'])}")


def _figures(head: str, scores: dict[str, Any]) -> "Table":
    from rich.markup import escape

    from service.cli.render import table

    made = table(head, *FIGURES, right=FIGURES)
    for name, score in scores.items():
        made.add_row(escape(name), str(score["scored"]), *(_percent(score[key]) for key in KEYS))
    return made


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
