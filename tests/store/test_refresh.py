"""A refresh writes changes as closed intervals, nothing when nothing changed, and never loses the last good prices."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import func, select, text

from providers.errors import ProviderUnavailable
from providers.offer import MALFORMED, UNKNOWN_GPU, CapacityType, Rejected
from service.solver.columns import columns_of, unpack
from service.store import feeds, prices
from service.store.engine import reading
from service.store.tables import CurrentPrice, PriceHistory


def stored(engine, table):
    with reading(engine) as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def state(engine, scope="", feed="fake"):
    with reading(engine) as connection:
        return feeds.feed_states(connection)[(feed, scope)]


def version(engine):
    with reading(engine) as connection:
        return feeds.market_version(connection)


def current(engine, at):
    with reading(engine) as connection:
        return prices.offers_at(connection, at)


def rejected(reason, count):
    return tuple(Rejected(reason=reason, row=str(row)) for row in range(count))


def test_an_offer_comes_back_exact_in_every_field(engine, refresh, offer_of, clock):
    given = offer_of(usd_per_hour="0.123456", upfront_usd=Decimal("12.5"), gpu_count=0.125, zone="us-1a", scope="us-1")
    refresh(given)
    [found] = current(engine, clock.now)["fake"]
    assert found == replace(given, observed_at=clock.now)
    with reading(engine) as connection:  # the bulk insert writes times as every other statement does
        since = connection.execute(select(func.count()).where(CurrentPrice.valid_from == clock.now.replace(microsecond=0)))
        assert since.scalar() == 1


def test_a_change_closes_the_old_interval_where_the_new_one_begins(engine, refresh, offer_of, clock):
    refresh(offer_of(usd_per_hour="20"))
    first = clock.now
    result = refresh(offer_of(usd_per_hour="21"))
    second = clock.now
    assert (result.new, result.changed, result.gone, result.unchanged) == (0, 1, 0, 0)
    assert [o.usd_per_hour for o in current(engine, second - timedelta(microseconds=1))["fake"]] == [Decimal(20)]
    assert [o.usd_per_hour for o in current(engine, second)["fake"]] == [Decimal(21)]
    assert current(engine, first - timedelta(microseconds=1)) == {}
    assert stored(engine, PriceHistory) == 1


def test_an_offer_that_went_is_closed_and_may_come_back(engine, refresh, offers_of, clock):
    both = offers_of(2)
    refresh(*both)
    result = refresh(both[0])
    assert (result.gone, result.unchanged) == (1, 1)
    assert len(current(engine, clock.now)["fake"]) == 1
    assert refresh(*both).new == 1
    assert stored(engine, CurrentPrice) == 2
    assert stored(engine, PriceHistory) == 1


def test_nothing_changed_writes_no_price_row_and_no_new_market(engine, refresh, offers_of, clock):
    refresh(*offers_of(10))
    before = version(engine)
    result = refresh(*offers_of(10))
    after = version(engine)
    assert (result.outcome, result.unchanged, result.new, result.changed) == ("complete", 10, 0, 0)
    assert (after.version, after.changed_at) == (before.version, before.changed_at)
    assert after.status_version > before.status_version
    assert stored(engine, PriceHistory) == 0
    assert state(engine)["last_seen_at"] == clock.now


def test_set_order_and_observed_at_are_no_change(engine, refresh, offer_of):
    refresh(offer_of(attestations=frozenset(["a", "b", "c", "d"])))
    assert refresh(offer_of(attestations=frozenset(["d", "c", "b", "a"]))).unchanged == 1


def test_purchase_kinds_of_one_machine_stay_two_offers(engine, refresh, offer_of, clock):
    # behaviour 18: spot 0.84 and on-demand 2.95 of the same machine never mix
    spot = offer_of(usd_per_hour="0.84", capacity_type=CapacityType.SPOT)
    refresh(spot, offer_of(usd_per_hour="2.95"))
    refresh(replace(spot, usd_per_hour=Decimal("0.90")), offer_of(usd_per_hour="2.95"))
    found = {o.capacity_type: o.usd_per_hour for o in current(engine, clock.now)["fake"]}
    assert found == {CapacityType.SPOT: Decimal("0.90"), CapacityType.ON_DEMAND: Decimal("2.95")}


@pytest.mark.parametrize(
    ("offers", "batch", "code"),
    [
        (0, {}, "empty-batch"),
        (4, {}, "too-few-shapes"),  # 4 of 10 is under half
        (10, {"rejected": rejected(MALFORMED, 3), "row_count": 13}, "too-many-malformed-rows"),  # 3 / 13 = 23 %
    ],
)
def test_a_batch_that_fails_a_gate_leaves_the_last_good_prices(engine, refresh, offers_of, clock, offers, batch, code):
    refresh(*offers_of(10))
    good = clock.now
    result = refresh(*offers_of(offers, usd_per_hour="11"), **batch)
    assert (result.outcome, result.state, result.error) == ("refused", "degraded", code)
    assert [o.usd_per_hour for o in current(engine, clock.now)["fake"]] == [Decimal(10)] * 10
    assert state(engine)["last_success_at"] == good
    assert state(engine)["outcome"] == "refused"


def test_half_the_shapes_and_a_fifth_less_one_malformed_pass(refresh, offers_of):
    refresh(*offers_of(10))
    # 5 of 10 shapes is half; 1 of 6 rows is 17 %
    assert refresh(*offers_of(5), rejected=rejected(MALFORMED, 1), row_count=6).outcome == "partial"


def test_unknown_cards_are_counted_apart(refresh, offers_of):
    refresh(*offers_of(10))
    result = refresh(*offers_of(10), rejected=rejected(UNKNOWN_GPU, 50), row_count=60)
    assert (result.outcome, result.state, result.rejected) == ("partial", "ok", {UNKNOWN_GPU: 50})


@pytest.mark.parametrize(("price", "outcome"), [("50", "complete"), ("50.1", "refused"), ("2", "complete"), ("1.99", "refused")])
def test_a_median_may_move_by_five_and_no_more(refresh, offers_of, price, outcome):
    refresh(*offers_of(10, usd_per_hour="10"))
    assert refresh(*offers_of(10, usd_per_hour=price)).outcome == outcome


def test_a_refused_batch_is_taken_when_three_refreshes_in_a_row_agree(engine, refresh, offers_of, clock):
    refresh(*offers_of(10, usd_per_hour="10"))
    outcomes = [refresh(*offers_of(10, usd_per_hour="100")).outcome for _ in range(3)]
    assert outcomes == ["refused", "refused", "complete"]
    assert {o.usd_per_hour for o in current(engine, clock.now)["fake"]} == {Decimal(100)}
    assert state(engine)["refused_times"] == 0


def test_refused_batches_that_tell_different_stories_are_not_taken(refresh, offers_of):
    refresh(*offers_of(10, usd_per_hour="10"))
    outcomes = [refresh(*offers_of(10, usd_per_hour=price)).outcome for price in ("100", "200", "100", "200")]
    assert outcomes == ["refused"] * 4


def test_a_good_batch_between_refused_ones_starts_the_count_again(refresh, offers_of):
    refresh(*offers_of(10, usd_per_hour="10"))
    prices_seen = ("100", "100", "10", "100", "100", "100")
    outcomes = [refresh(*offers_of(10, usd_per_hour=price)).outcome for price in prices_seen]
    assert outcomes == ["refused", "refused", "complete", "refused", "refused", "complete"]


def test_accept_takes_a_refused_batch_at_once_but_never_an_empty_one(refresh, offers_of):
    refresh(*offers_of(10))
    assert refresh(*offers_of(2), accept=True).outcome == "complete"
    assert refresh(accept=True).outcome == "refused"


def test_three_empty_catalogues_are_not_a_market(engine, refresh, offers_of, clock):
    refresh(*offers_of(10))
    assert [refresh().outcome for _ in range(4)] == ["refused"] * 4
    assert len(current(engine, clock.now)["fake"]) == 10


def test_a_failed_fetch_is_counted_and_the_next_good_one_clears_it(engine, refresh, offers_of):
    refresh(*offers_of(3))
    for times in (1, 2, 3):
        result = refresh(error=ProviderUnavailable("fake", "503 after all tries"))
        assert (result.outcome, result.error, state(engine)["consecutive_failures"]) == ("failed", "provider-unavailable", times)
    refresh(*offers_of(3))
    assert (state(engine)["consecutive_failures"], state(engine)["error"]) == (0, None)


def test_missing_credentials_call_nobody(refresh):
    refresh.adapter.missing = "GPUPLAN_PROVIDERS__FAKE__API_KEY is not set"
    result = refresh()
    assert (result.error, refresh.adapter.calls) == ("provider-needs-key", 0)


def test_a_scope_that_failed_keeps_its_last_good_prices(engine, refresh, offers_of, clock):
    east, west = offers_of(4, scope="east", region="east"), offers_of(4, scope="west", region="west")
    refresh(*east, *west)
    good = clock.now
    changed = offers_of(4, scope="east", region="east", usd_per_hour="11")
    result = refresh(*changed, failed_scopes={"west": "provider-credentials"})
    assert (result.outcome, result.state, result.changed, result.gone, result.offers) == ("partial", "degraded", 4, 0, 8)
    found = current(engine, clock.now)["fake"]
    assert sorted((o.scope, o.usd_per_hour) for o in found) == [("east", Decimal(11))] * 4 + [("west", Decimal(10))] * 4
    assert (state(engine, "west")["last_seen_at"], state(engine, "west")["error"]) == (good, "provider-credentials")
    assert state(engine, "east")["last_seen_at"] == clock.now


def test_a_scope_that_failed_once_is_still_judged_by_its_last_good_size(refresh, offers_of):
    east, west = offers_of(4, scope="east", region="east"), offers_of(40, scope="west", region="west")
    refresh(*east, *west)
    refresh(*offers_of(4, scope="east", region="east", usd_per_hour="11"), failed_scopes={"west": "provider-unavailable"})
    assert refresh(*east, *west[:4]).error == "too-few-shapes"


def test_a_refresh_that_another_overtook_compares_again(engine, refresh, offers_of, clock, monkeypatch):
    from service.flows import storing

    refresh(*offers_of(3, usd_per_hour="10"))
    real, overtaken = storing.pack_feed, []

    def overtaking(*args, **kwargs):
        if not overtaken:
            overtaken.append(True)
            refresh(*offers_of(4, usd_per_hour="12"))
        return real(*args, **kwargs)

    monkeypatch.setattr(storing, "pack_feed", overtaking)
    result = refresh(*offers_of(3, usd_per_hour="11"))
    assert (result.changed, result.gone) == (3, 1)
    with reading(engine) as connection:
        rows = connection.execute(select(PriceHistory.micro_usd_per_hour)).scalars().all()
    assert sorted(rows) == [10_000_000] * 3 + [12_000_000] * 4


def test_the_blob_is_what_a_query_of_the_prices_gives(engine, refresh, offers_of, clock):
    # also after a change of one row and with a failed scope: the rest keeps the time at which it was first read
    east, west = offers_of(3, scope="east", region="east"), offers_of(3, scope="west", region="west")
    refresh(*east, *west)
    refresh(
        *offers_of(1, scope="east", region="east", usd_per_hour="12"), *east[1:], failed_scopes={"west": "provider-unavailable"}
    )
    with reading(engine) as connection:
        _, blob = feeds.packed_columns(connection, "fake")
    packed = unpack(blob)
    queried = columns_of(current(engine, clock.now)["fake"])
    assert [packed.offer(row) for row in range(packed.rows)] == [queried.offer(row) for row in range(queried.rows)]
    assert len({packed.observed_at(row) for row in range(packed.rows)}) == 2


def test_a_price_that_would_be_stored_as_zero_is_rejected(refresh, offer_of):
    result = refresh(offer_of(), offer_of(instance_type="absurd", usd_per_hour="0.0000004"))
    assert (result.offers, result.rejected) == (1, {"no_price": 1})


def test_history_takes_any_month(engine, refresh, offer_of, clock):
    for month in range(14):
        refresh(offer_of(usd_per_hour=str(10 + month)))
        clock.pass_(days=31)
    assert stored(engine, PriceHistory) == 13
    with reading(engine) as connection:
        if engine.dialect.name == "postgresql":
            partitions = connection.execute(text("SELECT count(*) FROM pg_inherits WHERE inhparent = 'price_history'::regclass"))
            assert partitions.scalar() == 13


def test_changes_at_one_tick_of_the_clock_still_have_an_order(engine, refresh, offer_of, clock):
    seen = []
    for price in ("10", "11", "12"):
        refresh(offer_of(usd_per_hour=price))
        clock.pass_(minutes=-5)
        seen.append(version(engine).changed_at)
    assert seen == sorted(set(seen))
    assert [current(engine, at)["fake"][0].usd_per_hour for at in seen] == [Decimal(10), Decimal(11), Decimal(12)]


def test_sightings_join_until_a_gap_of_three_intervals(engine, refresh, offer_of, clock):
    refresh(offer_of())
    first = clock.now
    refresh(offer_of())
    last = clock.now
    clock.pass_(hours=2)
    refresh(offer_of())
    with reading(engine) as connection:

        def seen(at):
            return feeds.sightings_at(connection, at).get(("fake", ""))

        assert seen(first + timedelta(minutes=2)) == first + timedelta(minutes=2)  # inside a span: fresh at that time
        assert seen(last + timedelta(hours=1)) == last
        assert seen(clock.now) == clock.now
        assert seen(first - timedelta(seconds=1)) is None
