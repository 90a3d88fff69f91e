"""`gpuplan evaluate tco` and `evaluate spot`: what decides beside what others published or recorded."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from service.cli.evaluate import AsJson, rows_of
from service.cli.exits import FOUND, NOTHING_FITS, OUR_ERROR, USAGE, CommandError, guarded

CaseFile = Annotated[str, typer.Argument(help="CSV of published rent-or-own figures (- for standard input).")]
TraceFiles = Annotated[
    list[str], typer.Argument(help='JSON traces: {"metadata": {"gap_seconds": 195}, "data": [0, 1, ...]} of obtainable machines.')
]


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


def spot(files: TraceFiles, json_: AsJson = False) -> int:
    """Replay jobs on recorded spot availability and compare paid and wall hours with what is predicted."""
    from service.solver.spot_score import evaluate_spot

    score = evaluate_spot([_trace(file) for file in files])
    if json_:
        import json

        sys.stdout.write(json.dumps(score.as_json(), indent=2) + "\n")
    else:
        _show_spot(score.as_json())
    return FOUND if score.cases else NOTHING_FITS


def _trace(file: str) -> Any:
    import json

    from service.solver.spot_traces import machines_needed, trace_of

    try:
        tree = json.loads(Path(file).read_text(encoding="utf-8"))
        counts, gap = [float(count) for count in tree["data"]], float(tree["metadata"]["gap_seconds"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        said = f"{Path(file).name}: not a trace with data and metadata.gap_seconds ({type(error).__name__})"
        raise CommandError(said, code=USAGE) from error
    return guarded(lambda: trace_of(Path(file).name, counts, gap_seconds=gap, needed=machines_needed(file)))


def _show_spot(found: dict[str, Any]) -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    out = console()
    heads = ("BETWEEN STOPS h", "DOWN h", "UP %", "CASES", "PAID ERROR %", "WALL ERROR %", "IN RANGE %")
    made = table("TRACE", *heads, "LEFT OUT", right=heads)
    for one in found["traces"]:
        share = None if one["up_fraction"] is None else 100 * one["up_fraction"]
        figures = (one["hours_between_stops"], one["mean_down_hours"], share)
        errors = (one["paid_median_ape"], one["wall_median_ape"], one["wall_in_range"])
        cells = (*map(_figure, figures), str(len(one["cases"])), *map(_figure, errors))
        made.add_row(escape(one["name"]), *cells, escape(one["left_out"]))
    out.print(made)
    for name in ("paid", "wall"):
        middle, tail = (_figure(found[f"{name}_{which}_ape"]) for which in ("median", "p90"))
        out.print(f"{name} hours: off by {middle} % in the median, {tail} % at the 90th percentile of {found['cases']} cases.")
    out.print(
        f"{_figure(found['wall_in_range'])} % of wall times lie in the range told, which is"
        f" {_figure(found['wall_range_median_width'])} % of the expected time wide in the median."
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
