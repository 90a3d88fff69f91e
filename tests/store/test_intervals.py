"""Law: whatever a feed listed after each refresh, `offers_at` gives it for every instant, and intervals never overlap."""

from datetime import timedelta
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from providers.offer import Batch
from service.flows.refresh import RefreshRun, refresh_feed
from service.flows.snapshot import load_market_cold
from service.solver.columns import columns_of
from service.store import prices
from service.store.engine import make_engine, reading
from service.store.lease import LeaseKeeper
from service.store.schema import prepare_database
from service.store.tables import PriceHistory

BATCHES = st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 3), min_size=1), min_size=1, max_size=6)


# The fixtures are a clock that only goes forward and two functions.
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_prices_at_any_instant_are_those_of_the_last_refresh_before_it(tmp_path_factory, clock, fake, offer_of, batches):
    url = f"sqlite:///{tmp_path_factory.mktemp('law') / 'prices.db'}"
    engine = make_engine(url)
    prepare_database(engine)
    lease = LeaseKeeper(engine, "law", clock, ttl=timedelta(days=365_000)).acquire()
    seen = []
    for batch in batches:
        clock.pass_(minutes=5)
        offers = tuple(offer_of(instance_type=f"t{key}", usd_per_hour=str(price)) for key, price in batch.items())
        run = RefreshRun(engine=engine, clock=clock, lease=lease, interval_seconds=300, accept=True)
        refresh_feed(fake(batch=Batch(offers=offers)), None, run)
        seen.append((clock.now, {f"t{key}": Decimal(price) for key, price in batch.items()}))
    with reading(engine) as connection:
        for instant, listed in seen:
            for at in (instant, instant + timedelta(minutes=4)):
                found = prices.offers_at(connection, at).get("fake", [])
                assert {offer.instance_type: offer.usd_per_hour for offer in found} == listed
        last = prices.offers_at(connection, clock.now).get("fake", [])
        table = PriceHistory.__table__
        ended = connection.execute(select(table.c.offer_id, table.c.valid_from, table.c.valid_to)).all()
    by_offer = {}
    for offer_id, begins, ends in sorted(ended):
        assert by_offer.get(offer_id, begins) <= begins < ends
        by_offer[offer_id] = ends
    cold = load_market_cold(url, now=clock.now)
    packed = columns_of(last)
    assert [cold.offer(row) for row in range(cold.offers)] == [packed.offer(row) for row in range(packed.rows)]
    engine.dispose()
