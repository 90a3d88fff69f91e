"""Leaders: the cheapest offer listed, and the cheapest that evidence says can be had for as long as it is needed."""

from collections.abc import Sequence

import numpy as np

from service.domain.plan import Leader, Leaders, PlanOption
from service.solver.candidates import Found
from service.solver.excluded import label
from service.solver.market import Market
from service.solver.order import Entry
from service.solver.pricing import Pricing
from service.solver.tables import SUSPECT
from service.solver.words import about_usd

_HAD = frozenset({"available", "limited"})


def leaders_of(
    entries: Sequence[Entry], options: Sequence[PlanOption], market: Market, pricing: Pricing, found: Found
) -> Leaders:
    """Both leaders among the options shown, null with the reason."""
    listed = next((option.rank for option in options if option.kind == "cloud"), None)
    if listed is None:
        nothing = Leader(rank=None, reason="no cloud offer is among the options")
        return Leaders(cheapest_listed=nothing, cheapest_obtainable=nothing)
    had = (option for one, option in zip(entries, options, strict=True) if _holds(one, option, market))
    first = next(had, None)
    obtainable = (
        Leader(rank=None, reason=_beyond(market, pricing, found)) if first is None else Leader(rank=first.rank, reason=None)
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


def _beyond(market: Market, pricing: Pricing, found: Found) -> str:
    """Why none of the options shown is known to be obtainable, and which offer beyond them is."""
    groups, allowed = market.groups, found.allowed
    stocked = np.array([one.availability in _HAD for one in groups.terms_all], dtype=np.bool_)[groups.terms[allowed.at]]
    usable = stocked & ~groups.suspect[allowed.at] & ~groups.kinds.single[groups.kind[allowed.at]]
    usd = np.where(usable, allowed.usd_per_run, np.inf)
    best = int(np.argmin(usd)) if len(usd) else -1
    if best < 0 or not np.isfinite(usd[best]):
        return "no offer that fits is known to be available or limited for the hours needed"
    total = float(usd[best]) * (pricing.work.runs_per_month or 1.0)
    period = pricing.work.ranking_period.replace("_", " ")
    return f"beyond the options shown: {label(groups, int(allowed.at[best]))}, about {about_usd(total)} {period}"
