"""Scores of estimates on a table of measurements: what both kinds of table share, counted and named row by row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from providers.errors import InvalidInput, OptimizerError
from service.estimate.row_cells import Row, text_of

NOT_SCORED = "C"  # confidence of rows that contradict their own configuration
GROUPS = ("class", "table", "framework")
WORST_ROWS = 10
TAIL = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An estimate beside its measurement: a need, of which too little leaves a user short, or a rate, of which too much does."""

    measured: float
    point: float
    safe: float
    is_rate: bool = False
    notes: tuple[str, ...] = ()

    @property
    def error_percent(self) -> float:
        """Point against measurement."""
        return 100.0 * (self.point / self.measured - 1.0)

    def is_under(self, value: float) -> bool:
        """Planning with `value` would have fallen short of what was measured."""
        return value > self.measured if self.is_rate else value < self.measured


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRow:
    """One row of a table: estimated (`compared`), failed (`reason`), or left out (neither)."""

    id: str
    kind: str  # class
    table: str
    framework: str
    compared: Compared | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScore:
    """Errors and shares in percent; None where no row is scored: unknown is not zero."""

    rows: int  # all of them, those that are not scored among them
    scored: int
    failures: tuple[JudgedRow, ...]
    median_ape: float | None
    p90_ape: float | None
    under_point: float | None
    under_safe: float | None
    table_mean_median: float | None

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on, of the whole and of each class alike."""
        return {
            "rows": self.rows,
            "scored": self.scored,
            "failed": len(self.failures),
            "failures": [{"id": row.id, "reason": row.reason} for row in self.failures],
            "median_ape": self.median_ape,
            "p90_ape": self.p90_ape,
            "under_point": self.under_point,
            "under_safe": self.under_safe,
            "table_mean_median": self.table_mean_median,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A whole table judged: over all rows, by class, and by what was asked for."""

    judged: tuple[JudgedRow, ...]
    overall: GroupScore
    classes: Mapping[str, GroupScore]
    groups: Mapping[str, GroupScore] = field(default_factory=dict)

    @property
    def scored(self) -> list[tuple[JudgedRow, Compared]]:
        """The rows that were estimated, in their order."""
        return [(row, row.compared) for row in self.judged if row.compared is not None]

    @property
    def failures(self) -> tuple[JudgedRow, ...]:
        """The rows that could not be estimated."""
        return self.overall.failures

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on."""
        worst = sorted(self.scored, key=lambda one: -abs(one[1].error_percent))[:WORST_ROWS]
        return {
            **self.overall.as_json(),
            "classes": {name: score.as_json() for name, score in self.classes.items()},
            "groups": {name: score.as_json() for name, score in self.groups.items()},
            "worst": [
                {"id": row.id, "table": row.table, "error_percent": one.error_percent, "notes": list(one.notes)}
                for row, one in worst
            ],
        }


def judge(
    rows: Iterable[Row],
    *,
    by: str,
    classes: Sequence[str],
    class_of: Callable[[Row], str],
    framework_of: Callable[[Row], str],
    compare: Callable[[Row], Compared],
) -> Score:
    """Every row of confidence A or B compared; a row that cannot be estimated is named with its reason, never skipped.

    Args:
        by: class, table or framework: what `groups` holds.
        compare: the estimate of a row; what it raises is the reason of a failure.
    Raises:
        InvalidInput: `by` is none of these.
    """
    if by not in GROUPS:
        raise InvalidInput("the grouping is not known", pointer="/by", allowed=GROUPS)
    judged = tuple(_judged(number, row, class_of, framework_of, compare) for number, row in enumerate(rows, start=1))
    attribute = {"class": "kind"}.get(by, by)
    names = sorted({getattr(row, attribute) for row in judged})
    return Score(
        judged=judged,
        overall=score_of(judged),
        classes={name: score_of([row for row in judged if belongs(row.kind, name)]) for name in classes},
        groups={name: score_of([row for row in judged if getattr(row, attribute) == name]) for name in names},
    )


def belongs(kind: str, name: str) -> bool:
    """A class holds its own rows and those of its parts: `train` holds `train_lora`."""
    return kind == name or kind.startswith(f"{name}_")


def score_of(rows: Sequence[JudgedRow]) -> GroupScore:
    """Figures over some rows; tables count alike in `table_mean_median`, however many rows they have."""
    scored = [(row.table, row.compared) for row in rows if row.compared is not None]
    errors = sorted(abs(one.error_percent) for _, one in scored)
    by_table: dict[str, list[float]] = {}
    for table, one in scored:
        by_table.setdefault(table, []).append(abs(one.error_percent))
    return GroupScore(
        rows=len(rows),
        scored=len(scored),
        failures=tuple(row for row in rows if row.reason is not None),
        median_ape=median(errors) if errors else None,
        p90_ape=errors[min(len(errors) - 1, int(TAIL * len(errors)))] if errors else None,
        under_point=_percent(one.is_under(one.point) for _, one in scored),
        under_safe=_percent(one.is_under(one.safe) for _, one in scored),
        table_mean_median=mean(median(table) for table in by_table.values()) if errors else None,
    )


def _percent(facts: Iterable[bool]) -> float | None:
    told = list(facts)
    return 100.0 * sum(told) / len(told) if told else None


def _judged(
    number: int,
    row: Row,
    class_of: Callable[[Row], str],
    framework_of: Callable[[Row], str],
    compare: Callable[[Row], Compared],
) -> JudgedRow:
    compared, reason = None, None
    if text_of(row, "confidence").upper() != NOT_SCORED:
        try:
            compared = compare(row)
        except (OptimizerError, ValueError, ZeroDivisionError, OverflowError) as error:
            reason = str(error)
    return JudgedRow(
        id=text_of(row, "id") or f"row {number}",
        kind=class_of(row),
        table=text_of(row, "source"),
        framework=framework_of(row),
        compared=compared,
        reason=reason,
    )
