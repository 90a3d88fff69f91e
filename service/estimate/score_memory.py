"""Score of the memory model on a table of measured memory: what `gpuplan evaluate memory` prints."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from providers.errors import InvalidInput, OptimizerError
from service.estimate.memory_constants import MEMORY, MemoryConstants
from service.estimate.memory_rows import read_memory_row
from service.estimate.row_cells import Row, number_of, text_of
from service.estimate.safety import memory_class
from service.estimate.vram import memory_need

CLASSES = ("full", "lora", "qlora", "inference_16bit", "inference_8bit", "inference_4bit")
NOT_SCORED = "C"  # confidence of rows that contradict their own configuration
GROUPS = ("class", "table", "framework")
WORST_ROWS = 10
_TAIL = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow:
    """One row, estimated. `error_percent` below 0: too little memory was promised."""

    id: str
    kind: str
    table: str
    framework: str
    measured_gib: float
    point_gib: float
    safe_gib: float
    notes: tuple[str, ...]

    @property
    def error_percent(self) -> float:
        """Point against measurement."""
        return 100.0 * (self.point_gib / self.measured_gib - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row that could not be estimated, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupScore:
    """Percent; None where there is no row: unknown is not zero."""

    count: int
    median_ape: float | None
    p90_ape: float | None
    under_point: float | None
    under_safe: float | None
    table_mean_median: float | None

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScore:
    """`rows` counts all rows given, confidence C among them; `scored` and `failures` are those of A and B."""

    rows: int
    scored: tuple[ScoredRow, ...]
    failures: tuple[FailedRow, ...]
    overall: GroupScore
    classes: Mapping[str, GroupScore]
    groups: Mapping[str, GroupScore]

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on; errors and shares in percent."""
        whole = self.overall.as_json()
        whole.pop("count")
        worst = sorted(self.scored, key=lambda row: -abs(row.error_percent))[:WORST_ROWS]
        return {
            "rows": self.rows,
            "scored": len(self.scored),
            "failed": len(self.failures),
            "failures": [{"id": failure.id, "reason": failure.reason} for failure in self.failures],
            **whole,
            "classes": {name: score.as_json() for name, score in self.classes.items()},
            "groups": {name: score.as_json() for name, score in self.groups.items()},
            "worst": [
                {"id": row.id, "table": row.table, "error_percent": row.error_percent, "notes": list(row.notes)} for row in worst
            ],
        }


def evaluate_memory(
    rows: Iterable[Row], *, by: str = "class", hide_framework: bool = False, constants: MemoryConstants = MEMORY
) -> MemoryScore:
    """Every row estimated in its own reading and compared; a row that cannot be estimated is named in `failures`.

    Args:
        rows: of a CSV file with the columns of tests/accuracy/measured_memory.csv.
        by: class, table or framework: what `groups` holds.
    Raises:
        InvalidInput: `by` is none of these.
    """
    if by not in GROUPS:
        raise InvalidInput("the grouping is not known", pointer="/by", allowed=GROUPS)
    scored: list[ScoredRow] = []
    failures: list[FailedRow] = []
    count = 0
    for row in rows:
        count += 1
        if text_of(row, "confidence").upper() == NOT_SCORED:
            continue
        name = text_of(row, "id") or f"row {count}"
        try:
            scored.append(_scored(name, row, hide_framework=hide_framework, constants=constants))
        except (OptimizerError, ValueError, ZeroDivisionError, OverflowError) as error:
            failures.append(FailedRow(id=name, reason=str(error)))
    key: Callable[[ScoredRow], str] = {
        "class": lambda row: row.kind,
        "table": lambda row: row.table,
        "framework": lambda row: row.framework,
    }[by]
    return MemoryScore(
        rows=count,
        scored=tuple(scored),
        failures=tuple(failures),
        overall=_score(scored),
        classes={kind: _score([row for row in scored if row.kind == kind]) for kind in CLASSES},
        groups={name: _score([row for row in scored if key(row) == name]) for name in sorted({key(row) for row in scored})},
    )


def _scored(name: str, row: Row, *, hide_framework: bool, constants: MemoryConstants) -> ScoredRow:
    setup, notes = read_memory_row(row, hide_framework=hide_framework)
    setup = replace(setup, constants=constants)
    measured = number_of(row, "measured_gib", default=0.0)
    if not measured > 0:
        raise InvalidInput("the column measured_gib holds no size above 0", pointer="/measured_gib")
    need = memory_need(setup)
    return ScoredRow(
        id=name,
        kind=_class_of(row, memory_class(setup)),
        table=text_of(row, "source"),
        framework=setup.framework.value,
        measured_gib=measured,
        point_gib=need.point_gib,
        safe_gib=need.safe_gib,
        notes=notes,
    )


def _class_of(row: Row, by_setup: str) -> str:
    """Adapters of other kinds than LoRA count with it whatever their base, as the tables have it."""
    return "lora" if text_of(row, "technique").lower().startswith("adapter") else by_setup


def _score(rows: list[ScoredRow]) -> GroupScore:
    if not rows:
        return GroupScore(count=0, median_ape=None, p90_ape=None, under_point=None, under_safe=None, table_mean_median=None)
    errors = sorted(abs(row.error_percent) for row in rows)
    tables = sorted({row.table for row in rows})
    return GroupScore(
        count=len(rows),
        median_ape=median(errors),
        p90_ape=errors[min(len(errors) - 1, int(_TAIL * len(errors)))],
        under_point=100.0 * sum(row.point_gib < row.measured_gib for row in rows) / len(rows),
        under_safe=100.0 * sum(row.safe_gib < row.measured_gib for row in rows) / len(rows),
        table_mean_median=mean(median(abs(row.error_percent) for row in rows if row.table == table) for table in tables),
    )
