"""Calibration: factors that a user's own measurements put on our estimates, by framework and by card."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from providers.errors import InvalidInput
from providers.gpus import GPUS
from service.domain.estimate import Assumption
from service.domain.workload import Framework

LEAST_FACTOR, MOST_FACTOR = 0.25, 4.0
MEMORY_USES = ("training", "inference")
PHASES = ("train", "decode", "prefill", "serving")
_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """Factors; a name without one has 1. Compared by identity: one is read at start.

    `memory`, by "framework/training" or "framework/inference", is on the parts of the need that were fitted (activations,
    logits, workspace, unused blocks), not on those that follow from formats. `seconds` is by "framework/phase", `cards` by
    the GPU's name; both are on the time.
    """

    memory: Mapping[str, float] = field(default_factory=lambda: _NONE)
    seconds: Mapping[str, float] = field(default_factory=lambda: _NONE)
    cards: Mapping[str, float] = field(default_factory=lambda: _NONE)
    rows: int = 0
    as_of: str | None = None

    def memory_factor(self, framework: Framework, use: str) -> float:
        """On the fitted parts of the need."""
        return self.memory.get(f"{framework.value}/{use}", 1.0)

    def seconds_factor(self, framework: str, phase: str, gpu: str) -> float:
        """On the time of a phase on a card."""
        return self.seconds.get(f"{framework}/{phase}", 1.0) * self.cards.get(gpu, 1.0)

    @property
    def version(self) -> str:
        """Names the factors, for whatever depends on them; "" when there are none."""
        named = [sorted(table.items()) for table in (self.memory, self.seconds, self.cards)]
        return sha256(repr(named).encode()).hexdigest()[:12] if any(named) else ""

    def assumptions(self, framework: Framework) -> tuple[Assumption, ...]:
        """What it changes for jobs of a framework, as an answer lists it."""
        source = f"your calibration, fitted on {self.rows} measured rows"
        own = [
            *((f"memory of {name}", factor) for name, factor in self.memory.items() if name.startswith(f"{framework.value}/")),
            *((f"time of {name}", factor) for name, factor in self.seconds.items() if name.startswith(f"{framework.value}/")),
            *((f"time on {name}", factor) for name, factor in self.cards.items()),
        ]
        return tuple(
            Assumption(name=f"calibration: {what}", value=factor, unit="factor", source=source, as_of=self.as_of)
            for what, factor in own
        )


UNCALIBRATED = Calibration()


def calibration_from(tables: Mapping[str, Any]) -> Calibration:
    """The calibration of a file's tables [memory], [seconds], [cards] and [about].

    Raises:
        InvalidInput: a table or a name in it is not known, or a factor is not a number from 0.25 to 4.
    """
    if unknown := sorted(set(tables) - {"memory", "seconds", "cards", "about"}):
        raise InvalidInput(f"a calibration has no table {', '.join(unknown)}", allowed=("memory", "seconds", "cards", "about"))
    frameworks = [framework.value for framework in Framework]
    about = tables.get("about", {})
    as_of, rows = (about.get("as_of"), about.get("rows")) if isinstance(about, Mapping) else (None, None)
    return Calibration(
        memory=_factors(tables, "memory", {f"{one}/{use}" for one in frameworks for use in MEMORY_USES}),
        seconds=_factors(tables, "seconds", {f"{one}/{phase}" for one in frameworks for phase in PHASES}),
        cards=_factors(tables, "cards", set(GPUS)),
        rows=rows if isinstance(rows, int) and not isinstance(rows, bool) else 0,
        as_of=str(as_of)[:10] if as_of else None,
    )


def _factors(tables: Mapping[str, Any], name: str, known: set[str]) -> Mapping[str, float]:
    table = tables.get(name, {})
    if not isinstance(table, Mapping):
        raise InvalidInput(f"[{name}] of a calibration is no table", pointer=f"/{name}")
    for key, factor in table.items():
        if key not in known:
            raise InvalidInput(f"[{name}] of a calibration names what is not known", pointer=f"/{name}")
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not LEAST_FACTOR <= factor <= MOST_FACTOR:
            raise InvalidInput(
                f"[{name}] of a calibration holds a factor outside {LEAST_FACTOR} to {MOST_FACTOR}", pointer=f"/{name}/{key}"
            )
    return MappingProxyType({key: float(factor) for key, factor in table.items()})
