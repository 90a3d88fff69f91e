"""Markets in a plan: tier and effort of each option, the best of each market, free notebooks and their limits, reliability."""

from datetime import date

import pytest

from providers.offer import CapacityType, PriceBasis, Tenancy

FREE = CapacityType.FREE_TIER
KAGGLE = {
    "feed": "kaggle", "provider": "kaggle", "tier": "free", "instance_type": None, "region": None, "country": None,
    "capacity_type": FREE, "is_dated": True, "as_of": date(2026, 9, 1), "billing_increment_seconds": None,
    "session_limit_hours": 9.0, "weekly_quota_hours": 30.0,
}  # fmt: skip
COLAB = {
    **KAGGLE, "feed": "colab", "provider": "colab", "tier": "pro", "capacity_type": CapacityType.ON_DEMAND,
    "session_limit_hours": 12.0, "weekly_quota_hours": None, "price_basis": PriceBasis.ESTIMATE,
}  # fmt: skip
SAGEMAKER = {"feed": "sagemaker", "provider": "sagemaker", "tier": "training", "tenancy": Tenancy.HYPERSCALER}
HOST = {"feed": "vast", "provider": "vast", "tier": "verified", "tenancy": Tenancy.COMMUNITY_HOST, "instance_type": None}
ASK_FREE = {"capacity_types": ["on_demand", "free_tier"]}
ON_T4 = {"usage": {"runs": 1.0, "reference_gpu": "T4"}}


def job(hours, **more):
    return {"workload": {"task": "raw", "vram_gib": 8.0, "gpu_hours": hours, **more}, **ON_T4}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def three(offer, market):
    return market(offer("H100-SXM", "7", **SAGEMAKER), offer("H100-SXM", "4"), offer("T4", "0.107", **COLAB))


def test_every_option_says_its_market_and_what_starting_takes(offer, market, plan):
    found = plan(three(offer, market), **job(1.0))
    assert {(one.provider, one.market_tier, one.effort) for one in found.options} == {
        ("sagemaker", "enterprise", "managed"),
        ("lambda", "engineer", "ssh"),
        ("colab", "hobbyist", "notebook"),
    }


def test_the_best_of_each_market_stands_side_by_side_beyond_the_limit_too(offer, market, plan):
    found = plan(three(offer, market), **job(1.0), limit=1)
    best = {one.market_tier: one for one in found.best_by_market_tier}
    assert list(best) == ["hobbyist", "engineer", "enterprise"]
    assert {tier: one.option.usd_per_hour for tier, one in best.items()} == {"hobbyist": 0.107, "engineer": 4, "enterprise": 7}
    (shown,) = found.options
    assert {one.option.rank for one in best.values()} == {0, 1}
    assert best[shown.market_tier].option == shown


def test_a_market_without_an_offer_says_so(offer, market, plan):
    best = {one.market_tier: one for one in plan(market(offer())).best_by_market_tier}
    assert best["engineer"].reason is None
    assert best["enterprise"].option is None
    assert "no offer of this market" in best["enterprise"].reason


def test_markets_can_be_asked_for(offer, market, plan):
    found = plan(three(offer, market), **job(1.0), constraints={"market_tiers": ["enterprise"]})
    assert [one.provider for one in found.options] == ["sagemaker"]
    assert reasons(found) == {"market_tier": 2}


def test_free_is_only_ever_what_was_asked_for(offer, market, plan):
    made = market(offer("T4", "0", **KAGGLE), offer("T4", "0.5"))
    assert {one.provider for one in plan(made, **job(1.0)).options} == {"lambda"}
    assert reasons(plan(made, **job(1.0))) == {"capacity_type": 1}
    (first, second) = plan(made, **job(1.0), constraints=ASK_FREE).options
    assert (first.provider, second.provider) == ("lambda", "kaggle")  # dated: never first while a live price fits
    assert (second.usd_per_hour, second.cost.ranking_usd) == (0, 0)


def test_free_and_reserved_capacity_are_priced_together(offer, market, plan):
    kinds = ["on_demand", "free_tier", "reserved"]
    made = market(offer("T4", "0", **KAGGLE), offer("T4", "0.3", capacity_type=CapacityType.RESERVED, term_months=1.0))
    found = plan(made, **job(1.0), constraints={"capacity_types": kinds})
    # a month of 730 h at 0.30 is paid whole for one hour of work
    assert {one.provider: round(one.cost.ranking_usd, 6) for one in found.options} == {"kaggle": 0, "lambda": 219.0}


@pytest.mark.parametrize(("supported", "sessions"), [("no", None), ("unknown", None), ("yes", 3)])
def test_a_job_longer_than_a_session_is_split_or_left_out(offer, market, plan, supported, sessions):
    given = {"checkpoint": {"supported": supported, "restart_minutes": 10, "stall_minutes": 0}}
    found = plan(market(offer("T4", "0", **KAGGLE)), **job(25.0, **given), constraints=ASK_FREE)
    if sessions is None:
        assert reasons(found) == {"session_limit": 1}
        assert "checkpoint.supported = yes" in found.exclusions[0].would_admit
    else:
        (option,) = found.options
        # set-up and restart take 10 minutes each: 8.83 h fit the first session, 8.67 h each later one
        assert (option.sessions, "session_split" in option.flags) == (sessions, True)
        assert "in 3 sessions" in option.why


def test_restarts_of_a_split_run_are_paid(offer, market, plan):
    given = {"checkpoint": {"supported": "yes", "restart_minutes": 10, "stall_minutes": 0}}
    (option,) = plan(market(offer("T4", "0.12", **COLAB)), **job(20.0, **given)).options
    lines = {line.name: line.usd_per_run for line in option.cost.lines}
    # 20 h x 0.12 = 2.40; a second session: 20 more minutes, 0.04; the first set-up: 10 minutes, 0.02
    assert lines == {"compute": 2.4, "interruption": 0.04, "setup": 0.02}


def test_a_quota_that_outlasts_the_deadline_leaves_it_out(offer, market, plan):
    given = {"checkpoint": {"supported": "yes", "restart_minutes": 10, "stall_minutes": 0}}
    made = market(offer("T4", "0", **KAGGLE))
    within = {**ASK_FREE, "deadline_hours": 100}
    assert reasons(plan(made, **job(40.0, **given), constraints=within)) == {"session_limit": 1}
    assert plan(made, **job(40.0, **given), constraints={**ASK_FREE, "deadline_hours": 200}).options


def test_notebooks_make_no_cluster(offer, market, plan):
    small = {"workload": {"task": "raw", "vram_gib": 8.0, "gpu_hours": 4.0, "gpu_count": 4}, **ON_T4}
    assert reasons(plan(market(offer("T4", "0", **KAGGLE)), **small, constraints=ASK_FREE)) == {"one_host": 1}


def test_a_host_is_held_to_the_reliability_asked_and_no_one_else(offer, market, plan):
    made = market(
        offer(usd_per_hour="1", **HOST, machine_id="1", reliability_fraction=0.95),
        offer(usd_per_hour="2", **HOST, machine_id="2", reliability_fraction=0.99),
        offer(usd_per_hour="1.5", **HOST, machine_id="3"),
        offer(usd_per_hour="4"),
    )
    found = plan(made, constraints={"min_reliability_fraction": 0.98})
    assert [one.usd_per_hour for one in found.options] == [2, 4]
    assert reasons(found) == {"reliability": 2}
    assert len(plan(made).options) == 4


def test_reliability_and_price_caps_count_each_offer_once(offer, market, plan):
    made = market(
        *(offer(usd_per_hour=str(usd), **HOST, machine_id=str(usd), reliability_fraction=usd / 10) for usd in range(1, 9)),
    )
    found = plan(made, constraints={"min_reliability_fraction": 0.5, "max_usd_per_hour": 6.5})
    assert [one.usd_per_hour for one in found.options] == [5, 6]
    assert reasons(found) == {"reliability": 4, "max_usd_per_hour": 2}
