"""Local chat: what answers are made from on this machine: the stored prices and the database beside them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.flows.chat import ChatWorld


@contextmanager
def local_world() -> "Iterator[ChatWorld]":
    """The world of this machine; without a database the shipped list, and a history of nothing."""
    from service.cli.market import LocalMarket, is_absent
    from service.cli.settings import settings_with
    from service.flows.chat import ChatWorld, LastPlans
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    settings, local = settings_with(), LocalMarket()
    nothing_stored = is_absent(settings.database_url)
    engine = make_engine("sqlite://" if nothing_stored else settings.database_url)
    if nothing_stored:
        prepare_database(engine)

    def now() -> datetime:
        return datetime.now(UTC)

    market, pools = local.snapshot.market, local.snapshot.pools
    try:
        yield ChatWorld(
            clock=now,
            market=lambda: market,
            engine=engine,
            last_plans=LastPlans(now),
            pools=lambda: pools,
            statuses=lambda: market.statuses,
            default_sensitivity=settings.default_sensitivity,
            public_url=settings.chat.public_url,
        )
    finally:
        engine.dispose()
