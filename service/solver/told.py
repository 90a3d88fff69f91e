"""Told: what an answer says of its prices: per feed its state and age, and the sentence on how old they are."""

from collections.abc import Sequence
from datetime import datetime

from service.domain.plan import FeedState, PlanPrices
from service.solver.market import FeedStatus, Market
from service.solver.words import age


def prices_of(market: Market, now: datetime) -> PlanPrices:
    """The state of every feed, and one sentence about the age of the prices used."""
    return market.memo.get(("told", now), lambda: _told(market, now))


def _told(market: Market, now: datetime) -> PlanPrices:
    states = tuple(_state(status, now) for status in market.statuses)
    return PlanPrices(
        snapshot_id=market.snapshot_id, as_of=market.as_of, explained=_sentence(market, states, now), providers=states
    )


def _state(status: FeedStatus, now: datetime) -> FeedState:
    hours = status.age_hours(now)
    stale = status.offers > 0 and status.is_stale(now)
    return FeedState(
        name=status.name,
        state="stale" if stale and status.state == "ok" else status.state,
        age_hours=None if hours is None else round(hours, 6),
        stale=stale,
        offers=status.offers,
        truncated=status.truncated,
        error=status.error,
    )


def _sentence(market: Market, states: Sequence[FeedState], now: datetime) -> str:
    if market.offers == 0:
        return "There are no prices."
    sources = market.groups.sources
    live = {source.feed for source in sources if not source.is_dated}
    days = [source.as_of for source in sources if source.is_dated and source.as_of is not None]
    ages = [state.age_hours for state in states if state.name in live and state.age_hours is not None]
    parts = []
    if ages:
        span = age(max(ages)) if len(ages) == 1 or max(ages) - min(ages) < 0.05 else f"{age(min(ages))} to {age(max(ages))}"
        parts.append(f"Live prices are {span} old")
    elif live:
        parts.append("Live prices are of unknown age")
    if days:
        span = str(max(days)) if min(days) == max(days) else f"{min(days)} to {max(days)}"
        oldest = age(max(0.0, (now.date() - min(days)).days * 24.0))
        parts.append(f"{'dated' if parts else 'Only dated prices are at hand; dated'} list prices are of {span} (up to {oldest})")
    elif not live:
        parts.append("Only undated list prices are at hand")
    stale = [state.name for state in states if state.stale]
    text = "; ".join(parts) + "."
    return f"{text} Stale: {', '.join(stale)}." if stale else text
