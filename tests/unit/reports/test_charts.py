"""Charts: true to their figures, the same each time, readable without colour or picture, bars from zero."""

import re
import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from service.reports.chart_data import (
    ComponentCosts,
    CumulativeCost,
    PricePoint,
    PriceSeries,
    Swing,
    TimeAgainstCost,
    TimeAndCost,
    Tornado,
    UtilizationCost,
    pareto_front,
)
from service.reports.charts import cost_against_utilization, cumulative_cost, tornado
from service.reports.figure import Look, _drawn, page_colours, svg_of
from service.reports.market_charts import cost_against_time, cost_by_component, price_history


def at(day):
    return datetime(2026, 3, day, tzinfo=UTC)


def option(mark, hours, usd):
    return TimeAndCost(mark=mark, label=f"{mark} card", kind="cloud, spot", hours=hours, usd=usd)


USE = cost_against_utilization(
    UtilizationCost(
        pool="dc1",
        utilization_fractions=[0.1, 0.5, 1.0],
        usd_per_useful_gpu_hour=[10.0, 2.0, 1.0],
        cloud=[("dearest on demand", 4.0), ("cheapest allowed", 2.0)],
        breakeven_fractions=[0.25, 0.5],
        stated_fraction=0.4,
    )
)
MONTHS = cumulative_cost(
    CumulativeCost(pool="dc1", months=[0, 1, 2], rent_usd=[0, 100, 200], own_usd=[150, 150, 150], crossing_month=1.5)
)
PARTS = cost_by_component(
    ComponentCosts(
        options=["#1 a", "#2 b"],
        lines=[("#1 a", "compute", 10.0), ("#1 a", "setup", 1.0), ("#2 b", "compute", 5.0)],
        period="per run",
    )
)
SWINGS = tornado(
    Tornado(
        result="owning minus renting",
        base_usd=-50,
        swings=[
            Swing(name="small", low_input="1", high_input="2", usd_at_low=-1, usd_at_high=2),
            Swing(name="large", low_input="3", high_input="4", usd_at_low=30, usd_at_high=-40),
        ],
    )
)
TIMES = cost_against_time(
    TimeAgainstCost(points=[option("#1", 1, 9), option("#2", 2, 9), option("#3", 3, 4)], period="per run", deadline_hours=2.5)
)
PRICES = price_history(
    PriceSeries(
        gpu="H100-SXM",
        spot=[PricePoint(at=at(1), low=1.0, median=1.5, high=2.0), PricePoint(at=at(2), low=1.1, median=1.6, high=2.2)],
        on_demand=[PricePoint(at=at(1), low=3.0, median=3.5, high=4.0)],
    )
)
ALL = [USE, MONTHS, PARTS, SWINGS, TIMES, PRICES]


def parsed(svg):
    return ElementTree.fromstring(svg)  # noqa: S314 - what we drew ourselves


def words_in(svg):
    return {element.text for element in parsed(svg).iter() if element.text and element.text.strip()}


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)
def test_a_picture_is_the_same_each_time_and_carries_nothing_active(figure):
    svg = svg_of(figure)
    _drawn.cache_clear()
    assert svg == svg_of(figure)
    root = parsed(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == f"{figure.title}. {figure.summary}"
    assert not re.search(r"<script|<style|style=|href=|\son\w+=|javascript", svg)
    assert svg.count("aria-") == 1


@pytest.mark.parametrize(
    ("figure", "axes"),
    [
        (USE, {"Utilization of own hardware (% of calendar hours)", "USD per useful GPU-hour"}),
        (MONTHS, {"Months from the decision", "Cumulative cost (USD)"}),
        (PARTS, {"Cost per run (USD)"}),
        (SWINGS, {"Change of owning minus renting (USD)"}),
        (TIMES, {"Time to finish one run (hours)", "Cost per run (USD)"}),
        (PRICES, {"Time (UTC)", "USD per GPU-hour"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_axes_name_their_units(figure, axes):
    assert axes <= words_in(svg_of(figure))


def test_breakeven_crossing_and_deadline_are_written_in_the_picture():
    assert {"breakeven 25 %", "breakeven 50 %", "this plan 40 %"} <= words_in(svg_of(USE))
    assert "paid back: month 1.5" in words_in(svg_of(MONTHS))
    assert {"deadline", "#1", "#3"} <= words_in(svg_of(TIMES))
    assert "#2" not in words_in(svg_of(TIMES))  # as dear as #1 and slower


def test_looks_differ_in_colours_only():
    light, dark, page = (svg_of(USE, look) for look in Look)
    for name, (light_value, dark_value) in page_colours().items():
        assert dark.count(dark_value) == light.count(light_value) == page.count(f"var(--chart-{name})"), name
    assert "#0b62c4" in light
    assert not re.search("#[0-9a-f]{6}", page)


def test_ids_of_two_figures_never_meet():
    first, second = (set(re.findall(r'\bid="([^"]+)"', svg_of(figure))) for figure in (USE, TIMES))
    assert first  # the curve is clipped
    assert all(name.startswith("utilization-") for name in first)
    assert not first & second
    assert set(re.findall(r"url\(#([^)]+)\)", svg_of(USE))) <= first


def bars(figure):
    """Left and right end of every bar, as drawn inside the plot."""
    ends = []
    for element in parsed(svg_of(figure)).iter():
        match = re.fullmatch(r"M(-?[\d.]+),(-?[\d.]+)h(-?[\d.]+)v(-?[\d.]+)h(-?[\d.]+)Z", element.get("d") or "")
        if match and element.get("fill", "").startswith("#") and not element.get("transform"):  # symbols of the legend are moved
            start, _, width, *_ = map(float, match.groups())
            ends.append((start, start + width))
    return ends


def test_stacked_bars_begin_at_zero_and_end_at_the_total():
    # widths go with the money: 10 + 1 and 5 on one scale
    first, second, setup = sorted(bars(PARTS), key=lambda ends: (ends[0], -ends[1]))
    assert first[0] == second[0] == 0
    assert setup[0] == pytest.approx(first[1])
    assert first[1] == pytest.approx(2 * second[1])
    assert setup[1] == pytest.approx(1.1 * first[1])


def test_tornado_bars_begin_at_no_change_the_longest_on_top():
    zero = {round(end, 3) for ends in bars(SWINGS) for end in ends}
    starts = [{round(end, 3) for end in ends} for ends in bars(SWINGS)]
    shared = set.intersection(*starts)
    assert len(shared) == 1
    assert len(zero) == 5  # the shared zero and four different ends
    assert [row[0] for row in SWINGS.rows] == ["large", "small"]
    assert SWINGS.rows[0] == ("large", "3", "$30", "4", "-$40")
    assert "-$50" in SWINGS.summary


def test_tables_hold_what_the_pictures_show():
    assert USE.rows[1] == ("50 %", "$2", "$4", "$2")
    assert MONTHS.rows == (("0", "$0", "$150"), ("1", "$100", "$150"), ("2", "$200", "$150"))
    assert PARTS.columns == ("Option", "compute, USD", "setup, USD", "Total per run, USD")
    assert PARTS.rows == (("#1 a", "$10", "$1", "$11"), ("#2 b", "$5", "$0", "$5"))
    assert [row[-1] for row in TIMES.rows] == ["yes", "no", "yes"]
    assert PRICES.rows[0] == ("2026-03-01 00:00", "spot", "$1", "$1.5", "$2")
    assert all(len(row) == len(figure.columns) for figure in ALL for row in figure.rows)


def test_more_components_than_colours_end_in_other_and_lose_no_money():
    lines = [("#1 a", f"part {number:02}", float(number)) for number in range(1, 13)]  # 1 + 2 + ... + 12 = 78
    figure = cost_by_component(ComponentCosts(options=["#1 a"], lines=lines, period="per month"))
    # the seven largest are 12..6 = 63, the rest 5 + 4 + 3 + 2 + 1 = 15
    assert figure.columns[-2:] == ("other, USD", "Total per month, USD")
    assert figure.rows[0][-2:] == ("$15", "$78")


def test_the_front_falls_in_cost_as_time_grows():
    points = [option(f"#{n}", hours, usd) for n, (hours, usd) in enumerate([(5, 1), (1, 9), (3, 9), (2, 4), (2, 5), (9, 1)])]
    front = pareto_front(points)
    assert [(one.hours, one.usd) for one in front] == [(1, 9), (2, 4), (5, 1)]
    assert all(a.hours < b.hours and a.usd > b.usd for a, b in pairwise(front))


def test_names_that_hold_markup_stay_text():
    evil = '"><script>alert(1)</script>'
    figure = cumulative_cost(CumulativeCost(pool=evil, months=[0, 1], rent_usd=[0, 1], own_usd=[1, 1], crossing_month=None))
    svg = svg_of(figure)
    assert "<script" not in svg
    assert any(evil in words for words in words_in(svg))


def test_one_kind_of_price_alone_is_drawn_and_none_is_told():
    only = price_history(PriceSeries(gpu="L4", spot=[], on_demand=[PricePoint(at=at(1), low=1, median=1, high=1)] * 2))
    assert "spot, lowest to highest" not in words_in(svg_of(only))
    assert price_history(PriceSeries(gpu="L4", spot=[], on_demand=[])).summary == "No price is stored."
