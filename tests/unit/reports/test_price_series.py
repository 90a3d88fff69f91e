"""Intervals as lowest, median and highest price over time."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from providers.offer import CapacityType, Tenancy
from service.domain.history import PriceInterval
from service.reports.price_series import STEPS, series_of

START = datetime(2026, 3, 1, tzinfo=UTC)
END = START + timedelta(days=12)  # 120 steps of 2.4 hours


def interval(price, first_day, last_day=None, kind=CapacityType.SPOT):
    return PriceInterval(
        offer_id=f"{price}", feed="f", provider="p", gpu="L4", gpu_count=1, capacity_type=kind, tenancy=Tenancy.HYPERSCALER,
        country=None, region=None, usd_per_hour=price, usd_per_gpu_hour=price, valid_from=START + timedelta(days=first_day),
        valid_to=None if last_day is None else START + timedelta(days=last_day),
    )  # fmt: skip


def at_day(points, day):
    return next((point.low, point.median, point.high) for point in points if point.at == START + timedelta(days=day))


def test_three_offers_give_a_band_and_its_median():
    series = series_of("L4", [interval(1, 0), interval(2, 0, 6), interval(6, 3)], since=START, until=END)
    assert at_day(series.spot, 0) == (1, 1.5, 2)
    assert at_day(series.spot, 3) == (1, 2, 6)  # the beginning counts
    assert at_day(series.spot, 6) == (1, 3.5, 6)  # the end does not
    assert at_day(series.spot, 12) == (1, 3.5, 6)
    assert series.on_demand == []


def test_spot_and_on_demand_are_told_apart_and_other_kinds_left_out():
    kinds = [interval(1, 0), interval(3, 0, kind=CapacityType.ON_DEMAND), interval(9, 0, kind=CapacityType.RESERVED)]
    series = series_of("L4", kinds, since=START, until=END)
    assert {point.high for point in series.spot} == {1}
    assert {point.high for point in series.on_demand} == {3}


def test_a_time_without_any_price_has_no_point():
    series = series_of("L4", [interval(1, 0, 3), interval(1, 9)], since=START, until=END)
    days = [(point.at - START).days for point in series.spot]
    assert not [day for day in days if 3 <= day < 9]


def test_time_begins_with_the_first_price():
    series = series_of("L4", [interval(1, 6)], since=START, until=END)
    assert series.spot[0].at == START + timedelta(days=6)
    assert len(series.spot) == STEPS + 1


@given(st.lists(st.tuples(st.floats(0.1, 99), st.floats(0, 11), st.floats(0, 12)), min_size=1, max_size=8))
def test_low_median_and_high_are_in_order(rows):
    intervals = [interval(price, first, first + length) for price, first, length in rows]
    for point in series_of("L4", intervals, since=START, until=END).spot:
        assert point.low <= point.median <= point.high
        assert START <= point.at <= END
