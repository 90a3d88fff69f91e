"""Score of the memory model on a table of measured memory: what `gpuplan evaluate memory` prints."""

from collections.abc import Iterable
from dataclasses import replace

from service.domain.workload import Framework
from service.estimate.memory_constants import MEMORY, MemoryConstants
from service.estimate.memory_rows import class_of_row, read_memory_row
from service.estimate.row_cells import Row, framework_of, measured_of
from service.estimate.scores import Compared, Score, judge
from service.estimate.vram import memory_need

CLASSES = ("full", "lora", "qlora", "inference_16bit", "inference_8bit", "inference_4bit")
MEASURED_COLUMN = "measured_gib"


def evaluate_memory(
    rows: Iterable[Row], *, by: str = "class", hide_framework: bool = False, constants: MemoryConstants = MEMORY
) -> Score:
    """Every row estimated in its own reading and compared, in GiB a GPU.

    Args:
        rows: of a CSV file with the columns of tests/accuracy/measured_memory.csv.
        by: class, table or framework: what `groups` holds.
    Raises:
        InvalidInput: `by` is none of these.
    """

    def compare(row: Row) -> Compared:
        setup, notes = read_memory_row(row, hide_framework=hide_framework)
        measured = measured_of(row, MEASURED_COLUMN)
        need = memory_need(replace(setup, constants=constants))
        return Compared(measured=measured, point=need.point_gib, safe=need.safe_gib, notes=notes)

    return judge(
        rows,
        by=by,
        classes=CLASSES,
        class_of=class_of_row,
        framework_of=lambda row: Framework.UNKNOWN.value if hide_framework else framework_of(row, []).value,
        compare=compare,
    )
