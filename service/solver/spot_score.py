"""Score of the interruption model on recorded traces: what `gpuplan evaluate spot` prints."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from service.solver.spot_traces import USEFUL_HOURS, Case, Rate, Trace, case_of

_TAIL: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceScore:
    """One trace: its cases, its rate, and why it has none."""

    name: str
    rate: Rate | None
    cases: tuple[Case, ...]
    left_out: str  # "" where every length of job counts


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotScore:
    """All traces; errors are taken over cases, in percent; None without a case."""

    traces: tuple[TraceScore, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every case that counts."""
        return tuple(case for trace in self.traces for case in trace.cases)

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on, all in percent but `cases`, and the traces one by one."""
        return {"cases": len(self.cases), **figures_of(self.cases), "traces": [_trace_json(trace) for trace in self.traces]}


def evaluate_spot(traces: Iterable[Trace]) -> SpotScore:
    """Every length of job on every trace."""
    return SpotScore(traces=tuple(_scored(trace) for trace in traces))


def _scored(trace: Trace) -> TraceScore:
    if trace.rate is None:
        said = "its first half has no spell of up time or none of down time"
        return TraceScore(name=trace.name, rate=None, cases=(), left_out=said)
    found = [(hours, case_of(trace, hours)) for hours in USEFUL_HOURS]
    short = [f"{hours:g}" for hours, case in found if case is None]
    said = f"jobs of {', '.join(short)} h: too few starts finish" if short else ""
    return TraceScore(name=trace.name, rate=trace.rate, cases=tuple(c for _, c in found if c is not None), left_out=said)


def figures_of(cases: tuple[Case, ...]) -> dict[str, float | None]:
    """Errors in percent, the share of wall times within their range, and the range's median width beside the expected."""
    if not cases:
        names = ("paid_median_ape", "paid_p90_ape", "wall_median_ape", "wall_p90_ape", "wall_in_range", "wall_range_median_width")
        return dict.fromkeys(names)
    paid, wall = (
        sorted(abs(error) for error in errors) for errors in zip(*((c.paid_error, c.wall_error) for c in cases), strict=True)
    )
    tail = min(len(cases) - 1, int(_TAIL * len(cases)))
    widths = [(case.wall_high_hours - case.wall_low_hours) / case.predicted_wall_hours for case in cases]
    return {
        "paid_median_ape": 100 * median(paid),
        "paid_p90_ape": 100 * paid[tail],
        "wall_median_ape": 100 * median(wall),
        "wall_p90_ape": 100 * wall[tail],
        "wall_in_range": 100 * sum(case.in_range for case in cases) / len(cases),
        "wall_range_median_width": 100 * median(widths),
    }


def _trace_json(trace: TraceScore) -> dict[str, Any]:
    rate = trace.rate
    return {
        "name": trace.name,
        "hours_between_stops": None if rate is None else rate.hours_between_stops,
        "mean_down_hours": None if rate is None else rate.mean_down_hours,
        "up_fraction": None if rate is None else rate.up_fraction,
        "stops": None if rate is None else rate.stops,
        "left_out": trace.left_out,
        **figures_of(trace.cases),
        "cases": [
            {
                "useful_hours": case.useful_hours,
                "starts": case.starts,
                "finished": case.finished,
                "paid_hours": case.paid_hours,
                "predicted_paid_hours": case.predicted_paid_hours,
                "wall_hours": case.wall_hours,
                "predicted_wall_hours": case.predicted_wall_hours,
                "wall_range_hours": [case.wall_low_hours, case.wall_high_hours],
            }
            for case in trace.cases
        ],
    }
