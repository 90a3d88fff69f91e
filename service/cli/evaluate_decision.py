"""`gpuplan evaluate tco`: the decision's figures beside published ones."""

import sys
from typing import Annotated, Any

import typer

from service.cli.evaluate import AsJson, rows_of
from service.cli.exits import FOUND, OUR_ERROR, guarded

CaseFile = Annotated[str, typer.Argument(help="CSV of published rent-or-own figures (- for standard input).")]


def tco(file: CaseFile, json_: AsJson = False) -> int:
    """Compute every row of a case file by the functions of a plan; exit code 1 if a row is out of its tolerance."""
    from service.solver.tco_cases import evaluate_tco

    rows = rows_of(file, needed=frozenset({"case_id", "metric", "expected"}))
    score = guarded(lambda: evaluate_tco(rows))
    if json_:
        import json

        sys.stdout.write(json.dumps(score.as_json(), indent=2) + "\n")
    else:
        _show_tco(score)
    return OUR_ERROR if score.failures else FOUND


def _show_tco(score: Any) -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    out = console()
    figures = ("EXPECTED", "OURS", "ERROR %")
    made = table("CASE", "METRIC", *figures, "UNIT", "PASS", right=figures)
    for one in score.results:
        ours = "-" if one.ours is None else f"{one.ours:.6g}"
        cells = (one.case_id, one.metric, f"{one.expected:.6g}", ours, _error(one), one.unit, "yes" if one.passed else "NO")
        made.add_row(*(escape(cell) for cell in cells), style=None if one.passed else "bold")
    out.print(made)
    for one in score.results:
        for note in (*((one.reason,) if one.reason else ()), *one.notes):
            out.print(f"  {escape(one.case_id)}: {escape(note)}")
    failed = len(score.failures)
    out.print(f"{len(score.results)} rows, {len(score.results) - failed} passed, {failed} failed.")


def _error(one: Any) -> str:
    if one.ours == one.expected:
        return "0.0"
    if one.ours is None or not one.expected or abs(one.ours) == float("inf") or abs(one.expected) == float("inf"):
        return "-"
    return f"{100 * (one.ours / one.expected - 1):+.2f}"
