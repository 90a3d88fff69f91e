"""Which prices a plan uses, caps and ages: each with what the answer says of it."""

from datetime import date, timedelta

from providers.offer import CapacityType, PriceBasis, Tenancy
from service.solver.market import FeedStatus, PriceMedian

SPOT = CapacityType.SPOT
COMMUNITY = {"feed": "runpod", "provider": "runpod", "tier": "community", "tenancy": Tenancy.COMMUNITY_HOST}
SECURE = {"feed": "runpod", "provider": "runpod", "tier": "secure"}


RAW_OPEN = {"task": "raw", "vram_gib": 20.0}
DATED = {"feed": "reference", "is_dated": True, "as_of": date(2026, 9, 1)}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def lines(option):
    return {line.name: line.usd_per_run for line in option.cost.lines}


def test_price_tiers_and_caps(offer, market, plan):
    # secure 0.76 and community 0.49 per GPU, two GPUs
    two = market(
        offer("RTX 4090", "1.52", gpu_count=2.0, **SECURE), offer("RTX 4090", "0.98", gpu_count=2.0, **COMMUNITY, country=None)
    )
    cap = {"max_usd_per_hour": 1.0}
    secure = plan(two, constraints={**cap, "data_sensitivity": "internal"})
    assert secure.options == ()
    assert "$1.52 an hour" in next(one for one in secure.exclusions if one.reason == "max_usd_per_hour").nearest_miss
    any_tier = plan(two, constraints=cap)
    assert [(option.usd_per_hour, option.tier) for option in any_tier.options] == [(0.98, "community")]


def test_a_cap_per_machine_is_not_a_cap_per_gpu(offer, market, plan):
    four = market(offer("RTX 4090", "0.80", gpu_count=4.0, capacity_type=SPOT, price_basis=PriceBasis.BID_FLOOR))
    short = {**RAW_OPEN, "gpu_hours": 1.0}
    whole = plan(four, workload=short, constraints={"max_usd_per_hour": 0.5})
    assert reasons(whole) == {"max_usd_per_hour": 1}
    assert "not per GPU" in whole.exclusions[0].explained
    assert len(plan(four, workload=short, constraints={"max_usd_per_gpu_hour": 0.5}).options) == 1
    per_gpu = plan(four, workload=short, constraints={"max_usd_per_gpu_hour": 0.1})
    assert "for each GPU" in per_gpu.exclusions[0].explained


def test_a_cap_on_the_total_counts_every_line(offer, market, plan):
    made = market(offer(usd_per_hour="4"))
    assert len(plan(made, constraints={"max_usd_total": 400.67}).options) == 1
    assert reasons(plan(made, constraints={"max_usd_total": 400.66})) == {"max_usd_total": 1}


def test_caps_cut_inside_a_group(offer, market, plan):
    made = market(*(offer(usd_per_hour=str(usd), region=f"r{usd}") for usd in (3, 4, 5, 6)))
    found = plan(made, constraints={"max_usd_per_hour": 4.5})
    assert [option.usd_per_hour for option in found.options] == [3, 4]
    assert (found.options_found, reasons(found)) == (2, {"max_usd_per_hour": 2})
    assert "$5.00 an hour" in found.exclusions[0].nearest_miss


def test_spot_dearer_than_on_demand_is_dominated(offer, market, plan):
    both = market(offer("RTX 4090", "0.49", capacity_type=SPOT), offer("RTX 4090", "0.44"))
    short = {**RAW_OPEN, "gpu_hours": 1.0}
    made = plan(both, workload=short)
    assert [(o.usd_per_hour, "dominated" in o.flags) for o in made.options] == [(0.44, False), (0.49, True)]
    alone = plan(both, workload=short, constraints={"capacity_types": ["spot"]}).options
    assert [option.usd_per_hour for option in alone] == [0.49]
    assert "saves -11.4 %" in alone[0].why


def test_purchase_kinds_never_mix(offer, market, plan):
    both = market(offer(usd_per_hour="2.95"), offer(usd_per_hour="0.84", capacity_type=SPOT))
    for kind, usd in (("spot", 0.84), ("on_demand", 2.95)):
        made = plan(both, constraints={"capacity_types": [kind]}, workload={**RAW_OPEN, "gpu_hours": 1.0})
        assert [(o.capacity_type, o.usd_per_hour) for o in made.options] == [(kind, usd)]
        assert made.exclusions[0].reason == "capacity_type"


def test_stale_prices_are_seen(offer, market, plan, now):
    status = FeedStatus(
        name="lambda", state="failing", last_success_at=now - timedelta(hours=49), last_attempt_at=now,
        error="provider-unavailable", offers=1,
    )  # fmt: skip
    made = plan(market(offer(), statuses=[status]))
    feed = made.prices.providers[0]
    assert (feed.stale, feed.age_hours, feed.error) == (True, 49, "provider-unavailable")
    assert "stale" in made.options[0].flags
    assert made.summary.startswith("Live prices are 2.04 days old. Stale: lambda.")
    refused = plan(market(offer(), statuses=[status]), constraints={"max_price_age_hours": 24.0})
    assert (refused.options, reasons(refused)) == ((), {"price_age": 1})
    assert "49 h old" in refused.exclusions[0].nearest_miss


def test_a_dated_price_is_never_first_while_a_live_one_fits(offer, market, plan):
    made = plan(market(offer(usd_per_hour="4"), offer(usd_per_hour="1", provider="gcp", tier="vm", **DATED)))
    assert [(option.usd_per_hour, "dated" in option.flags) for option in made.options] == [(4, False), (1, True)]
    assert made.leaders.cheapest_listed.rank == 1


def test_the_live_price_is_found_behind_any_number_of_dated_ones(offer, market, plan):
    dated = [offer(usd_per_hour="1", region=f"r{n}", provider="gcp", tier="vm", **DATED) for n in range(30)]
    made = plan(market(offer(usd_per_hour="4"), *dated), limit=5)
    assert [option.usd_per_hour for option in made.options] == [4, 1, 1, 1, 1]


def test_only_dated_prices_are_ranked_and_said(offer, market, plan):
    made = plan(market(offer(usd_per_hour="1", **DATED), statuses=[FeedStatus(name="reference", offers=1)]))
    assert made.options[0].flags == ("dated",)
    assert made.options[0].price.as_of == "2026-09-01"
    assert made.summary.startswith("Only dated prices are at hand; dated list prices are of 2026-09-01 (up to 19 days).")


def test_a_suspect_price_is_not_first_among_dated_ones_and_decides_nothing(offer, market, plan):
    dated = [offer(usd_per_hour=usd, region=usd, provider="gcp", tier="vm", **DATED) for usd in ("1", "4", "4.2")]
    made = plan(market(*dated), limit=2)
    assert [(option.usd_per_hour, option.flags) for option in made.options] == [
        (4, ("dated",)),
        (1, ("dated", "suspect")),
    ]


def test_a_dated_price_gives_way_to_a_live_one_of_its_provider_card_and_kind(offer, market, plan):
    made = plan(market(offer(usd_per_hour="4"), offer(usd_per_hour="1", region="b", **DATED)))
    assert [option.usd_per_hour for option in made.options] == [4]
    assert reasons(made) == {"superseded": 1}


def test_an_undated_price_is_flagged_and_of_unknown_age(offer, market, plan):
    undated = market(offer(feed="reference", is_dated=True, as_of=None))
    assert plan(undated).options[0].flags == ("dated", "undated")
    assert reasons(plan(undated, constraints={"max_price_age_hours": 1e6})) == {"price_age": 1}


def test_an_undated_price_is_never_first_while_a_dated_one_fits(offer, market, plan):
    undated = {"feed": "reference", "is_dated": True, "as_of": None}
    two = (
        offer(usd_per_hour="2", provider="gcp", tier="vm", **undated),
        offer(usd_per_hour="3", provider="azure", tier="vm", **DATED),
    )
    assert [option.usd_per_hour for option in plan(market(*two)).options] == [3, 2]
    assert [option.usd_per_hour for option in plan(market(*two), limit=1).options] == [3]
    assert [option.usd_per_hour for option in plan(market(*two, offer(usd_per_hour="4"))).options] == [4, 2, 3]


def test_an_expired_price_is_left_out(offer, market, plan):
    assert reasons(plan(market(offer(**DATED, valid_until=date(2026, 9, 19))))) == {"expired": 1}
    assert len(plan(market(offer(**DATED, valid_until=date(2026, 9, 20)))).options) == 1


def test_a_suspect_price_is_flagged_and_never_first(offer, market, plan):
    made = plan(market(offer(usd_per_hour="4"), offer(usd_per_hour="4.2", region="b"), offer(usd_per_hour="0.5", region="c")))
    assert [(option.usd_per_hour, option.flags) for option in made.options] == [(4, ()), (0.5, ("suspect",)), (4.2, ())]


def test_spot_beyond_one_run_stands_on_its_thirty_day_median(offer, market, plan):
    key = ("lambda", "H100-SXM", "spot", "US")
    spot = offer(usd_per_hour="2", capacity_type=SPOT)
    medians = {key: PriceMedian(usd_per_gpu_hour=3.0, days=20)}
    short = {**RAW_OPEN, "gpu_hours": 1.0}
    monthly = {"runs_per_month": 4.0, "reference_gpu": "H100 SXM"}
    made = plan(market(spot, medians=medians), workload=short, usage=monthly).options[0]
    assert (made.price.basis, made.usd_per_hour, lines(made)["compute"]) == ("median_30d", 2.0, 3.0)
    once = plan(market(spot, medians=medians), workload=short).options[0]
    assert (once.price.basis, lines(once)["compute"]) == ("list", 2.0)
    young = {key: PriceMedian(usd_per_gpu_hour=3.0, days=13)}
    today = plan(market(spot, medians=young), workload=short, usage=monthly)
    price = today.options[0].price
    assert (price.basis, price.low_usd_per_hour, price.high_usd_per_hour) == ("list", 1.6, 2.6)  # 0.8 and 1.3 of 2
    assert "moving_price_range" in {one.name for one in today.assumptions}
    assert once.price.low_usd_per_hour is None
