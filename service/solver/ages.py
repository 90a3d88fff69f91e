"""Ages: how old the prices of each source are at an instant."""

from dataclasses import dataclass
from datetime import UTC, datetime, time

from service.solver.market import Market
from service.solver.tables import Source


@dataclass(frozen=True, slots=True)
class Age:
    """How old a source's prices are, and whether that is too old to be called fresh."""

    hours: float | None
    stale: bool
    undated: bool
    seen_at: datetime | None = None  # when a live feed last answered


def ages_of(market: Market, now: datetime) -> tuple[Age, ...]:
    """The age of every source at this instant."""
    return market.memo.get(("ages", now), lambda: tuple(age_of(market, source, now) for source in market.groups.sources))


def age_of(market: Market, source: Source, now: datetime) -> Age:
    """The age of a source: of a dated table from its own day, of a live feed from its last answer."""
    if source.is_dated:
        if source.as_of is None:
            return Age(hours=None, stale=False, undated=True)
        day = datetime.combine(source.as_of, time(), tzinfo=UTC)
        return Age(hours=max(0.0, (now - day).total_seconds() / 3600), stale=False, undated=False)
    status = market.status(source.feed)
    if status is None:
        return Age(hours=None, stale=False, undated=False)
    hours, seen = status.age_hours(now, source.scope), status.seen_at(source.scope)
    return Age(hours=hours, stale=status.is_stale(now, source.scope), undated=False, seen_at=seen)
