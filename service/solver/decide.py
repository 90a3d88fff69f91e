"""Decide: rent or own, by breakeven utilization against the dearest and the cheapest that the request allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from providers.units import MONTHS_PER_YEAR
from service.domain.plan import BreakevenUtilization, Decision, PaybackMonths, PlanOption, UsefulHourCost
from service.domain.request import PoolMode
from service.solver.amortize import (
    breakeven_utilization,
    payback_months,
    tipping_capex_usd,
    tipping_usd_per_gpu_hour,
    useful_usd_per_gpu_hour,
)
from service.solver.no_pool import decided_without_pool, shown_share
from service.solver.onprem import OwnHardware
from service.solver.pool_defaults import cost_of
from service.solver.weigh import NO_TERMS, Terms, on_pool, weighed
from service.solver.words import about, about_usd, percent
from service.solver.work import Work

RENT_UNDER: Final = 0.30
OWN_OVER: Final = 0.60
CORNER: Final = 0.15  # payback's range without draws: cloud price and purchase price 15 % off, both ways


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudPrices:
    """What the pool's work would cost in the cloud, per GPU-hour of the pool that it replaces."""

    cheapest: float  # effective, all lines, of the cheapest option that is allowed
    dearest: float | None  # the list price of the dearest on-demand offer of the pool's card; None: none is allowed


def decide(
    own: Sequence[OwnHardware],
    cheapest: PlanOption | None,
    work: Work,
    dearest_usd_per_gpu_hour: dict[str, float],
    terms: Terms = NO_TERMS,
) -> Decision:
    """The verdict with its condition.

    Args:
        cheapest: the cloud option of least cost.
        dearest_usd_per_gpu_hour: by card, the dearest on-demand price among the allowed offers.
        terms: what the request says of scenarios, delay and load by the hour.
    """
    able = [(one.entry.micro_usd, at) for at, one in enumerate(own) if one.entry is not None]
    best = own[min(able)[1]] if able else None
    if best is None:
        return decided_without_pool(own, cheapest, work)
    if cheapest is None:
        return _only_own(best)
    prices = _prices(best, cheapest, work, dearest_usd_per_gpu_hour)
    if best.pool.mode is PoolMode.OWNED:
        return _owned(best, prices)
    bought, listed = _bought(best, prices, work), cost_of(best.pool, best.gpu)[1]
    return weighed(bought, best.cost, listed, cloud_usd_per_gpu_hour=prices.cheapest, terms=on_pool(terms, best, work))


def _prices(best: OwnHardware, cheapest: PlanOption, work: Work, dearest_usd_per_gpu_hour: dict[str, float]) -> CloudPrices:
    per_month = cheapest.cost.ranking_usd if work.runs is None else cheapest.cost.ranking_usd * work.runs_each_month
    effective = per_month / best.busy_gpu_hours_per_month
    dearest = dearest_usd_per_gpu_hour.get(best.gpu.name)
    return CloudPrices(cheapest=effective, dearest=None if dearest is None else max(dearest, effective))


def _breakeven(best: OwnHardware, prices: CloudPrices) -> tuple[BreakevenUtilization, float, float]:
    high = breakeven_utilization(best.cost, prices.cheapest)
    low = high if prices.dearest is None else breakeven_utilization(best.cost, prices.dearest)
    card = best.gpu.name
    against = f"the dearest allowed on-demand {card}" if prices.dearest is not None else "no on-demand offer of this card"
    words = [
        f"against {against}: {_or_never(low)}" if prices.dearest is not None else against,
        f"against the cheapest that is allowed, at {about_usd(prices.cheapest)} per GPU-hour of the pool: {_or_never(high)}",
    ]
    made = BreakevenUtilization(
        against_dearest_on_demand=None if prices.dearest is None else shown_share(low),
        against_cheapest_allowed=shown_share(high),
        explained="; ".join(words),
    )
    return made, low, high


def _or_never(share: float) -> str:
    return percent(share) if share <= 1 else "over 100 %: never"


def _bought(best: OwnHardware, prices: CloudPrices, work: Work) -> Decision:
    made, low, high = _breakeven(best, prices)
    share = best.utilization
    price = tipping_usd_per_gpu_hour(best.cost, share)
    if share < low:
        verdict = "cloud"
        least = min(low, high)
        from_when = f"only over {percent(least)}" if least <= 1 else "at no utilization"
        text = f"Rent: at {percent(share)} utilization owning breaks even {from_when}"
    elif share >= high:
        verdict = "on_prem"
        text = f"Own: {percent(share)} utilization is over the breakeven of {percent(high)} against the cheapest that is allowed"
    else:
        verdict = "depends"
        text = (
            f"It depends on the price tier: owning costs {about_usd(price)} per useful GPU-hour at {percent(share)} utilization;"
            f" rent where it can be had for less, else own"
        )
    if work.hours_per_month is None:
        text += ", for this workload alone"
    return Decision(
        verdict=verdict,
        sentence=text + ".",
        pool=best.pool.name,
        utilization=round(share, 6),
        breakeven_utilization=made,
        payback_months=_payback(best, prices.cheapest, share),
        usd_per_useful_gpu_hour=_useful(best, share),
        flips_if=_flips(best, prices, share, high),
        rule_of_thumb=_rule(best, prices, share, low, high),
        default_box_wins_from_utilization=None,
    )


def _payback(best: OwnHardware, price: float, share: float) -> PaybackMonths:
    """Base case in the middle; the corners of price and purchase around it. Null: not within its life."""
    if best.cost.capex_usd <= 0:
        return PaybackMonths(p10=None, p50=None, p90=None)
    found = []
    for good in (CORNER, 0.0, -CORNER):
        months = payback_months(best.cost, cloud_usd_per_gpu_hour=price * (1 + good) / (1 - good), utilization=share)
        found.append(round(months, 1) if months <= best.cost.life_years * MONTHS_PER_YEAR else None)
    return PaybackMonths(p10=found[0], p50=found[1], p90=found[2])


def _useful(best: OwnHardware, share: float) -> UsefulHourCost | None:
    cost = best.cost
    if share <= 0:
        return None
    if cost.flat_usd_per_gpu_hour is not None:
        full = useful_usd_per_gpu_hour(cost, cost.full_usd_per_year, share)
        return UsefulHourCost(hardware_and_power=None, vendor=None, full=round(full, 6))
    scopes = (cost.hardware_and_power_usd_per_year, cost.vendor_usd_per_year, cost.full_usd_per_year)
    hardware, vendor, full = (round(useful_usd_per_gpu_hour(cost, scope, share), 6) for scope in scopes)
    return UsefulHourCost(hardware_and_power=hardware, vendor=vendor, full=full)


def _flips(best: OwnHardware, prices: CloudPrices, share: float, high: float) -> tuple[str, ...]:
    price = tipping_usd_per_gpu_hour(best.cost, share)
    said = []
    if high <= 1:
        said.append(f"utilization {'under' if share >= high else 'over'} {percent(high)}")
    side, now = "under" if share >= high else "over", about_usd(prices.cheapest)
    said.append(f"the cloud at {side} {about_usd(price)} per GPU-hour instead of {now}")
    capex = tipping_capex_usd(best.cost, cloud_usd_per_gpu_hour=prices.cheapest, utilization=share)
    if capex is not None:
        side = "over" if share >= high else "under"
        now = about_usd(best.cost.capex_usd)
        said.append(f"a purchase price, network and spares included, {side} {about_usd(capex)} instead of {now}")
    return tuple(said)


def _rule(best: OwnHardware, prices: CloudPrices, share: float, low: float, high: float) -> str:
    rule = "rent" if share < RENT_UNDER else "own" if share > OWN_OVER else "between"
    text = (
        f"The rule of thumb (rent under 30 %, own over 60 %, paid back in about 8 months) says {rule} at {percent(share)};"
        f" here the two bounds are {_or_never(low)} and {_or_never(high)}"
    )
    months = _payback(best, prices.cheapest, share).p50
    paid = "it is never paid back within its life" if months is None else f"payback takes {about(months)} months"
    return f"{text}, and {paid}, because the rule holds only where owning costs 30 % of the dearest on-demand price."


def _owned(best: OwnHardware, prices: CloudPrices) -> Decision:
    marginal = best.cost.marginal_usd_per_gpu_hour
    owns = marginal <= prices.cheapest
    text = (
        f"{'Use the hardware that you own' if owns else 'Rent'}: a busy GPU-hour adds {about_usd(marginal)}, the cheapest that is"
        f" allowed costs {about_usd(prices.cheapest)}; what was paid for the hardware does not count."
    )
    return Decision(
        verdict="on_prem" if owns else "cloud",
        sentence=text,
        pool=best.pool.name,
        utilization=round(best.utilization, 6),
        breakeven_utilization=None,
        payback_months=None,
        usd_per_useful_gpu_hour=UsefulHourCost(hardware_and_power=None, vendor=None, full=round(marginal, 6)),
        flips_if=(f"the cloud at under {about_usd(marginal)} per GPU-hour",) if owns else (),
        rule_of_thumb="The rule of thumb is about buying; this hardware is already owned.",
        default_box_wins_from_utilization=None,
    )


def _only_own(best: OwnHardware) -> Decision:
    share = best.utilization
    return Decision(
        verdict="on_prem",
        sentence=f"Only own hardware may do this work: no cloud offer is allowed and fits; {best.pool.name} would be"
        f" {percent(share)} busy.",
        pool=best.pool.name,
        utilization=round(share, 6),
        breakeven_utilization=None,
        payback_months=None,
        usd_per_useful_gpu_hour=_useful(best, share),
        flips_if=("a constraint that admits a cloud offer",),
        rule_of_thumb="There is nothing to compare with.",
        default_box_wins_from_utilization=None,
    )
