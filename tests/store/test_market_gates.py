"""A region that goes, a price under its own term price and a true cut, from the refresh to the market, on both databases."""

from decimal import Decimal

from providers.offer import CapacityType, Tenancy
from service.flows.snapshot import SnapshotHolder

REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1")


def listed(offers_of, *, usd=None, regions=REGIONS, **changes):
    """Four machines in each region at 10 USD, in some regions at another price."""
    prices = {**dict.fromkeys(regions, "10"), **(usd or {})}
    cloud = {"tenancy": Tenancy.HYPERSCALER, **changes}
    return [offer for region in regions
            for offer in offers_of(4, region=region, scope=region, usd_per_hour=prices[region], **cloud)]  # fmt: skip


def market(engine, clock):
    holder = SnapshotHolder(engine, clock)
    holder.poll()
    return holder.market()


def held(engine, clock):
    """Region, purchase kind and price of every offer, and whether it is suspect."""
    found = market(engine, clock)
    (base,), (marks,) = found.bases[:1], found.suspect
    rows = [(found.offer(base + row), bool(mark)) for row, mark in enumerate(marks.tolist())]
    return {(offer.region, offer.capacity_type.value, offer.usd_per_hour, mark) for offer, mark in rows}


def test_a_region_that_turns_to_zero_is_refused_and_its_last_good_prices_stay(engine, refresh, offers_of, clock):
    refresh(*listed(offers_of))
    result = refresh(*listed(offers_of, regions=REGIONS[:3], usd=dict.fromkeys(REGIONS[:3], "11")))
    assert (result.outcome, result.error) == ("refused", "region-gone")
    assert "eu-central-1 lists nothing where there were 4 shapes" in result.detail
    assert held(engine, clock) == {(region, "on_demand", Decimal(10), False) for region in REGIONS}


def test_a_region_that_stays_gone_for_three_refreshes_is_closed(engine, refresh, offers_of, clock):
    refresh(*listed(offers_of))
    left = listed(offers_of, regions=REGIONS[:3])
    assert [refresh(*left).outcome for _ in range(3)] == ["refused", "refused", "complete"]
    assert {region for region, *_ in held(engine, clock)} == set(REGIONS[:3])


def test_a_region_that_could_not_be_read_is_no_region_that_went(engine, refresh, offers_of, clock):
    refresh(*listed(offers_of))
    result = refresh(*listed(offers_of, regions=REGIONS[:3]), failed_scopes={"eu-central-1": "provider-unavailable"})
    assert result.outcome == "partial"
    assert {region for region, *_ in held(engine, clock)} == set(REGIONS)


def test_a_price_below_its_own_reserved_price_is_kept_and_suspect(engine, refresh, offers_of, clock):
    year = {"capacity_type": CapacityType.RESERVED, "term_months": 12.0}
    plans = listed(offers_of, usd=dict.fromkeys(REGIONS, "7"), **year)
    result = refresh(*listed(offers_of, usd={"us-west-2": "6.5"}), *plans)  # over half of its other regions: no other rule
    assert result.outcome == "complete"
    found = held(engine, clock)
    assert ("us-west-2", "on_demand", Decimal("6.5"), True) in found
    assert {row for row in found if row[3]} == {("us-west-2", "on_demand", Decimal("6.5"), True)}


def test_a_true_cut_seen_in_all_regions_passes_unsuspected(engine, refresh, offers_of, clock):
    year = {"capacity_type": CapacityType.RESERVED, "term_months": 12.0}
    plans = listed(offers_of, usd=dict.fromkeys(REGIONS, "7"), **year)
    refresh(*listed(offers_of), *plans)
    result = refresh(*listed(offers_of, usd=dict.fromkeys(REGIONS, "4.4")), *plans)  # 56 % off everywhere, below the plans
    assert (result.outcome, result.changed) == ("complete", 16)
    cut = {(region, "on_demand", Decimal("4.4"), False) for region in REGIONS}
    assert held(engine, clock) == cut | {(region, "reserved", Decimal(7), False) for region in REGIONS}


def test_the_same_cut_in_one_region_alone_is_suspect(engine, refresh, offers_of, clock):
    refresh(*listed(offers_of))
    assert refresh(*listed(offers_of, usd={"us-west-2": "4.4"})).outcome == "complete"
    assert {row[0] for row in held(engine, clock) if row[3]} == {"us-west-2"}
