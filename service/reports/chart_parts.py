"""Parts that the charts share: look, axes, rules with their labels, and how figures stand in a chart's table."""

from collections.abc import Sequence
from typing import Any, Final

from service.reports.figure import FONT, GRID, INK, MUTED
from service.solver.words import about_usd

WIDTH, HEIGHT, ROW_PIXELS = 460, 250, 24
ROOM: Final = 26  # a viewer without the font may draw words a seventh wider than they were measured
USD_AXIS: Final = "$,~f"
TABLE_ROWS: Final = 13


def inline(values: Sequence[dict[str, Any]]) -> Any:
    """The data of a layer, inside the specification."""
    import altair as alt

    return alt.InlineData(values=list(values))


def series_colour(names: Sequence[str], colours: Sequence[str]) -> Any:
    """One colour per series, with its legend above the picture."""
    import altair as alt

    domain = list(names)
    return alt.Color(
        "series:N",
        title=None,
        sort=domain,
        scale=alt.Scale(domain=domain, range=list(colours[: len(domain)])),
        legend=alt.Legend(orient="top", labelLimit=WIDTH // 2, columns=3 if sum(map(len, domain)) < 75 else 2),
    )


def dashed_rule(field: str, at: float, colour: str = MUTED) -> Any:
    """A vertical line at one value of the x axis."""
    import altair as alt

    return alt.Chart(inline([{field: at}])).mark_rule(strokeDash=[4, 3], color=colour).encode(x=f"{field}:Q")


def label_at(field: str, at: float, text: str, *, flip: bool, line: int = 0) -> Any:
    """Words beside a vertical line, at the top; `flip` puts them to its left, `line` counts downwards."""
    import altair as alt

    mark = alt.Chart(inline([{field: at, "text": text}])).mark_text(
        align="right" if flip else "left", dx=-5 if flip else 5, baseline="top", color=INK, fontSize=12, clip=False
    )
    return mark.encode(x=f"{field}:Q", y=alt.value(4 + 16 * line), text="text:N")


def specification(chart: Any, *, height: int = HEIGHT) -> dict[str, Any]:
    """The whole specification: size, fonts and colours of every axis and legend."""
    import altair as alt

    words: dict[str, Any] = {
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    axis: dict[str, Any] = {"gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED, "labelColor": MUTED, "titleColor": INK}
    look = alt.Config(
        aria=False,
        background="transparent",
        font=FONT,
        padding={"left": ROOM, "right": ROOM, "top": 4, "bottom": 4},
        axis=alt.AxisConfig(**axis, **words, titlePadding=14, labelLimit=220, labelOverlap=True, labelSeparation=8),
        legend=alt.LegendConfig(**words, labelColor=INK, columnPadding=36, symbolOpacity=1),
        text=alt.MarkConfig(font=FONT),
        view=alt.ViewConfig(stroke=None),
    )
    told: dict[str, Any] = chart.properties(width=WIDTH, height=height, config=look).to_dict()
    return told


def spread(count: int, shown: int = TABLE_ROWS) -> list[int]:
    """At most `shown` positions of `count`, evenly spread, the first and the last among them."""
    if count <= shown:
        return list(range(count))
    return [round(step * (count - 1) / (shown - 1)) for step in range(shown)]


def signed_usd(value: float) -> str:
    """An amount that may be below zero, with three significant digits."""
    return about_usd(value) if value >= 0 else f"-{about_usd(-value)}"
