"""Cash flow, present value and payback: worked by hand, and against the plan that they come from."""

from dataclasses import replace
from datetime import date

import pytest

from service.reports.build import VERSION, build_report
from service.reports.finance import (
    discount,
    in_period,
    left_usd,
    money_of,
    month_after,
    paid_back_after,
    paid_in,
    present_value,
)
from service.reports.model import OwnCash, Way
from service.reports.risks import compared, stressed_usd

OWN = OwnCash(
    name="dc1", capex_usd=1200.0, resale_usd=200.0, life_months=10, lead_months=2, lines={"staff": 8.0, "electricity": 2.0},
    rate_fraction=0.1,
)  # fmt: skip


def way(usd, own=None, **changes):
    given = {"lines": {"compute": usd}, "low_usd": usd, "high_usd": usd, "usd_per_gpu_hour": None, "usd_per_run": None}
    named = {"label": "x", "kind": "cloud", "provider": "p", "rank": 1, "usd_per_million_tokens": None}
    return Way(**{**given, **named, "usd": usd, "own": own, **changes})


def test_bought_hardware_is_paid_at_once_rented_until_it_runs_and_sold_at_its_end():
    # month 0: 1200 and 100 of rent; 1: rent; 2 to 10: 8 + 2; 11: 10 less 200; from 12 on rent again
    paid = [paid_in(way(0.0, OWN), way(100.0), month, True) for month in range(14)]
    assert paid == [1300, 100, *[10] * 9, -190, 100, 100]


def test_single_runs_are_paid_in_the_first_month():
    assert [paid_in(way(30.0), way(30.0), month, False) for month in range(3)] == [30, 0, 0]


def test_what_is_left_falls_in_a_straight_line_from_price_to_resale():
    # 1200 - 1000 x used / 10
    assert [left_usd(OWN, months) for months in (1, 2, 7, 11, 12, 40)] == [1200, 1200, 700, 300, 0, 0]


def test_present_value_discounts_from_the_end_of_each_month():
    # 10 % a year: a dollar in 12 months is worth 1 / 1.1
    assert discount(12, 0.1) == pytest.approx(1 / 1.1)
    assert present_value([0.0] * 11 + [110.0], 0.1) == pytest.approx(100.0)
    assert present_value([5.0, 5.0], 0.0) == 10.0


def test_payback_is_found_within_the_month():
    # -1200 and 0, then 90 a month: 1200 / 90 = 13.33 months of gain behind the first two
    assert paid_back_after([-1200.0, 0.0, *[90.0] * 20]) == pytest.approx(2 + 1200 / 90)
    assert paid_back_after([-1200.0, *[90.0] * 10]) is None
    assert paid_back_after([]) is None


def test_months_follow_the_calendar():
    assert month_after(date(2026, 11, 20), 0) == date(2026, 11, 1)
    assert month_after(date(2026, 11, 20), 14) == date(2028, 1, 1)


def test_busy_hardware_that_is_cheaper_is_recommended_and_paid_for(review, busy):
    inputs = review((busy, "training"))
    money = money_of(inputs.plans[0], inputs)
    assert money.chosen is money.own
    assert money.own.own.capex_usd == 120_000
    assert money.own.own.resale_usd == 12_000
    assert (money.own.own.life_months, money.own.own.lead_months) == (24, 2)
    # staff 12,000 and maintenance 6,000 a year; idle energy 2 kW x 1.2 x 0.1 x 8760 = 2,102.40 a year; load less idle
    # 6 kW x 1.2 x 0.1 = 0.72 an hour for 0.8 of 730 hours
    assert money.own.own.lines["staff"] == pytest.approx(1000.0)
    assert money.own.own.lines["maintenance"] == pytest.approx(500.0)
    assert money.own.own.lines["electricity"] == pytest.approx(2102.4 / 12 + 0.72 * 0.8 * 730, abs=0.001)
    running = 1000 + 500 + 2102.4 / 12 + 0.72 * 0.8 * 730
    paid = [month.own_usd for month in money.months]
    assert paid[2] == pytest.approx(running, abs=0.01)
    assert paid[0] == pytest.approx(120_000 + money.rent.usd)
    assert paid[25] == pytest.approx(running - 12_000, abs=0.01)
    saving = money.rent.usd - running
    assert money.payback_months == pytest.approx(2 + 120_000 / saving, abs=0.01)
    assert money.npv_own_usd == pytest.approx(
        -120_000 * discount(1, 0.1) + sum(saving * discount(month, 0.1) for month in range(3, 27)) + 12_000 * discount(26, 0.1),
        abs=0.1,
    )
    assert in_period(money, inputs.period) == pytest.approx(sum(paid[:12]))


def test_a_pool_that_is_too_dear_to_be_listed_is_still_compared(review, rare):
    inputs = review((({**rare, "limit": 1}), "rare"))
    money = money_of(inputs.plans[0], inputs)
    assert len(money.ways) == 1
    assert money.chosen.kind == "cloud"
    assert money.own.own.capex_usd == 120_000
    assert money.npv_own_usd < 0
    listed = money_of(review((rare, "rare")).plans[0], inputs)
    assert money.own.usd == pytest.approx(listed.own.usd, abs=0.01)
    assert money.own.high_usd == pytest.approx(listed.own.high_usd, rel=0.02)


def test_nothing_fits_is_a_report_too(review, too_much):
    report = build_report(review((too_much, "huge")))
    assert report.recommendation.startswith("Nothing fits")
    assert report.money[0].chosen is None


def test_a_suspect_price_is_no_baseline(review, once, offers_at):
    from service.reports import finance

    inputs = review((once, "once"))
    plan = inputs.plans[0]
    first = plan.plan.options[0]
    marked = replace(plan.plan, options=(replace(first, flags=("suspect",)), *plan.plan.options[1:]))
    money = finance.money_of(replace(plan, plan=marked), inputs)
    assert money.rent.rank != first.rank
    assert money.baseline.rank != first.rank


def test_every_way_is_compared_once(review, busy):
    inputs = review((busy, "training"))
    money = money_of(inputs.plans[0], inputs)
    names = [name for name, _ in compared(money)]
    assert names == ["Recommended, own", "Baseline, cheapest rent"]


def test_stress_is_the_high_end_with_dearer_prices_or_purchase():
    assert stressed_usd(way(100.0, high_usd=120.0)) == 180.0
    lines = {"capital": 50.0, "maintenance": 10.0, "electricity": 5.0}
    # 120 + (50 + 10) x 0.2 + 5 x 1
    assert stressed_usd(way(65.0, kind="on_prem", lines=lines, high_usd=120.0)) == 137.0


def test_price_and_volume_since_the_last_review_add_up(review, rare, offers_at):
    earlier = review(({**rare, "usage": {"runs_per_month": 3}}, "rare"), offers=offers_at("0.8")).plans[0].plan
    report = build_report(review((rare, "rare"), before=earlier))
    table = next(one for section in report.sections for one in section.tables if one.name == "change")
    before, price, volume, mix, now = table.rows[0][3:8]
    assert round((before + price + volume + mix - now) * 1e6) == 0
    # 4 runs instead of 3 at the old price: a third more; then every price 1 / 0.8 = 25 % up on 4 runs
    assert volume == pytest.approx(before / 3, rel=1e-6)
    assert price == pytest.approx((before + volume) * 0.25, rel=1e-4)


def test_the_version_is_the_project_s():
    from service.api.app import VERSION as SERVED

    assert VERSION == SERVED
