"""Leaders: the cheapest offer listed, and the cheapest that evidence says can be had for as long as it is needed."""

from collections.abc import Sequence

import numpy as np

from service.domain.plan import Leader, Leaders, PlanOption
from service.solver.candidates import Found
from service.solver.columns import Ints
from service.solver.excluded import label
from service.solver.market import Market
from service.solver.order import Entry
from service.solver.pricing import Pricing
from service.solver.sieve import Sieve
from service.solver.tables import SUSPECT, GroupTable
from service.solver.words import about_usd

_HAD = frozenset({"available", "limited"})


def leaders_of(
    entries: Sequence[Entry], options: Sequence[PlanOption], market: Market, pricing: Pricing, found: Found, sieve: Sieve
) -> Leaders:
    """Both leaders among the options shown, null with the reason."""
    listed = next((option.rank for option in options if option.kind == "cloud"), None)
    if listed is None:
        nothing = Leader(rank=None, reason="no cloud offer is among the options")
        return Leaders(cheapest_listed=nothing, cheapest_obtainable=nothing)
    had = (option for one, option in zip(entries, options, strict=True) if _holds(one, option, market))
    first = next(had, None)
    obtainable = (
        Leader(rank=None, reason=_beyond(pricing, found, sieve)) if first is None else Leader(rank=first.rank, reason=None)
    )
    return Leaders(cheapest_listed=Leader(rank=listed, reason=None), cheapest_obtainable=obtainable)


def _holds(one: Entry, option: PlanOption, market: Market) -> bool:
    """Stock is known, the price is not suspect, and a host's promised lifetime covers the hours."""
    if one.row is None or option.availability not in _HAD or one.doubt == SUSPECT:
        return False
    number, row = market.place(one.row)
    feed = market.feeds[number]
    lifetime = feed.number("host_lifetime_hours", row)
    is_host = feed.text("machine_id", row) is not None
    return not is_host or (lifetime is not None and lifetime >= option.hours.mid)


def _beyond(pricing: Pricing, found: Found, sieve: Sieve) -> str:
    """Why none of the options shown is known to be obtainable, and which offer beyond them is."""
    groups, allowed = pricing.groups, found.allowed
    usable = sieve.kept.get("obtainable", lambda: _obtainable(groups, sieve.allowed.at))
    usd = allowed.usd_per_run[usable]
    best = int(np.argmin(usd)) if len(usd) else -1
    if best < 0 or not np.isfinite(usd[best]):
        return "no offer that fits is known to be available or limited for the hours needed"
    total = about_usd(float(usd[best]) * (pricing.work.runs_per_month or 1.0))
    return f"beyond the options shown: {label(groups, int(allowed.at[usable[best]]))}, about {total} {pricing.work.period_said}"


def _obtainable(groups: GroupTable, at: Ints) -> Ints:
    """Which of the groups `at` are in stock at a price that is not suspect, of machines that are not one host's."""
    stocked = np.array([one.availability in _HAD for one in groups.terms_all], dtype=np.bool_)[groups.terms[at]]
    return np.flatnonzero(stocked & ~groups.suspect[at] & ~groups.kinds.single[groups.kind[at]])
