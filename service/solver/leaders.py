"""Leaders: the cheapest offer listed, and the cheapest that evidence says can be had for as long as it is needed."""

from collections.abc import Sequence

from service.domain.plan import Leader, Leaders, PlanOption
from service.solver.market import Market
from service.solver.order import Entry

_HAD = frozenset({"available", "limited"})


def leaders_of(entries: Sequence[Entry], options: Sequence[PlanOption], market: Market, *, found: int) -> Leaders:
    """Both leaders among the options shown, null with the reason."""
    listed = next((option.rank for option in options if option.kind == "cloud"), None)
    obtainable = next((option.rank for one, option in zip(entries, options, strict=True) if _holds(one, option, market)), None)
    if listed is None:
        nothing = "no cloud offer is among the options"
        return Leaders(cheapest_listed=Leader(rank=None, reason=nothing), cheapest_obtainable=Leader(rank=None, reason=nothing))
    reason = None
    if obtainable is None:
        reason = "no option shown is known to be available or limited for the hours needed"
        if found > len(options):
            reason += "; a higher limit, or min_availability available, may find one"
    return Leaders(cheapest_listed=Leader(rank=listed, reason=None), cheapest_obtainable=Leader(rank=obtainable, reason=reason))


def _holds(one: Entry, option: PlanOption, market: Market) -> bool:
    """Stock is known, the price is not suspect, and a host's promised lifetime covers the hours."""
    if one.row is None or option.availability not in _HAD or "suspect" in option.flags:
        return False
    number, row = market.place(one.row)
    feed = market.feeds[number]
    lifetime = feed.number("host_lifetime_hours", row)
    is_host = feed.text("machine_id", row) is not None
    return not is_host or (lifetime is not None and lifetime >= option.hours.mid)
