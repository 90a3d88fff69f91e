"""Figure: one chart as data, and its SVG in the light or dark look or in the colours of the page.

The same figure goes on the web page, into the PDF and out as a file. Layout does not depend on the fonts of the machine:
the renderer measures text with the fonts it brings along.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
VEGA_LITE: Final = "6.4"

INK, MUTED, GRID = "#1b1f24", "#57606a", "#d8dee4"
BLUE, ORANGE, GREEN, VIOLET, PINK = "#0b62c4", "#b84a00", "#177a35", "#7c4ad6", "#b5317f"
TEAL, OLIVE, GREY = "#0d7a80", "#7d6a00", "#6b747d"
SERIES: Final = (BLUE, ORANGE, GREEN, VIOLET, PINK, TEAL, OLIVE, GREY)

_NAMES: Final = {
    INK: "ink", MUTED: "muted", GRID: "grid", BLUE: "blue", ORANGE: "orange", GREEN: "green", VIOLET: "violet", PINK: "pink",
    TEAL: "teal", OLIVE: "olive", GREY: "grey",
}  # fmt: skip
_DARK: Final = {
    INK: "#e6edf3", MUTED: "#a3adb8", GRID: "#343b44", BLUE: "#6cb0ff", ORANGE: "#f29b5b", GREEN: "#56c271", VIOLET: "#c19bff",
    PINK: "#f589c1", TEAL: "#4fc3c9", OLIVE: "#cdb84a", GREY: "#97a1ab",
}  # fmt: skip
_COLOUR: Final = re.compile("|".join(_NAMES))
_ROOT: Final = re.compile(r'^<svg [^>]*?width="(?P<width>\d+)" height="(?P<height>\d+)" viewBox="(?P<box>[^"]*)">')
_CLIP: Final = re.compile(r"\bclip\d+\b(?=[\")])")
_SPOKEN: Final = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')


class Look(StrEnum):
    """For white paper, for a dark ground, or for a page whose style sheet defines `--chart-ink`, `--chart-blue`, ..."""

    LIGHT = "light"
    DARK = "dark"
    PAGE = "page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart: what it shows in words, as a table, and as a Vega-Lite specification in the light look."""

    name: str
    title: str
    summary: str  # one sentence that says what the picture says
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spec: Mapping[str, Any]


def svg_of(figure: Figure, look: Look = Look.LIGHT) -> str:
    """The picture. The same figure and look give the same text, character by character."""
    drawn = _drawn(json.dumps(figure.spec, sort_keys=True))
    found = _ROOT.match(drawn)
    if found is None:
        raise ValueError("the renderer wrote another kind of SVG")
    label = _escaped(f"{figure.title}. {figure.summary}")
    size = f'width="{found["width"]}" height="{found["height"]}" viewBox="{found["box"]}"'
    root = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" {size}>'
    body = _with_own_ids(_SPOKEN.sub("", drawn[found.end() :]), figure.name)
    return root + _COLOUR.sub(lambda colour: _painted(colour[0], look), body)


@lru_cache(maxsize=64)
def _drawn(spec: str) -> str:
    """The renderer's own SVG. A page that is opened again, and its other looks, need not be drawn again."""
    import vl_convert  # 80 MB that only a picture needs

    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    return drawn


def _with_own_ids(body: str, name: str) -> str:
    """The renderer counts on over all it draws: ids are numbered anew, so that no two figures of a page share one."""
    numbers = {clip: f"{name}-{number}" for number, clip in enumerate(dict.fromkeys(_CLIP.findall(body)))}
    return _CLIP.sub(lambda clip: numbers[clip[0]], body)


def _painted(colour: str, look: Look) -> str:
    if look is Look.PAGE:
        return f"var(--chart-{_NAMES[colour]})"
    return _DARK[colour] if look is Look.DARK else colour


def page_colours() -> dict[str, tuple[str, str]]:
    """Name of each colour with its light and its dark value, for the style sheet of a page."""
    return {name: (light, _DARK[light]) for light, name in _NAMES.items()}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
