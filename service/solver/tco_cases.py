"""Cases of rent or own that others published, computed with a plan's own functions: `gpuplan evaluate tco`.

One row holds one figure of one metric. Absent cells are absent, not zero: a metric that needs one fails and says which.
No discounting and no residual; a cost that never comes back is infinite.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from providers.errors import InvalidInput
from service.estimate.row_cells import Row, text_of
from service.solver.tco_metrics import METRICS, TcoCase, UnusableCell, cell_of, required_cell

_SLACK: Final = 1e-12  # of float noise at the edge of a tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class TcoResult:
    """One row: what was published, what we compute, and whether they agree."""

    case_id: str
    metric: str
    unit: str
    expected: float
    ours: float | None  # None: it cannot be computed, `reason` says why
    passed: bool
    reason: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TcoScore:
    """Every row."""

    results: tuple[TcoResult, ...]

    @property
    def failures(self) -> tuple[TcoResult, ...]:
        """The rows that do not agree."""
        return tuple(result for result in self.results if not result.passed)

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on; an infinite figure is the word "inf"."""
        failed = [
            {
                "case_id": one.case_id,
                "metric": one.metric,
                "expected": _json(one.expected),
                "ours": _json(one.ours),
                "reason": one.reason,
            }
            for one in self.failures
        ]
        counted = {"rows": len(self.results), "passed": len(self.results) - len(failed), "failed": len(failed)}
        return {**counted, "failures": failed}


def evaluate_tco(rows: Iterable[Row]) -> TcoScore:
    """Every row computed and compared.

    Args:
        rows: of a CSV file with the columns of tests/accuracy/tco_cases.csv.
    Raises:
        InvalidInput: a metric that is not known.
    """
    return TcoScore(results=tuple(_result(at, row) for at, row in enumerate(rows, start=1)))


def _result(at: int, row: Row) -> TcoResult:
    name, metric = text_of(row, "case_id") or f"row {at}", text_of(row, "metric")
    if metric not in METRICS:
        raise InvalidInput(f"row {at}: the metric is not known", pointer="/metric", allowed=sorted(METRICS))
    case, expected, ours, reason, passed = TcoCase(row), math.nan, None, "", False
    try:
        expected = required_cell(row, "expected", least=-math.inf, finite=False)
        ours = METRICS[metric](case)
        allowed = max((cell_of(row, "tolerance_rel") or 0.0) * abs(expected), cell_of(row, "tolerance_abs") or 0.0)
        passed = ours == expected or abs(ours - expected) <= allowed + _SLACK * abs(expected) < math.inf
    except UnusableCell as error:
        reason = str(error)
    except (ZeroDivisionError, OverflowError):
        reason = "a divisor is zero or a number too large"
    return TcoResult(
        case_id=name,
        metric=metric,
        unit=text_of(row, "unit"),
        expected=expected,
        ours=ours,
        passed=passed,
        reason=reason,
        notes=case.notes,
    )


def _json(value: float | None) -> float | str | None:
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)
