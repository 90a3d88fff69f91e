"""Charts of the options and of the market: cost by component, cost against time, and prices over time."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from service.reports.chart_data import ComponentCosts, PricePoint, PriceSeries, TimeAgainstCost, pareto_front
from service.reports.chart_parts import (
    ROW_PIXELS,
    USD_AXIS,
    dashed_rule,
    inline,
    label_at,
    series_colour,
    specification,
    spread,
)
from service.reports.figure import BLUE, GREEN, INK, MUTED, ORANGE, SERIES, Figure
from service.solver.words import about, about_hours, about_usd

_OTHER: Final = "other"
_LABELLED: Final = 5  # points of the front that carry their name
_LOG_FROM: Final = 25.0  # largest over smallest from which hours stand on a logarithmic axis


def cost_by_component(data: ComponentCosts) -> Figure:
    """Stacked bars from zero, one per option, in the order given."""
    import altair as alt

    names = _component_names(data)
    totals: dict[tuple[str, str], float] = {}
    for option, line, cost in data.lines:
        key = (option, line if line in names else _OTHER)
        totals[key] = totals.get(key, 0.0) + cost
    rows = [(option, name, totals.get((option, name), 0.0)) for option in data.options for name in names]
    values = [{"option": option, "series": name, "usd": cost, "order": names.index(name)} for option, name, cost in rows if cost]
    title = f"Cost {data.period} (USD)"
    bars = (
        alt.Chart(inline(values))
        .mark_bar()
        .encode(
            x=alt.X("usd:Q", title=title, stack="zero", scale=alt.Scale(zero=True), axis=alt.Axis(format=USD_AXIS)),
            y=alt.Y("option:N", title=None, sort=list(data.options)),
            color=series_colour(names, SERIES),
            order=alt.Order("order:Q"),
        )
    )
    largest = max(names, key=lambda name: sum(cost for _, line, cost in rows if line == name), default="none")
    return Figure(
        name="components",
        title="Cost by component",
        summary=f"Over the {len(data.options)} options shown the largest component is {largest}.",
        columns=("Option", *(f"{name}, USD" for name in names), f"Total {data.period}, USD"),
        rows=tuple(
            (
                option,
                *(about_usd(totals.get((option, name), 0.0)) for name in names),
                about_usd(sum(cost for chosen, _, cost in data.lines if chosen == option)),
            )
            for option in data.options
        ),
        spec=specification(bars, height=ROW_PIXELS * max(2, len(data.options))),
    )


def _component_names(data: ComponentCosts) -> list[str]:
    """The components by size; what is over the number of colours is one component."""
    sums: dict[str, float] = {}
    for _, line, cost in data.lines:
        sums[line] = sums.get(line, 0.0) + cost
    ordered = sorted((name for name, cost in sums.items() if cost), key=lambda name: (-sums[name], name))
    return ordered if len(ordered) <= len(SERIES) else [*ordered[: len(SERIES) - 1], _OTHER]


def cost_against_time(data: TimeAgainstCost) -> Figure:
    """Every option by the hours a run takes and by its cost; the front joins those that none beats in both."""
    import altair as alt

    colours = {"cloud, on demand": BLUE, "cloud, spot": GREEN, "own hardware": ORANGE}
    kinds = [kind for kind in colours if any(point.kind == kind for point in data.points)]
    front = pareto_front(data.points)
    hours = [point.hours for point in data.points]
    is_wide = max(hours) > _LOG_FROM * min(hours)
    scale = alt.Scale(type="log", nice=True) if is_wide else alt.Scale(zero=True, nice=True)
    x = alt.X(
        "hours:Q",
        title=f"Time to finish one run (hours{', logarithmic' if is_wide else ''})",
        scale=scale,
        axis=alt.Axis(format=",~r"),
    )
    y = alt.Y("usd:Q", title=f"Cost {data.period} (USD)", scale=alt.Scale(zero=True), axis=alt.Axis(format=USD_AXIS))
    values = [{"hours": point.hours, "usd": point.usd, "series": point.kind} for point in data.points]
    on_front = [{"hours": point.hours, "usd": point.usd, "label": point.mark} for point in front]
    points = alt.Chart(inline(values)).mark_point(filled=True, size=60, opacity=0.85)
    steps = alt.Chart(inline(on_front)).mark_line(interpolate="step-after", color=MUTED, strokeDash=[4, 3])
    names = alt.Chart(inline(on_front[-_LABELLED:])).mark_text(align="left", dx=7, dy=-7, color=INK, fontSize=11)
    layers = [steps.encode(x=x, y=y), points.encode(x=x, y=y, color=series_colour(kinds, [colours[kind] for kind in kinds]))]
    layers.append(names.encode(x=x, y=y, text="label:N"))
    if data.deadline_hours is not None:
        layers.append(dashed_rule("hours", data.deadline_hours, INK))
        layers.append(label_at("hours", data.deadline_hours, "deadline", flip=True))
    return Figure(
        name="pareto",
        title="Cost against time to finish",
        summary=f"{len(front)} of {len(data.points)} options are beaten by none in both time and cost;"
        f" the quickest of them takes {about_hours(front[0].hours)}, the cheapest costs {about_usd(front[-1].usd)}.",
        columns=("Option", "Kind", "Hours of a run", f"Cost {data.period}, USD", "On the front"),
        rows=tuple(
            (point.label, point.kind, about(point.hours), about_usd(point.usd), "yes" if point in front else "no")
            for point in data.points
        ),
        spec=specification(alt.layer(*layers)),
    )


def price_history(data: PriceSeries) -> Figure:
    """The spot prices of a card as a band with its median, and the on-demand median as a line; prices hold until they change."""
    import altair as alt

    x = alt.X("at:T", title="Time (UTC)", scale=alt.Scale(type="utc"), axis=alt.Axis(format=_day_format(data), tickCount=6))
    y_axis = alt.Axis(format="$,~r", title="USD per GPU-hour")
    layers: list[Any] = []
    names, colours = [], []
    for name, points, colour in (("spot, lowest to highest", data.spot, GREEN), ("on demand, median", data.on_demand, BLUE)):
        if not points:
            continue
        names.append(name)
        colours.append(colour)
    shown = series_colour(names, colours)
    if data.spot:
        band = alt.Chart(inline(_values(data.spot, names[0]))).mark_area(interpolate="step-after", opacity=0.25)
        middle = alt.Chart(inline(_values(data.spot, names[0]))).mark_line(interpolate="step-after", strokeWidth=1.5)
        y = alt.Y("low:Q", axis=y_axis, scale=alt.Scale(zero=True))
        layers += [
            band.encode(x=x, y=y, y2="high:Q", color=shown),
            middle.encode(x=x, y=alt.Y("median:Q", axis=y_axis), color=shown),
        ]
    if data.on_demand:
        line = alt.Chart(inline(_values(data.on_demand, names[-1]))).mark_line(interpolate="step-after", strokeWidth=2.5)
        layers.append(line.encode(x=x, y=alt.Y("median:Q", axis=y_axis, scale=alt.Scale(zero=True)), color=shown))
    return Figure(
        name="history",
        title=f"Prices of {data.gpu}",
        summary=" ".join(filter(None, (_last("Spot", data.spot), _last("On demand", data.on_demand)))) or "No price is stored.",
        columns=("From (UTC)", "Kind", "Lowest, USD per GPU-hour", "Median, USD per GPU-hour", "Highest, USD per GPU-hour"),
        rows=(*_rows("spot", data.spot), *_rows("on demand", data.on_demand)),
        spec=specification(alt.layer(*layers)) if layers else {},
    )


def _day_format(data: PriceSeries) -> str:
    """Days, with the hours where there are few of them."""
    times = [point.at for point in (*data.spot, *data.on_demand)]
    return "%-d %b" if times and max(times) - min(times) > timedelta(days=3) else "%-d %b %H:%M"


def _values(points: Sequence[PricePoint], series: str) -> list[dict[str, Any]]:
    return [
        {"at": f"{point.at:%Y-%m-%dT%H:%M:%SZ}", "low": point.low, "median": point.median, "high": point.high, "series": series}
        for point in points
    ]


def _last(kind: str, points: Sequence[PricePoint]) -> str:
    return f"{kind}: {about_usd(points[-1].low)} to {about_usd(points[-1].high)} at the end." if points else ""


def _rows(kind: str, points: Sequence[PricePoint]) -> list[tuple[str, ...]]:
    chosen = [points[at] for at in spread(len(points))]
    return [(f"{one.at:%Y-%m-%d %H:%M}", kind, about_usd(one.low), about_usd(one.median), about_usd(one.high)) for one in chosen]
