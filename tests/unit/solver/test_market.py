from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

from providers.errors import InvalidInput
from providers.offer import Availability, CapacityType, Tenancy
from service.solver.columns import columns_of
from service.solver.groups import groups_of
from service.solver.market import FeedStatus, Market, OfferFilter

SPOT = CapacityType.SPOT


def test_rows_that_differ_in_price_and_region_only_are_one_group_cheapest_first(offer, market):
    made = market(
        offer(usd_per_hour="4"), offer(usd_per_hour="3", region="us-west-1"), offer(usd_per_hour="3.5", region="us-west-2")
    )
    assert made.groups.size.tolist() == [3]
    assert made.groups.row_usd_per_hour.tolist() == [3.0, 3.5, 4.0]
    assert [made.offer(int(row)).region for row in made.groups.row] == ["us-west-1", "us-west-2", "us-east-1"]


@pytest.mark.parametrize(
    "other",
    [
        {"country": "DE"}, {"tier": "private-cloud"}, {"capacity_type": SPOT}, {"availability": Availability.UNKNOWN},
        {"gpu_count": 2.0}, {"billing_increment_seconds": 60}, {"disk_max_gb": 10.0}, {"machine_id": "m"},
        {"tenancy": Tenancy.COMMUNITY_HOST}, {"interruption_fraction_per_month": (0.0, 0.05)}, {"scope": "us-east-1"},
    ],
)  # fmt: skip
def test_what_the_mask_or_the_cost_depends_on_parts_groups(offer, market, other):
    assert len(market(offer(), offer(region="us-west-1", **other)).groups) == 2


def test_group_sizes_add_up_over_feeds_and_rows_know_their_feed(offer, market):
    made = market(offer(), offer("T4", "1"), offer(feed="runpod", provider="runpod", tier="secure"))
    assert int(made.groups.size.sum()) == made.offers == 3
    assert sorted(made.offer(index).provider for index in range(3)) == ["lambda", "lambda", "runpod"]
    assert sorted(made.groups.row.tolist()) == [0, 1, 2]


def test_only_changed_feeds_are_grouped_again(offer):
    old, new = columns_of([offer()]), columns_of([offer(usd_per_hour="5")])
    kept = groups_of(old)
    made = Market.build({"lambda": old, "runpod": new}, [], snapshot_id="s", as_of=None)
    assert made.grouped[0] is kept


def test_a_market_without_offers_is_a_market(offer):
    made = Market.build({}, [], snapshot_id="s", as_of=None)
    assert (made.offers, len(made.groups), made.select(OfferFilter()).tolist()) == (0, 0, [])


def test_filters_and_sort(offer, market):
    made = market(
        offer("H100-SXM", "8", gpu_count=2.0),  # 4 a GPU
        offer("H100-SXM", "4.5", capacity_type=SPOT),
        offer("L4", "0.8", country="DE", region="eu-1"),
        offer("T4", "0.4", feed="runpod", provider="runpod", tier="community", tenancy=Tenancy.COMMUNITY_HOST),
    )

    def found(sort="usd_per_gpu_hour", **wanted):
        return [str(made.offer(int(row)).usd_per_hour) for row in made.select(OfferFilter(**wanted), sort=sort)]

    assert found() == ["0.4", "0.8", "8", "4.5"]
    assert found(sort="-usd_per_hour") == ["8", "4.5", "0.8", "0.4"]
    assert found(gpus={"H100-SXM"}) == ["8", "4.5"]
    assert found(min_gpu_memory_gb=24) == ["0.8", "8", "4.5"]
    assert found(min_gpu_count=2) == ["8"]
    assert found(providers={"runpod"}) == ["0.4"]
    assert found(countries={"DE"}) == ["0.8"]
    assert found(regions={"eu-1"}) == ["0.8"]
    assert found(capacity_types={"spot"}) == ["4.5"]
    assert found(tenancies={"community_host"}) == ["0.4"]
    assert found(max_usd_per_hour=4.5) == ["0.4", "0.8", "4.5"]
    assert found(max_usd_per_gpu_hour=4.0) == ["0.4", "0.8", "8"]
    assert found(availabilities={"unknown"}) == []
    with pytest.raises(InvalidInput):
        made.select(OfferFilter(), sort="colour")


def test_an_unknown_country_passes_no_country_filter(offer, market):
    made = market(offer(country=None), offer(country="US", region="us-2"))
    assert len(made.select(OfferFilter(countries={"US"}))) == 1


def test_equal_rows_stand_by_offer_id_whatever_their_order(offer, market):
    offers = [offer(region=f"us-{n}") for n in range(5)]
    first, second = market(*offers), market(*reversed(offers))
    ids = [[m.offer(int(row)).offer_id for row in m.select(OfferFilter())] for m in (first, second)]
    assert ids[0] == ids[1] == sorted(one.offer_id for one in offers)


# suspect prices


def suspects(made):
    return [made.offer(base + int(row)).usd_per_hour for base, marks in zip(made.bases, made.suspect, strict=False)
            for row in np.flatnonzero(marks)]  # fmt: skip


def test_a_list_price_under_half_of_its_other_regions_is_suspect(offer, market):
    made = market(offer(usd_per_hour="1.9"), offer(usd_per_hour="4", region="b"), offer(usd_per_hour="4", region="c"))
    assert [str(usd) for usd in suspects(made)] == ["1.9"]
    fine = market(offer(usd_per_hour="2"), offer(usd_per_hour="4", region="b"), offer(usd_per_hour="4", region="c"))
    assert suspects(fine) == []


def test_two_low_regions_are_a_price_not_an_error(offer, market):
    made = market(offer(usd_per_hour="1"), offer(usd_per_hour="1.1", region="b"), offer(usd_per_hour="4", region="c"))
    assert suspects(made) == []


def test_spot_needs_two_other_regions_to_be_judged_by(offer, market):
    two = market(offer(usd_per_hour="1", capacity_type=SPOT), offer(usd_per_hour="3", region="b", capacity_type=SPOT))
    assert suspects(two) == []


def test_a_price_under_a_fifth_of_the_sellers_median_is_suspect(offer, market):
    sellers = [offer(usd_per_hour="4", feed=name, provider=name) for name in ("one", "two", "three")]
    made = market(*sellers, offer(usd_per_hour="0.79", feed="four", provider="four"))
    assert [str(usd) for usd in suspects(made)] == ["0.79"]  # the median is 4, a fifth of it 0.80
    assert suspects(market(*sellers, offer(usd_per_hour="0.81", feed="four", provider="four"))) == []


def test_hosts_of_a_marketplace_are_not_each_others_regions(offer, market):
    hosts = [offer(usd_per_hour=usd, region=f"r{n}", machine_id=f"m{n}") for n, usd in enumerate(("1.5", "4", "4"))]
    assert suspects(market(*hosts)) == []


BOUGHT = {"capacity_type": CapacityType.RESERVED, "term_months": 12.0}


def test_a_price_below_its_own_term_price_is_suspect(offer, market):
    year = offer(usd_per_hour="2.5", **BOUGHT)
    assert [str(usd) for usd in suspects(market(offer(usd_per_hour="2.4"), year))] == ["2.4"]
    assert suspects(market(offer(usd_per_hour="2.5"), year)) == []
    assert suspects(market(offer(usd_per_hour="1", capacity_type=SPOT), year)) == []
    # 2,190 at first are 0.25 an hour over 12 x 730 h: 2.25 + 0.25 = 2.50
    partly = offer(usd_per_hour="2.25", upfront_usd=Decimal(2190), **BOUGHT)
    assert [str(usd) for usd in suspects(market(offer(usd_per_hour="2.4"), partly))] == ["2.4"]


def test_only_the_same_machine_at_the_same_place_for_a_month_at_least_is_a_term_price(offer, market):
    cheap = offer(usd_per_hour="2.4")
    for other in ({"region": "b"}, {"instance_type": "other"}, {"tier": "other"}, {"feed": "reference", "is_dated": True}):
        assert suspects(market(cheap, offer(usd_per_hour="2.5", **BOUGHT, **other))) == []
    block = {**BOUGHT, "term_months": 0.033}
    assert suspects(market(cheap, offer(usd_per_hour="2.5", **block))) == []


def test_a_cut_below_the_term_price_in_every_region_is_a_cut(offer, market):
    places = ("a", "b")
    years = [offer(usd_per_hour="2.5", region=region, **BOUGHT) for region in places]
    assert suspects(market(*(offer(usd_per_hour="2", region=region) for region in places), *years)) == []
    one = market(offer(usd_per_hour="2", region="a"), offer(usd_per_hour="3", region="b"), *years)
    assert [str(usd) for usd in suspects(one)] == ["2"]


# ages


def test_prices_go_stale_after_three_missed_refreshes(now):
    status = FeedStatus(name="lambda", interval_seconds=300, last_success_at=now)
    assert not status.is_stale(now + timedelta(seconds=900))
    assert status.is_stale(now + timedelta(seconds=901))
    assert FeedStatus(name="lambda").is_stale(now)  # never answered


def test_a_failure_domain_has_its_own_age(now):
    status = FeedStatus(name="aws", last_success_at=now, scopes={"us-east-1": now - timedelta(hours=49)})
    assert status.age_hours(now, "us-east-1") == 49
    assert status.age_hours(now, "eu-west-1") == 0
