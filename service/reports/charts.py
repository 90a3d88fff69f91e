"""Charts of the decision: owning against renting by use and by month, and what moves the difference most."""

from typing import Any, Final

from service.reports.chart_data import CumulativeCost, Tornado, UtilizationCost
from service.reports.chart_parts import (
    ROW_PIXELS,
    USD_AXIS,
    dashed_rule,
    inline,
    label_at,
    series_colour,
    signed_usd,
    specification,
    spread,
)
from service.reports.figure import BLUE, GREEN, INK, ORANGE, Figure
from service.solver.words import about, about_usd, percent

SWINGS_SHOWN: Final = 10
_FLIP_OVER: Final = 70.0  # percent: words right of a line further out would leave the picture
_CEILING: Final = 3.0  # how far over the dearest rented hour the curve is shown: at low use it leaves any scale


def cost_against_utilization(data: UtilizationCost) -> Figure:
    """Cost of a useful GPU-hour of own hardware against how much it is used, with the prices of renting."""
    return Figure(
        name="utilization",
        title="Cost of a useful GPU-hour against utilization",
        summary=_utilization_summary(data),
        columns=(
            "Utilization",
            f"Own ({data.pool}), USD per useful GPU-hour",
            *(f"{name}, USD per GPU-hour" for name, _ in data.cloud),
        ),
        rows=tuple(
            (
                percent(data.utilization_fractions[at]),
                about_usd(data.usd_per_useful_gpu_hour[at]),
                *(about_usd(cost) for _, cost in data.cloud),
            )
            for at in spread(len(data.utilization_fractions))
        ),
        spec=_utilization_picture(data),
    )


def _utilization_picture(data: UtilizationCost) -> dict[str, Any]:
    """The curve, a level line for each price of renting, and where they meet."""
    import altair as alt

    own = f"own: {data.pool}"
    values = [
        {"used": 100 * used, "usd": cost, "series": own}
        for used, cost in zip(data.utilization_fractions, data.usd_per_useful_gpu_hour, strict=True)
    ]
    values += [{"used": end, "usd": cost, "series": name} for name, cost in data.cloud for end in (0, 100)]
    least = data.usd_per_useful_gpu_hour[-1]
    top = min(max(data.usd_per_useful_gpu_hour), _CEILING * max([least, *(cost for _, cost in data.cloud)]))
    x = alt.X(
        "used:Q",
        title="Utilization of own hardware (% of calendar hours)",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(tickCount=10),
    )
    y = alt.Y(
        "usd:Q", title="USD per useful GPU-hour", scale=alt.Scale(domain=[0, top], nice=True), axis=alt.Axis(format=USD_AXIS)
    )
    names = [own, *(name for name, _ in data.cloud)]
    lines = (
        alt.Chart(inline(values))
        .mark_line(clip=True, strokeWidth=2.5)
        .encode(x=x, y=y, color=series_colour(names, [ORANGE, BLUE, GREEN]))
    )
    marks = [(100 * share, f"breakeven {percent(share)}") for share in data.breakeven_fractions]
    if data.stated_fraction is not None:
        marks.append((100 * data.stated_fraction, f"this plan {percent(data.stated_fraction)}"))
    layers: list[Any] = [lines]
    for line, (share, words) in enumerate(marks):
        layers += [dashed_rule("used", share), label_at("used", share, words, flip=share > _FLIP_OVER, line=line)]
    return specification(alt.layer(*layers))


def _utilization_summary(data: UtilizationCost) -> str:
    meets = " and ".join(percent(share) for share in data.breakeven_fractions)
    rented = ", ".join(f"{name} {about_usd(cost)}" for name, cost in data.cloud)
    first = (
        f"Owning costs as much as renting at {meets} utilization"
        if meets
        else "Owning costs more than renting at any utilization shown"
    )
    return f"{first} ({rented} an hour)."


def cumulative_cost(data: CumulativeCost) -> Figure:
    """Money spent by month, rented against owned, with the month from which owning has cost less."""
    import altair as alt

    rent, own = "rent", f"own: {data.pool}"
    values = [{"month": month, "usd": spent, "series": rent} for month, spent in zip(data.months, data.rent_usd, strict=True)]
    values += [{"month": month, "usd": spent, "series": own} for month, spent in zip(data.months, data.own_usd, strict=True)]
    x = alt.X("month:Q", title="Months from the decision", scale=alt.Scale(domain=[0, data.months[-1]], nice=False))
    y = alt.Y("usd:Q", title="Cumulative cost (USD)", scale=alt.Scale(zero=True), axis=alt.Axis(format=USD_AXIS))
    lines = (
        alt.Chart(inline(values)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=series_colour([own, rent], [ORANGE, BLUE]))
    )
    layers: list[Any] = [lines]
    if data.crossing_month is None:
        summary = f"Renting stays below owning for all {about(data.months[-1])} months shown."
    else:
        summary = f"Owning has cost less than renting from month {about(data.crossing_month)} on."
        words, late = f"paid back: month {about(data.crossing_month)}", data.crossing_month > data.months[-1] / 2
        layers += [dashed_rule("month", data.crossing_month), label_at("month", data.crossing_month, words, flip=late)]
    return Figure(
        name="cumulative",
        title="Cumulative cost, rented against owned",
        summary=summary,
        columns=("Month", "Rent, USD", f"Own ({data.pool}), USD"),
        rows=tuple(
            (about(data.months[at]), about_usd(data.rent_usd[at]), about_usd(data.own_usd[at])) for at in spread(len(data.months))
        ),
        spec=specification(alt.layer(*layers)),
    )


def tornado(data: Tornado) -> Figure:
    """How far each input moves the result; bars begin at no change, the longest stands on top."""
    import altair as alt

    largest = sorted(data.swings, key=lambda one: (-max(abs(one.usd_at_low), abs(one.usd_at_high)), one.name))[:SWINGS_SHOWN]
    low, high = "input at its low value", "input at its high value"
    values = [{"name": one.name, "usd": one.usd_at_low, "series": low} for one in largest]
    values += [{"name": one.name, "usd": one.usd_at_high, "series": high} for one in largest]
    bars = (
        alt.Chart(inline(values))
        .mark_bar()
        .encode(
            x=alt.X("usd:Q", title=f"Change of {data.result} (USD)", scale=alt.Scale(zero=True), axis=alt.Axis(format=USD_AXIS)),
            y=alt.Y("name:N", title=None, sort=[one.name for one in largest]),
            color=series_colour([low, high], [BLUE, ORANGE]),
        )
    )
    zero = dashed_rule("usd", 0.0, INK)
    first = largest[0].name if largest else "No input"
    return Figure(
        name="tornado",
        title=f"What moves {data.result} most",
        summary=f"{first[:1].upper()}{first[1:]} moves it most; without changes it is {signed_usd(data.base_usd)}.",
        columns=("Input", "Low value", "Change, USD", "High value", "Change, USD"),
        rows=tuple(
            (one.name, one.low_input, signed_usd(one.usd_at_low), one.high_input, signed_usd(one.usd_at_high)) for one in largest
        ),
        spec=specification(alt.layer(bars, zero), height=ROW_PIXELS * max(2, len(largest))),
    )
