"""The FOCUS-shaped file: its header, its marks, and the rules that its sums keep."""

import csv
import io
from datetime import date
from decimal import Decimal

import pytest

from service.domain.report import ExchangeRate
from service.reports.build import build_report
from service.reports.csv import COLUMNS, render
from service.reports.finance import month_after

MANDATORY = {
    "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd",
    "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargePeriodStart", "ChargePeriodEnd", "ContractedCost",
    "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity", "PricingUnit", "ServiceProviderName",
    "HostProviderName", "ServiceCategory", "ServiceName",
}  # fmt: skip


def rows_of(report):
    text = render(report).decode()
    assert "\r\n" in text
    return list(csv.DictReader(io.StringIO(text, newline="")))


def total(rows, column):
    return sum((Decimal(row[column]) for row in rows), Decimal(0))


@pytest.fixture(scope="module")
def bought(review, busy, rare, once):
    """Hardware over its whole life (2 months of lead, 24 of use), rented work by the month, and single runs."""
    return build_report(review((busy, "training"), (rare, "tuning"), (once, "trial"), months=26))


@pytest.fixture(scope="module")
def lines(bought):
    return rows_of(bought)


def test_the_first_line_is_the_header_with_every_mandatory_column(bought):
    first = render(bought).decode().partition("\r\n")[0].split(",")
    assert first == list(COLUMNS)
    assert set(first) >= MANDATORY
    own = [name for name in first if name.startswith("x_")]
    assert first[-len(own) :] == own
    assert all(len(name) <= 50 for name in first)


def test_every_row_says_that_it_is_an_estimate(lines):
    assert {row["x_IsEstimate"] for row in lines} == {"true"}
    assert all(row["BillingAccountId"].startswith("estimate:") for row in lines)
    assert {row["InvoiceId"] for row in lines} == {""}


def test_billed_is_the_cash_that_goes_out(bought, lines):
    for money in bought.money:
        of_plan = [row for row in lines if row["x_PlanId"] == money.source.plan_id]
        resold = Decimal("12000") if money.chosen is money.own else Decimal(0)  # what comes in is no charge
        paid = sum(Decimal(repr(month.chosen_usd)) for month in money.months)
        assert total(of_plan, "BilledCost") == pytest.approx(paid + resold, abs=Decimal("0.01"))


def test_effective_over_the_life_is_the_purchase_and_what_runs_it(bought, lines):
    money = bought.money[0]
    of_plan = [row for row in lines if row["x_PlanId"] == money.source.plan_id]
    running = Decimal(repr(sum(money.own.own.lines.values()))) * 24
    rent = Decimal(repr(money.rent.usd)) * 2  # until it runs
    assert total(of_plan, "EffectiveCost") == pytest.approx(Decimal(120_000) + running + rent, abs=Decimal("0.01"))
    purchases = [row for row in of_plan if row["ChargeCategory"] == "Purchase"]
    assert [(row["BilledCost"], row["EffectiveCost"], row["ChargeFrequency"]) for row in purchases] == [
        ("120000.000000", "0.000000", "One-Time")
    ]
    depreciated = [row for row in of_plan if row["x_CostLine"] == "depreciation"]
    assert len(depreciated) == 24
    assert total(depreciated, "EffectiveCost") == Decimal(120_000)
    assert total(depreciated, "BilledCost") == 0


def test_prices_multiply_and_list_is_not_under_contracted(lines):
    priced = [row for row in lines if row["PricingQuantity"]]
    assert priced
    for row in priced:
        product = Decimal(row["PricingQuantity"]) * Decimal(row["ContractedUnitPrice"])
        assert abs(product - Decimal(row["ContractedCost"])) < Decimal("0.000001")
        assert row["PricingUnit"] == "Hours"
    assert all(Decimal(row["ListCost"]) >= Decimal(row["ContractedCost"]) for row in lines)
    assert all(Decimal(row["x_CostLow"]) <= Decimal(row["EffectiveCost"]) <= Decimal(row["x_CostHigh"]) for row in lines)


def test_every_charge_lies_in_its_billing_period_of_one_month(lines):
    for row in lines:
        assert row["BillingPeriodStart"] <= row["ChargePeriodStart"] < row["ChargePeriodEnd"] <= row["BillingPeriodEnd"]
    starts = sorted({row["BillingPeriodStart"] for row in lines})
    assert starts == [f"{month_after(date(2027, 1, 1), at):%Y-%m-%d}T00:00:00Z" for at in range(26)]


def test_who_sells_is_named_and_own_hardware_is_ours(lines):
    assert {row["ServiceProviderName"] for row in lines} == {"lambda", "own organisation"}
    assert {row["PricingCategory"] for row in lines if row["ServiceProviderName"] == "lambda"} == {"Standard"}


def test_amounts_are_in_the_billing_currency(review, once):
    euro = ExchangeRate(currency="EUR", per_usd=0.5, day=date(2026, 9, 18), source="test")
    dollars, euros = (rows_of(build_report(review((once, "trial"), **rate))) for rate in ({}, {"rate": euro}))
    assert {row["BillingCurrency"] for row in euros} == {"EUR"}
    assert total(euros, "BilledCost") == pytest.approx(total(dollars, "BilledCost") / 2, abs=Decimal("0.00001"))


def test_text_that_could_be_a_formula_is_written_behind_an_apostrophe(review, once):
    for name in ("=1+1", "+1", "-1", "@x", "=cmd|' /C calc'!A0"):
        found = rows_of(build_report(review((once, name))))
        assert {row["x_PlanName"] for row in found} == {f"'{name}"}
