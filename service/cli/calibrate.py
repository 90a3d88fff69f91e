"""`gpuplan calibrate`: the user's own measured rows as factors on our estimates."""

from typing import TYPE_CHECKING, Annotated

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, guarded

if TYPE_CHECKING:
    from service.estimate.calibrate import Calibrated, Trial

File = Annotated[str, typer.Argument(help="CSV with the columns of the measured tables (- for standard input).")]
Out = Annotated[str, typer.Option("--out", help="The file to write; GPUPLAN_CALIBRATION_PATH then names it.")]


def calibrate(file: File, out: Out = "calibration.toml", json_: opt.AsJson = False) -> int:
    """Fit factors for your framework and cards to your own measured rows.

    They are shrunk towards ours, tried on tables left out of the fit, and refused where they do not help.
    """
    from datetime import UTC, datetime
    from pathlib import Path

    from service.cli.evaluate import rows_of
    from service.estimate.calibrate import fit_calibration
    from service.flows.calibration import write_calibration

    rows = rows_of(file, needed=frozenset({"model", "gpu", "framework"}))
    today = datetime.now(UTC).date().isoformat()
    found: Calibrated = guarded(lambda: fit_calibration(rows, as_of=today))
    guarded(lambda: write_calibration(found, Path(out)))
    if json_:
        from service.cli.render import print_json

        print_json(found)
    else:
        _show(found, out)
    return FOUND


def _show(found: "Calibrated", out: str) -> None:
    from rich.markup import escape

    from service.cli.render import console, table

    made = table("FACTOR ON", "", right=("",))
    calibration = found.calibration
    for what, factors in (("memory", calibration.memory), ("time", calibration.seconds), ("time on", calibration.cards)):
        for name, factor in sorted(factors.items()):
            made.add_row(escape(f"{what} {name}"), f"{factor:.3f}")
    shown = console()
    shown.print(made)
    for name, trial in (("memory", found.memory), ("time", found.time)):
        shown.print(_told(name, trial))
    for row, reason in found.unused:
        shown.print(f"not used: {escape(row)}: {escape(reason)}", style="dim")
    shown.print(f"Written to {escape(out)}: set GPUPLAN_CALIBRATION_PATH to it.")


def _told(name: str, trial: "Trial | None") -> str:
    if trial is None:
        return f"{name}: too few rows to calibrate"
    verdict = "kept" if trial.helps else "refused: it would not help"
    error = f"mean error on rows left out by {trial.left_out} {trial.error_before:.1f} -> {trial.error_after:.1f} %"
    return f"{name}: {trial.rows} rows, {error}: {verdict}"
