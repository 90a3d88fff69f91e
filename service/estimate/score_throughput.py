"""Score of the time model on a table of measured throughput: what `gpuplan evaluate throughput` prints."""

from collections.abc import Iterable
from dataclasses import replace

from providers.errors import InvalidInput
from service.domain.workload import Framework
from service.estimate.card_rates import rates_of
from service.estimate.decode import decode_seconds_per_token
from service.estimate.infer_step import weight_bytes_resident
from service.estimate.prefill import prefill_seconds
from service.estimate.row_cells import Row, framework_of, measured_of, text_of
from service.estimate.runtime import step_time
from service.estimate.scores import Compared, Score, judge
from service.estimate.serving_load import batch_time, sequences_that_fit
from service.estimate.throughput_rows import PHASES, ReadRow, read_row, technique_of
from service.estimate.time_constants import TIME, TimeConstants
from service.estimate.train_step import TrainStep

CLASSES = ("train", "train_full", "train_lora", "train_qlora", "decode", "prefill", "serving")
MEASURED_COLUMN = "tokens_per_s_per_gpu"


def evaluate_throughput(
    rows: Iterable[Row], *, by: str = "class", hide_framework: bool = False, constants: TimeConstants = TIME
) -> Score:
    """Every row estimated and compared, in tokens per second and GPU; the safe value is the low end of the range.

    Under-predicted means too few seconds: more tokens per second promised than were measured.

    Args:
        rows: of a CSV file with the columns of tests/accuracy/measured_throughput.csv.
        by: class, table or framework: what `groups` holds.
    Raises:
        InvalidInput: `by` is none of these.
    """

    def compare(row: Row) -> Compared:
        read = read_row(row, hide_framework=hide_framework)
        measured = measured_of(row, MEASURED_COLUMN)
        estimated = tokens_per_second_per_gpu(read, constants)
        slowest = estimated / constants.error[kind_of_row(row)][1]
        return Compared(measured=measured, point=estimated, safe=slowest, is_rate=True, notes=read.notes)

    return judge(
        rows,
        by=by,
        classes=CLASSES,
        class_of=kind_of_row,
        framework_of=lambda row: Framework.UNKNOWN.value if hide_framework else framework_of(row, []).value,
        compare=compare,
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
