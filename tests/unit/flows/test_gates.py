"""Gates: exact limits, what counts as a shape, and when two refused batches agree."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.offer import DUPLICATE, MALFORMED, NO_GPU, NO_PRICE, UNKNOWN_GPU, Batch, CapacityType, Offer, Rejected, Tenancy
from service.flows.gates import agree, counts_by_reason, is_partial, profile_of, refusal_of

BASE = Offer(
    feed="fake",
    provider="fake",
    tier="standard",
    instance_type="a",
    gpu="L4",
    gpu_count=1,
    capacity_type=CapacityType.ON_DEMAND,
    tenancy=Tenancy.PROVIDER_DATACENTER,
    region="r1",
    usd_per_hour=Decimal(1),
    gpu_memory_gb=24,
    observed_at=datetime(2026, 9, 1, tzinfo=UTC),
)


def offers(count, **changes):
    return tuple(replace(BASE, instance_type=f"t{at}", **changes) for at in range(count))


def rows(reason, count):
    return tuple(Rejected(reason=reason, row=str(at)) for at in range(count))


def judged(before, after, **batch):
    refusal = refusal_of(Batch(offers=after, **batch), profile_of(after), profile_of(before))
    return refusal and refusal.code


def test_a_sold_out_shape_in_fewer_regions_has_not_gone():
    # ten shapes in five regions are 50 offers; sold out they are listed once each: 10 offers, still ten shapes
    everywhere = tuple(offer for at in range(5) for offer in offers(10, region=f"r{at}"))
    assert judged(everywhere, offers(10)) is None


def test_hosts_of_a_marketplace_are_shapes_of_their_own():
    hosts = tuple(replace(BASE, instance_type=None, machine_id=str(at)) for at in range(200))
    assert judged(hosts, hosts[:64]) == "too-few-shapes"  # a page limit
    assert judged(hosts, hosts[:100]) is None


@pytest.mark.parametrize(
    ("malformed", "read", "code"), [(1, 5, "too-many-malformed-rows"), (19, 100, None), (20, 100, "too-many-malformed-rows")]
)
def test_a_fifth_of_the_rows_malformed_is_too_many(malformed, read, code):
    assert judged(offers(4), offers(4), rejected=rows(MALFORMED, malformed), row_count=read) == code


def test_rows_without_a_gpu_do_not_dilute_the_malformed_ones():
    # 900 CPU rows, 60 malformed of the 100 that matter
    rejected = (*rows(NO_GPU, 900), *rows(MALFORMED, 60))
    assert judged(offers(40), offers(40), rejected=rejected, row_count=1000) == "too-many-malformed-rows"


def test_rows_are_not_counted_as_the_offers_they_give():
    # 10 malformed of 20 rows; the other 10 rows give 60 offers. By offers it would be 14 %
    many = tuple(offer for at in range(6) for offer in offers(10, region=f"r{at}"))
    assert judged(many, many, rejected=rows(MALFORMED, 10), row_count=20) == "too-many-malformed-rows"


def test_one_host_may_ask_what_it_likes():
    before = (*offers(10), replace(BASE, gpu="T4", machine_id="1"))
    after = (*offers(10), replace(BASE, gpu="T4", machine_id="1", usd_per_hour=Decimal(40)))
    assert judged(before, after) is None


def test_one_card_of_three_offers_that_moves_by_more_than_five_is_refused():
    before = (*offers(10), *offers(3, gpu="T4"))
    assert judged(before, (*offers(10), *offers(3, gpu="T4", usd_per_hour=Decimal(6)))) == "median-moved"


def test_a_unit_that_changed_in_one_purchase_kind_is_refused_also_in_a_small_catalogue():
    before = (*offers(2), *offers(2, capacity_type=CapacityType.SPOT, usd_per_hour=Decimal("0.5")))
    after = (*offers(2), *offers(2, capacity_type=CapacityType.SPOT, usd_per_hour=Decimal(50)))
    assert judged(before, after) == "median-moved"


def test_a_price_of_nothing_moves_by_no_factor():
    free = offers(3, capacity_type=CapacityType.FREE_TIER, usd_per_hour=Decimal(0))
    assert judged(free, free) is None
    assert judged(free, offers(3, capacity_type=CapacityType.FREE_TIER)) is None


def test_a_scope_that_failed_is_not_missed():
    both = (*offers(4, scope="east", region="east"), *offers(40, scope="west", region="west"))
    east = offers(4, scope="east", region="east")
    assert judged(both, east) == "too-few-shapes"
    assert judged(both, east, failed_scopes={"west": "provider-unavailable"}) is None


def test_a_list_of_dated_prices_may_shrink_and_move():
    assert judged(offers(10, is_dated=True), offers(1, is_dated=True, usd_per_hour=Decimal(99))) is None


def test_the_first_load_is_judged_by_itself():
    assert refusal_of(Batch(offers=()), {}, None).code == "empty-batch"
    assert refusal_of(Batch(offers=offers(1)), profile_of(offers(1)), None) is None


@given(count=st.integers(1, 30), factor=st.floats(0.95, 1.05))
def test_a_batch_agrees_with_itself_moved_by_little(count, factor):
    moved = offers(count, usd_per_hour=Decimal(repr(round(factor, 6))))
    assert agree(profile_of(offers(count)), profile_of(moved))
    assert agree(profile_of(moved), profile_of(offers(count)))


def test_batches_of_other_size_or_price_do_not_agree():
    assert not agree(profile_of(offers(10)), profile_of(offers(8)))
    assert not agree(profile_of(offers(10)), profile_of(offers(10, usd_per_hour=Decimal("1.2"))))


@given(reasons=st.lists(st.sampled_from([UNKNOWN_GPU, NO_GPU, MALFORMED, DUPLICATE, NO_PRICE])))
def test_every_rejected_row_is_counted(reasons):
    batch = Batch(offers=offers(1), rejected=tuple(Rejected(reason=reason, row="") for reason in reasons))
    assert sum(counts_by_reason(batch).values()) == len(reasons)
    assert is_partial(batch) == bool(set(reasons) - {NO_GPU})


CLOUD = {"tenancy": Tenancy.HYPERSCALER}


@pytest.mark.parametrize("scope", ["", "east"])
def test_a_region_that_lists_nothing_all_at_once_is_refused(scope):
    # one of five regions: four fifths of the rows, and with scopes of the shapes, are still there
    rest = tuple(offer for at in range(4) for offer in offers(3, region=f"r{at}", scope=f"r{at}" if scope else "", **CLOUD))
    east = offers(3, region="east", scope=scope, **CLOUD)
    assert judged((*rest, *east), rest) == "region-gone"
    assert judged((*rest, *east), (*rest, *east[:1])) is None
    assert judged((*rest, *east), rest, failed_scopes={"east": "provider-unavailable"}) == (None if scope else "region-gone")
    assert judged((*rest, *east[:2]), rest) is None  # two shapes may be withdrawn


def test_a_region_where_only_stock_is_listed_may_go():
    everywhere = (*offers(10, region="r1"), *offers(10, region="r2"))
    assert judged(everywhere, offers(10, region="r1")) is None


def test_a_profile_without_regions_is_no_fault():
    older = {scope: {key: part[key] for key in ("shapes", "medians")} for scope, part in profile_of(offers(10)).items()}
    assert refusal_of(Batch(offers=offers(10)), profile_of(offers(10)), older) is None
