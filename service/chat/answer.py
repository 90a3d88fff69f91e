"""Answer: what every platform shows, as parts: a title, the reading, lines, a table, notes and what can be asked next."""

from dataclasses import dataclass

from service.domain.plan import Plan

SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A head and rows of the same length."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Button:
    """A label, and the line that pressing it says."""

    label: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parts, in the order of reading. `is_private`: for the asker's eyes only."""

    title: str
    reading: str = ""
    lines: tuple[str, ...] = ()
    block: str = ""  # shown with its blanks: a line with carets under it
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    buttons: tuple[Button, ...] = ()
    link: str | None = None
    plan: Plan | None = None
    is_private: bool = False
    is_refusal: bool = False
