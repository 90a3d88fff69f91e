"""Calibration: the file of a user's own factors, written by `gpuplan calibrate` and read once when the service starts."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from providers.errors import InvalidInput
from service.estimate.calibration import UNCALIBRATED, Calibration, calibration_from

if TYPE_CHECKING:  # fitting belongs to one command, reading to all
    from service.estimate.calibrate import Calibrated, Trial

LARGEST_BYTES = 1_000_000


class CalibrationUnreadable(InvalidInput):
    """The file that the setting names is no calibration: estimates would silently be the uncalibrated ones."""

    code = "calibration-unreadable"


def load_calibration(path: Path | None) -> Calibration:
    """The calibration of a file; no path is no calibration.

    Raises:
        CalibrationUnreadable: the file is not there, no TOML, or holds what a calibration cannot.
    """
    if path is None:
        return UNCALIBRATED
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_BYTES + 1)
        if len(text) > LARGEST_BYTES:
            raise CalibrationUnreadable(f"the calibration file is over {LARGEST_BYTES} bytes")
        return calibration_from(tomllib.loads(text.decode("utf-8")))
    except OSError as error:
        raise CalibrationUnreadable(f"the calibration file cannot be read ({type(error).__name__})") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CalibrationUnreadable("the calibration file is not TOML") from error
    except CalibrationUnreadable:
        raise
    except InvalidInput as error:
        raise CalibrationUnreadable(f"the calibration file: {error}") from error


def write_calibration(found: "Calibrated", path: Path) -> None:
    """Writes what was found where the setting can name it.

    Raises:
        CalibrationUnreadable: the file cannot be written.
    """
    try:
        path.write_text(calibration_text(found), encoding="utf-8")
    except OSError as error:
        raise CalibrationUnreadable(f"the calibration file cannot be written ({type(error).__name__})") from error


def calibration_text(found: "Calibrated") -> str:
    """The TOML of a calibration, with how it was found."""
    made = found.calibration
    lines = [
        "# Written by `gpuplan calibrate`; GPUPLAN_CALIBRATION_PATH names it. Factors on our estimates, shrunk towards 1.",
        "",
        "[about]",
        f'as_of = "{made.as_of}"',
        f"rows = {made.rows}",
        *_told("memory", found.memory),
        *_told("time", found.time),
    ]
    titles = {
        "memory": "on activations, logits, workspace and unused blocks, by framework and use",
        "seconds": "on the time, by framework and phase",
        "cards": "on the time, by card",
    }
    tables: Mapping[str, Mapping[str, float]] = {"memory": made.memory, "seconds": made.seconds, "cards": made.cards}
    for name, table in tables.items():
        if table:
            lines += ["", f"[{name}]  # {titles[name]}", *(f'"{key}" = {factor}' for key, factor in sorted(table.items()))]
    return "\n".join(lines) + "\n"


def _told(name: str, trial: "Trial | None") -> list[str]:
    if trial is None:
        return [f"# {name}: too few rows"]
    kept = "kept" if trial.helps else "refused, it does not help"
    return [
        f"# {name}: {trial.rows} rows; error on rows left out by {trial.left_out} {trial.error_before:.1f} -> "
        f"{trial.error_after:.1f} %: {kept}"
    ]
