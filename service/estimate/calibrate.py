"""Fits a calibration to a user's own measured rows: shrunk towards no change, and kept only where it helps unseen rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import mean

from providers.errors import InvalidInput, OptimizerError
from service.domain.workload import Framework
from service.estimate.calibration import LEAST_FACTOR, MOST_FACTOR, Calibration
from service.estimate.memory_rows import read_memory_row
from service.estimate.row_cells import Row, measured_of, text_of
from service.estimate.safety import fitted_gib
from service.estimate.score_memory import MEASURED_COLUMN as MEASURED_GIB
from service.estimate.score_throughput import MEASURED_COLUMN as MEASURED_RATE
from service.estimate.score_throughput import tokens_per_second_per_gpu
from service.estimate.scores import NOT_SCORED
from service.estimate.throughput_rows import read_row
from service.estimate.vram import memory_need

LEAST_ROWS = 4
LEAST_GAIN = 0.02  # of the cross-validated error, below which a change is noise
PRIOR_TABLES = 1.0  # "no change" weighs as much as this many tables of many rows
ROWS_OF_HALF_A_TABLE = 2.0  # a table of few rows weighs less
_FARTHEST = 0.7  # of a log error: a row that is further off pulls no further
_ROUNDS = 20
Factors = dict[str, float]


class CalibrationRefused(OptimizerError):
    """The rows do not support a calibration: too few, or it would not help rows that it has not seen."""

    code = "calibration-refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One measured row. `keys` name the factors that it bears on; the estimate is fixed + product of factors x scaled."""

    table: str
    model: str
    keys: tuple[str, ...]
    measured: float
    scaled: float
    fixed: float = 0.0

    def log_error(self, factors: Mapping[str, float]) -> float:
        """Of the estimate with these factors; above 0: too much is estimated."""
        scaled = self.scaled
        for key in self.keys:
            scaled *= factors.get(key, 1.0)
        return log((self.fixed + scaled) / self.measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One half, memory or time: what was fitted, and mean errors in percent on rows left out of the fit."""

    rows: int
    folds: int
    left_out: str  # table, model or row: what a fold leaves out
    error_before: float
    error_after: float
    factors: Factors

    @property
    def helps(self) -> bool:
        """The error on unseen rows falls by more than noise."""
        return self.error_after < self.error_before * (1.0 - LEAST_GAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The calibration, the trials it comes from (None: too few rows), and rows that could not be used, with the reason."""

    calibration: Calibration
    memory: Trial | None
    time: Trial | None
    unused: tuple[tuple[str, str], ...]


def fit_calibration(rows: Iterable[Row], *, as_of: str) -> Calibrated:
    """The calibration that these rows support; each half is kept only where it helps rows left out of its fit.

    Args:
        rows: with the columns of the measured tables, of memory (`measured_gib`), throughput (`tokens_per_s_per_gpu`) or both.
    Raises:
        CalibrationRefused: neither half can be fitted or helps.
    """
    memory, time, unused = _samples(rows)
    trials = [_trial(samples) if len(samples) >= LEAST_ROWS else None for samples in (memory, time)]
    kept = [trial.factors if trial is not None and trial.helps else {} for trial in trials]
    if not any(kept):
        raise CalibrationRefused(_refusal(len(memory), len(time), trials))
    used = sum(trial.rows for trial, factors in zip(trials, kept, strict=True) if trial is not None and factors)
    calibration = Calibration(
        memory=kept[0],
        seconds={key: factor for key, factor in kept[1].items() if "/" in key},
        cards={key: factor for key, factor in kept[1].items() if "/" not in key},
        rows=used,
        as_of=as_of,
    )
    return Calibrated(calibration=calibration, memory=trials[0], time=trials[1], unused=tuple(unused))


def _refusal(memory: int, time: int, trials: Sequence[Trial | None]) -> str:
    said = []
    for name, count, trial in zip(("memory", "time"), (memory, time), trials, strict=True):
        if trial is None:
            said.append(f"{name}: {count} usable rows, {LEAST_ROWS} are needed")
        else:
            said.append(
                f"{name}: the error on unseen rows would go from {trial.error_before:.1f} to {trial.error_after:.1f} %, no help"
            )
    return "; ".join(said)


def _samples(rows: Iterable[Row]) -> tuple[list[Sample], list[Sample], list[tuple[str, str]]]:
    memory: list[Sample] = []
    time: list[Sample] = []
    unused: list[tuple[str, str]] = []
    for number, row in enumerate(rows, start=1):
        if text_of(row, "confidence").upper() == NOT_SCORED:
            continue
        for column, samples, read in ((MEASURED_GIB, memory, _memory_sample), (MEASURED_RATE, time, _time_sample)):
            if not text_of(row, column):
                continue
            try:
                samples.append(read(row))
            except (OptimizerError, ValueError, ZeroDivisionError, OverflowError) as error:
                unused.append((text_of(row, "id") or f"row {number}", str(error)))
    return memory, time, unused


def _memory_sample(row: Row) -> Sample:
    setup, _ = read_memory_row(row)
    need = memory_need(setup)
    fitted = fitted_gib(need.parts)
    use = "training" if setup.is_training else "inference"
    return Sample(
        table=text_of(row, "source"),
        model=text_of(row, "model"),
        keys=(_known(setup.framework.value) + f"/{use}",),
        measured=measured_of(row, MEASURED_GIB),
        scaled=fitted,
        fixed=need.point_gib - fitted,
    )


def _time_sample(row: Row) -> Sample:
    """Seconds per token, so that factors are on time."""
    read = read_row(row)
    return Sample(
        table=text_of(row, "source"),
        model=text_of(row, "model"),
        keys=(f"{_known(read.step.framework)}/{read.phase}", read.gpu.name),
        measured=1.0 / measured_of(row, MEASURED_RATE),
        scaled=1.0 / tokens_per_second_per_gpu(read),
    )


def _known(framework: str) -> str:
    if framework == Framework.UNKNOWN:
        raise InvalidInput("the framework is not known: its factor would fit any other", pointer="/framework")
    return framework


def _trial(samples: list[Sample]) -> Trial:
    """The fit on all rows, and its error when one table (else one model, else one row) at a time is left out."""
    ways: tuple[tuple[str, Callable[[int], str]], ...] = (
        ("table", lambda at: samples[at].table),
        ("model", lambda at: samples[at].model),
        ("row", str),
    )
    left_out, fold_of = next((name, key) for name, key in ways if len({key(at) for at in range(len(samples))}) > 1)
    before: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    folds = sorted({fold_of(at) for at in range(len(samples))})
    for fold in folds:
        factors = _fitted([one for at, one in enumerate(samples) if fold_of(at) != fold])
        for at, one in enumerate(samples):
            if fold_of(at) == fold:
                before.setdefault(fold, []).append(_percent(one.log_error({})))
                after.setdefault(fold, []).append(_percent(one.log_error(factors)))
    return Trial(
        rows=len(samples),
        folds=len(folds),
        left_out=left_out,
        error_before=mean(mean(errors) for errors in before.values()),
        error_after=mean(mean(errors) for errors in after.values()),
        factors={key: round(factor, 4) for key, factor in _fitted(samples).items()},
    )


def _percent(log_error: float) -> float:
    """A row that is far off counts no further, as in the fit."""
    return 100.0 * abs(exp(max(-_FARTHEST, min(_FARTHEST, log_error))) - 1.0)


def _fitted(samples: Sequence[Sample]) -> Factors:
    """Factors by turns, each the shrunk mean of what the others leave; tables count by their rows, up to a whole one.

    A row counts by the share of its estimate that the factor bears on.
    """
    logs: Factors = {key: 0.0 for one in samples for key in one.keys}
    for _ in range(_ROUNDS):
        for key in logs:
            by_table: dict[str, list[tuple[float, float]]] = {}
            for one in samples:
                if key in one.keys and one.scaled > 0:
                    share, wanted = _wanted(one, logs)
                    by_table.setdefault(one.table, []).append((share, logs[key] + wanted))
            pulled, weight = 0.0, PRIOR_TABLES
            for found in by_table.values():
                shares = sum(share for share, _ in found)
                of_table = shares / (shares + ROWS_OF_HALF_A_TABLE)
                pulled += of_table * sum(share * wanted for share, wanted in found) / shares
                weight += of_table
            logs[key] = pulled / weight
    least, most = log(LEAST_FACTOR), log(MOST_FACTOR)
    return {key: exp(min(most, max(least, value))) for key, value in logs.items()}


def _wanted(one: Sample, logs: Mapping[str, float]) -> tuple[float, float]:
    """The share that factors bear on, and the log factor that would still bring the estimate to the measurement, bounded."""
    now = one.scaled * exp(sum(logs[key] for key in one.keys))
    share, missing = now / (one.fixed + now), one.measured - one.fixed
    if missing <= 0:
        return share, -_FARTHEST
    return share, max(-_FARTHEST, min(_FARTHEST, log(missing / now)))
