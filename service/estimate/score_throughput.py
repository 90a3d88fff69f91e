"""Score of the time model on a table of measured throughput: what `gpuplan evaluate throughput` prints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from providers.errors import InvalidInput, OptimizerError
from service.estimate.card_rates import rates_of
from service.estimate.decode import decode_seconds_per_token
from service.estimate.infer_step import weight_bytes_resident
from service.estimate.prefill import prefill_seconds
from service.estimate.row_cells import Row, number_of, text_of
from service.estimate.runtime import step_time
from service.estimate.score_memory import GROUPS, NOT_SCORED, WORST_ROWS, FailedRow, GroupScore
from service.estimate.serving_load import batch_time, sequences_that_fit
from service.estimate.throughput_rows import PHASES, ReadRow, read_row, technique_of
from service.estimate.time_constants import TIME, TimeConstants
from service.estimate.train_step import TrainStep

CLASSES = ("train", "train_full", "train_lora", "train_qlora", "decode", "prefill", "serving")
TAIL = 0.9
TOKENS_COLUMN = "tokens_per_s_per_gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow:
    """One row, estimated. `error_percent` is of tokens per second; below 0: the estimate is slower than the measurement."""

    id: str
    kind: str  # train_full, train_lora, train_qlora, decode, prefill, serving
    table: str
    framework: str
    measured: float  # tokens per second and GPU
    estimated: float
    estimated_low: float  # the safe value: seconds at the high end of the range
    notes: tuple[str, ...]

    @property
    def error_percent(self) -> float:
        return 100.0 * (self.estimated / self.measured - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputScore:
    """`rows` counts all rows given, confidence C among them; `scored` + `failed` are those of A and B."""

    rows: int
    scored: tuple[ScoredRow, ...]
    failures: tuple[FailedRow, ...]
    overall: GroupScore
    classes: Mapping[str, GroupScore]
    class_rows: Mapping[str, int]  # of the rows given, by what they say of themselves
    class_failed: Mapping[str, int]
    groups: Mapping[str, GroupScore]  # by table or framework, where asked

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on."""
        whole = self.overall.as_json()
        whole.pop("count")
        worst = sorted(self.scored, key=lambda row: -abs(row.error_percent))[:WORST_ROWS]
        return {
            "rows": self.rows,
            "scored": len(self.scored),
            "failed": len(self.failures),
            "failures": [{"id": failure.id, "reason": failure.reason} for failure in self.failures],
            **whole,
            "classes": {name: self._class_json(name) for name in self.classes},
            "groups": {name: score.as_json() for name, score in self.groups.items()},
            "worst": [
                {"id": row.id, "table": row.table, "error_percent": row.error_percent, "notes": list(row.notes)} for row in worst
            ],
        }

    def _class_json(self, name: str) -> dict[str, Any]:
        """The keys of the whole, of one class."""
        score = self.classes[name].as_json()
        return {"rows": self.class_rows[name], "scored": score["count"], "failed": self.class_failed[name], **score}


def evaluate_throughput(
    rows: Iterable[Row],
    *,
    by: str = "class",
    hide_framework: bool = False,
    constants: TimeConstants = TIME,
) -> ThroughputScore:
    """Every row estimated and compared; a row that cannot be estimated is named in `failures`.

    Args:
        rows: of a CSV file with the columns of tests/accuracy/measured_throughput.csv.
        by: class, table or framework: what `groups` holds.
    Raises:
        InvalidInput: `by` is none of these.
    """
    if by not in GROUPS:
        raise InvalidInput("the grouping is not known", pointer="/by", allowed=GROUPS)
    scored: list[ScoredRow] = []
    failures: list[FailedRow] = []
    all_kinds, failed_kinds = list[str](), list[str]()
    for count, row in enumerate(rows, start=1):
        all_kinds.append(kind_of_row(row))
        if text_of(row, "confidence").upper() == NOT_SCORED:
            continue
        name = text_of(row, "id") or f"row {count}"
        try:
            scored.append(_scored(name, row, hide_framework, constants))
        except (OptimizerError, ValueError, ZeroDivisionError, OverflowError) as error:
            failures.append(FailedRow(id=name, reason=str(error)))
            failed_kinds.append(all_kinds[-1])
    return ThroughputScore(
        rows=len(all_kinds),
        scored=tuple(scored),
        failures=tuple(failures),
        overall=_group_score(scored),
        classes={name: _group_score([row for row in scored if belongs(row.kind, name)]) for name in CLASSES},
        class_rows={name: sum(belongs(kind, name) for kind in all_kinds) for name in CLASSES},
        class_failed={name: sum(belongs(kind, name) for kind in failed_kinds) for name in CLASSES},
        groups=_groups(scored, by),
    )


def tokens_per_second_per_gpu(read: ReadRow, constants: TimeConstants = TIME) -> float:
    """What the model expects of a row, in the unit of the tables."""
    rates = rates_of(read.gpu, constants)
    step = read.step
    if isinstance(step, TrainStep):
        return 1.0 / step_time(step, rates, constants).total
    cards = step.tensor * step.pipeline
    if read.phase == "serving":
        fitting = sequences_that_fit(step, rates.usable_bytes, constants)
        if weight_bytes_resident(step) > rates.usable_bytes * cards:
            raise InvalidInput("the memory cannot hold the weights")
        batch = max(1, min(step.batch, fitting) if step.batch else fitting)
        return batch_time(step, rates, constants, batch=batch).tokens_per_second / cards
    step = replace(step, batch=max(1, step.batch))
    if read.phase == "prefill":
        return step.batch * step.prompt / prefill_seconds(step, rates, constants) / cards
    return 1.0 / decode_seconds_per_token(step, rates, constants) / cards


def kind_of_row(row: Row) -> str:
    """Throughput class of a row by its phase and technique; the phase as written where it is not known."""
    phase = text_of(row, "phase")
    return f"train_{technique_of(row)}" if phase == "train" else PHASES.get(phase, phase)


def belongs(kind: str, name: str) -> bool:
    """The class `train` holds all of its kinds."""
    return kind == name or kind.startswith(f"{name}_")


def _scored(name: str, row: Row, hide_framework: bool, constants: TimeConstants) -> ScoredRow:
    read = read_row(row, hide_framework=hide_framework)
    measured = number_of(row, TOKENS_COLUMN, default=0.0)
    if not measured > 0.0:
        raise InvalidInput(f"the column {TOKENS_COLUMN} holds no rate above 0")
    estimated = tokens_per_second_per_gpu(read, constants)
    kind = kind_of_row(row)
    return ScoredRow(
        id=name,
        kind=kind,
        table=text_of(row, "source"),
        framework=read.step.framework,
        measured=measured,
        estimated=estimated,
        estimated_low=estimated / constants.error[kind][1],
        notes=read.notes,
    )


def _groups(rows: list[ScoredRow], by: str) -> dict[str, GroupScore]:
    key = {"class": "kind", "table": "table", "framework": "framework"}[by]
    names = sorted({getattr(row, key) for row in rows})
    return {name: _group_score([row for row in rows if getattr(row, key) == name]) for name in names}


def _group_score(rows: list[ScoredRow]) -> GroupScore:
    """Under-predicted means too few seconds: more tokens per second promised than were measured."""
    if not rows:
        return GroupScore(count=0, median_ape=None, p90_ape=None, under_point=None, under_safe=None, table_mean_median=None)
    errors = sorted(abs(row.error_percent) for row in rows)
    tables = {row.table for row in rows}
    by_table = [median(abs(row.error_percent) for row in rows if row.table == table) for table in tables]
    return GroupScore(
        count=len(rows),
        median_ape=median(errors),
        p90_ape=errors[min(len(errors) - 1, int(TAIL * len(errors)))],
        under_point=100.0 * sum(row.estimated > row.measured for row in rows) / len(rows),
        under_safe=100.0 * sum(row.estimated_low > row.measured for row in rows) / len(rows),
        table_mean_median=mean(by_table),
    )
