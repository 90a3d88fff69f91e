"""CSV: the recommendation as FOCUS-shaped rows, one per month and cost line. An estimate, marked as one in every row.

Columns and rules: FOCUS 1.2 with the provider names of 1.3 (focus.finops.org, read 2026-11). A purchase is billed when it
is paid and has no effective cost; its straight-line share is effective in each month of use and billed in none. What
hardware resells for is no charge and has no row.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from service.domain.plan import PlanOption
from service.reports.finance import month_after
from service.reports.model import OwnCash, PlanMoney, Report, Way
from service.reports.money import converted

COLUMNS: Final = (
    "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
    "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
    "ContractedCost", "ContractedUnitPrice", "EffectiveCost", "HostProviderName", "InvoiceId", "InvoiceIssuerName", "ListCost",
    "ListUnitPrice", "PricingCategory", "PricingQuantity", "PricingUnit", "RegionId", "RegionName", "ResourceType",
    "ServiceCategory", "ServiceName", "ServiceProviderName", "SkuId", "SkuPriceDetails", "SkuPriceId",
    "x_IsEstimate", "x_PlanId", "x_PlanName", "x_Owner", "x_CostLine", "x_PriceAsOf", "x_PriceSource", "x_CostLow",
    "x_CostHigh", "x_AssumptionsHash",
)  # fmt: skip
OWN: Final = "own organisation"
_MICRO: Final = Decimal("0.000001")
_PRICING: Final = {"on_demand": "Standard", "spot": "Dynamic", "reserved": "Committed"}
_STARTS_A_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def render(report: Report) -> bytes:
    """The file in UTF-8 with CRLF; line 1 is the header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\r\n", restval="")
    writer.writeheader()
    for money in report.money:
        for row in _rows(money, report):
            writer.writerow({name: _inert(value) for name, value in row.items()})
    return out.getvalue().encode()


def _inert(value: Any) -> str:
    """Text that a spreadsheet would take for a formula is written behind an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    text = str(value)
    return f"'{text}" if text.startswith(_STARTS_A_FORMULA) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Charge:
    """One cost line of one month, in US dollars."""

    line: str
    billed_usd: float
    effective_usd: float
    category: str = "Usage"
    frequency: str = "Usage-Based"
    hours: Decimal | None = None
    option: PlanOption | None = None
    spread: tuple[float, float] = field(default=(1.0, 1.0))  # low and high over the middle


def _rows(money: PlanMoney, report: Report) -> Iterator[dict[str, Any]]:
    way = money.chosen
    if way is None:
        return
    for month in range(report.horizon_months):
        for charge in _charges(money, way, month):
            yield _row(charge, month, money, report)


def _charges(money: PlanMoney, way: Way, month: int) -> Iterator[_Charge]:
    own = way.own
    if own is None:
        if money.recurring or month == 0:
            yield from _lines_of(money, way, way.lines)
        return
    if month == 0:
        yield _Charge(line="capital", billed_usd=own.capex_usd, effective_usd=0.0, category="Purchase", frequency="One-Time")
    used = month - own.lead_months
    if used < 0 or used >= own.life_months:
        if money.rent is not None and (money.recurring or month == 0):
            yield from _lines_of(money, money.rent, money.rent.lines)
        return
    yield _Charge(line="depreciation", billed_usd=0.0, effective_usd=depreciation_usd(own, used), frequency="Recurring")
    if money.recurring or used == 0:
        yield from _lines_of(money, way, own.lines)


def depreciation_usd(own: OwnCash, used: int) -> float:
    """The share of a month, in micro-dollars that add up to the price over the life."""
    ends = [round(own.capex_usd * 1e6 * at / own.life_months) for at in (used, used + 1)]
    return (ends[1] - ends[0]) / 1e6


def _lines_of(money: PlanMoney, way: Way, lines: Any) -> Iterator[_Charge]:
    option = next((one for one in money.source.plan.options if one.rank == way.rank), None)
    spread = (way.low_usd / way.usd, way.high_usd / way.usd) if way.usd else (1.0, 1.0)
    for name, usd in lines.items():
        hours = _hours(option) if option is not None and way.kind == "cloud" and name == "compute" else None
        yield _Charge(
            line=name,
            billed_usd=usd,
            effective_usd=usd,
            hours=hours,
            option=option if way.kind == "cloud" else None,
            spread=spread,
        )


def _hours(option: PlanOption) -> Decimal | None:
    """Hours of all runs of the period."""
    per_run, per_month = option.cost.usd_per_run, option.cost.usd_per_month
    runs = per_month / per_run if per_run and per_month else 1.0
    hours = Decimal(repr(round(option.hours.mid * runs, 6)))
    return hours if hours > 0 else None


def _row(charge: _Charge, month: int, money: PlanMoney, report: Report) -> dict[str, Any]:
    start, end = (f"{month_after(report.period[0], at):%Y-%m-%d}T00:00:00Z" for at in (month, month + 1))
    billed, effective = (converted(usd, report.rate).quantize(_MICRO) for usd in (charge.billed_usd, charge.effective_usd))
    unit = None if charge.hours is None else (billed / charge.hours).quantize(Decimal("1e-15"))
    source, option = money.source, charge.option
    low, high = (effective * Decimal(repr(side)) for side in charge.spread)
    seller = OWN if option is None else option.provider
    return {
        "BilledCost": billed,
        "BillingAccountId": f"estimate:{source.plan_id}",
        "BillingCurrency": report.currency,
        "BillingPeriodStart": start,
        "BillingPeriodEnd": end,
        "ChargePeriodStart": start,
        "ChargePeriodEnd": end,
        "ChargeCategory": charge.category,
        "ChargeDescription": f"Estimate: {charge.line.replace('_', ' ')}",
        "ChargeFrequency": charge.frequency,
        "ContractedCost": billed,
        "ContractedUnitPrice": unit,
        "EffectiveCost": effective,
        "HostProviderName": seller,
        "InvoiceIssuerName": seller,
        "ListCost": billed,
        "ListUnitPrice": None if option is not None and option.price.basis == "negotiated" else unit,
        "PricingQuantity": charge.hours,
        "PricingUnit": None if charge.hours is None else "Hours",
        "ServiceCategory": "Compute",
        "ServiceName": "GPU rental" if option is not None else "Own GPU hardware",
        "ServiceProviderName": seller,
        **_sku(option),
        "x_IsEstimate": "true",
        "x_PlanId": source.plan_id,
        "x_PlanName": source.name,
        "x_Owner": source.owner,
        "x_CostLine": charge.line,
        "x_PriceAsOf": None if report.as_of is None else f"{source.plan.prices.as_of or report.as_of:%Y-%m-%dT%H:%M:%SZ}",
        "x_CostLow": low.quantize(_MICRO),
        "x_CostHigh": high.quantize(_MICRO),
        "x_AssumptionsHash": source.hashes.input,
    }


def _sku(option: PlanOption | None) -> dict[str, Any]:
    if option is None:
        return {"ResourceType": "GPU server"}
    details = {
        "GpuCount": option.gpu_count,
        "InstanceType": option.instance_type,
        "x_Gpu": option.gpu,
        "x_Machines": option.nodes,
    }
    return {
        "PricingCategory": _PRICING.get(option.capacity_type, "Other"),
        "RegionId": option.region,
        "RegionName": option.region,
        "ResourceType": "GPU machine",
        "SkuId": option.instance_type or option.gpu,
        "SkuPriceDetails": json.dumps({name: value for name, value in details.items() if value is not None}),
        "SkuPriceId": option.price.offer_id,
        "x_PriceSource": option.price.source,
    }
