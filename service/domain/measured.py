"""Measured use of a pool: what jobs held and what the engines did, over a window that is told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Self

from pydantic import AwareDatetime, Field, model_validator

from service.domain.base import Fraction, Name, Request, Slug

BOTTLENECK_UNDER, HEALTHY_OVER = 0.70, 0.90


class MeasuredUse(Request):
    """`allocated` is what a rented GPU would have been billed for; `active` only sizes what stalls cost."""

    pool: Slug
    window_start: AwareDatetime
    window_end: AwareDatetime
    allocated_fraction: Fraction | None = Field(default=None, description="GPU-hours held by jobs over calendar GPU-hours")
    active_fraction: Fraction | None = Field(default=None, description="engine busy over calendar GPU-hours")
    gpus: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(default=None, description="seen in the window")
    source: Name
    measured_at: AwareDatetime

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.window_end <= self.window_start:
            raise ValueError("the window ends before it begins")
        if self.allocated_fraction is None and self.active_fraction is None:
            raise ValueError("neither the allocated nor the active share is told")
        return self

    @property
    def busy_fraction(self) -> float | None:
        """Engine busy while a job holds the GPU; None where one of the two is not known."""
        if self.allocated_fraction is None or self.active_fraction is None or self.allocated_fraction <= 0:
            return None
        return min(1.0, self.active_fraction / self.allocated_fraction)


@dataclass(frozen=True, slots=True, kw_only=True)
class UseReading:
    """A measured share as an answer tells it."""

    pool: str
    allocated_fraction: float | None
    active_fraction: float | None
    window_start: datetime
    window_end: datetime
    measured_at: datetime
    age_hours: float
    stale: bool
    source: str
    stalled_gpu_hours_per_month: float | None  # held by jobs, engines idle: what fixing stalls would free
    explained: str
