"""As of: the market as it was at an instant, from the stored intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine

from service.domain.request import OnPremPool
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.flows.medians import medians_until
from service.flows.snapshot import snapshot_id
from service.flows.standing import standing_of
from service.flows.status import FeedSetting
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.store import feeds, prices
from service.store.engine import reading
from service.store.pools import pools_at
from service.store.standing import entries_at


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMarket:
    """The market and the pools of one past instant."""

    market: Market
    pools: Mapping[str, OnPremPool]


def load_market_at(
    engine: Engine,
    instant: datetime,
    known: Mapping[str, FeedSetting],
    *,
    evaluated_at: datetime | None = None,
    calibration: Calibration = UNCALIBRATED,
) -> PastMarket | None:
    """The market at `instant`: the same offers and the same snapshot id as then; None before the first prices.

    When each feed was last read is told as of `evaluated_at` if that is later: prices may have been confirmed without
    a change between the two. It is known to within three intervals, which is what staleness depends on.
    """
    with reading(engine) as connection:
        version = feeds.version_at(connection, instant)
        if version is None:
            return None
        offers = prices.offers_at(connection, instant)
        medians = {} if version.medians_for is None else medians_until(connection, version.medians_for)
        statuses = _statuses(connection, max(instant, evaluated_at or instant), known)
        pools = pools_at(connection, instant)
        standing = standing_of(entries_at(connection, instant))
    left_out = {name for name, setting in known.items() if not setting.enabled}
    market = Market.build(
        {feed: columns_of(listed) for feed, listed in offers.items() if feed not in left_out},
        statuses,
        snapshot_id=snapshot_id(version.version, version.changed_at),
        as_of=version.changed_at,
        medians=medians,
        calibration=calibration,
        standing=standing,
    )
    return PastMarket(market=market, pools=pools)


def _statuses(connection: Connection, instant: datetime, known: Mapping[str, FeedSetting]) -> list[FeedStatus]:
    seen = feeds.sightings_at(connection, instant)
    states = feeds.feed_states(connection)
    found = []
    for feed in sorted({name for name, _ in seen}):
        setting, interval = known.get(feed), states.get((feed, ""), {}).get("interval_seconds", 300)
        found.append(
            FeedStatus(
                name=feed,
                enabled=True if setting is None else setting.enabled,
                last_success_at=seen.get((feed, "")),
                last_attempt_at=seen.get((feed, "")),
                interval_seconds=setting.interval_seconds if setting else interval,
                scopes={scope: at for (name, scope), at in seen.items() if name == feed and scope},
            )
        )
    return found
