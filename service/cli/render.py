"""How figures and tables look in a terminal: exact prices, estimates to 3 significant digits, JSON clean on stdout."""

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 220  # a table in a pipe is neither wrapped nor cut


def print_json(answer: Any) -> None:
    """Any answer type as JSON on stdout, as the REST doors write it."""
    from pydantic_core import to_json  # needs no schema, which takes longer to build than an answer to write

    sys.stdout.write(to_json(answer, indent=2, inf_nan_mode="null").decode())
    sys.stdout.write("\n")


def console() -> "Console":
    """stdout; as wide as the terminal, wide enough for every column in a pipe; no colour there or under NO_COLOR."""
    from rich.console import Console

    terminal = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, force_terminal=terminal, soft_wrap=False)


def table(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> "Table":
    """A plain table; `right` names the columns of figures."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column in right, overflow="fold")
    return made


def usd(value: float | None) -> str:
    """An exact price: cents at least, trailing zeros beyond them cut; "-" when unknown."""
    if value is None:
        return "-"
    text = f"{value:,.4f}".rstrip("0")
    whole, _, part = text.partition(".")
    return f"{whole}.{part.ljust(2, '0')}"


def about(value: float | None) -> str:
    """An estimate to 3 significant digits; "-" when unknown."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    from math import floor, log10

    digits = 2 - floor(log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.{max(0, digits)}f}".rstrip("0").rstrip(".") if digits > 0 else f"{rounded:,.0f}"


def cards(gpu: str, gpu_count: float, nodes: int = 1) -> str:
    """8x H100-SXM, 2 x 8x H100-SXM for two machines."""
    one = f"{gpu_count:g}x {gpu}"
    return one if nodes == 1 else f"{nodes} x {one}"
