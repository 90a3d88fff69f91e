"""Who may hold the work, and what cannot: every refusal counted with its reason."""

from datetime import UTC, datetime

import pytest

from providers.errors import InvalidInput, UnknownGpu
from providers.offer import Arch, Availability, CapacityType, Tenancy

SPOT = CapacityType.SPOT
COMMUNITY = {"feed": "runpod", "provider": "runpod", "tier": "community", "tenancy": Tenancy.COMMUNITY_HOST}
SECURE = {"feed": "runpod", "provider": "runpod", "tier": "secure"}
EC2 = {"feed": "aws", "provider": "aws", "tier": "ec2", "tenancy": Tenancy.HYPERSCALER}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def test_a_stricter_class_blocks_with_what_it_lacks_and_its_price(offer, market, plan):
    both = market(offer("RTX 4090", "0.4", **COMMUNITY), offer("RTX 4090", "0.7", **SECURE))
    public = plan(both)
    assert (len(public.options), public.policy_price) == (2, None)
    internal = plan(both, constraints={"data_sensitivity": "internal"})
    assert [option.tier for option in internal.options] == ["secure"]
    assert reasons(internal) == {"data_sensitivity": 1}
    price = internal.policy_price
    assert (price.best_blocked.usd_per_hour, price.best_allowed.usd_per_hour, price.usd_per_hour_difference) == (0.4, 0.7, 0.3)
    confidential = plan(both, constraints={"data_sensitivity": "confidential"})
    assert confidential.options == ()
    assert confidential.policy_price.best_allowed is None
    assert confidential.policy_price.usd_per_hour_difference is None


def test_a_hyperscaler_may_hold_confidential_data_in_a_known_country(offer, market, plan):
    where = {"data_sensitivity": "confidential"}
    assert len(plan(market(offer(**EC2)), constraints=where).options) == 1
    assert plan(market(offer(**EC2, country=None)), constraints=where).options == ()


def test_old_evidence_no_longer_counts(offer, market, plan):
    later = datetime(2028, 6, 1, tzinfo=UTC)
    made = plan(market(offer(**EC2), seen_at=later), now=later, constraints={"data_sensitivity": "internal"})
    assert reasons(made) == {"data_sensitivity": 1}
    assert "over 18 months" in made.exclusions[0].explained


@pytest.mark.parametrize("regime", ["hipaa", "pci", "gdpr", "fedramp", "export_controlled"])
def test_a_regime_without_a_signed_contract_blocks_every_cloud(offer, market, plan, regime):
    made = plan(market(offer(**EC2)), constraints={"regimes": [regime], "data_sensitivity": "internal"})
    assert (made.decision.verdict, reasons(made)) == ("infeasible", {"regime": 1})


def test_min_isolation(offer, market, plan):
    both = market(offer("RTX 4090", "0.7", **SECURE), offer("RTX 4090", "0.9"))
    made = plan(both, constraints={"min_isolation": "vm"})
    assert [option.provider for option in made.options] == ["lambda"]
    assert reasons(made) == {"isolation": 1}


def test_residency_by_group_of_countries_country_and_region(offer, market, plan):
    places = market(
        offer(country="US"), offer(country="DE", region="eu-1"), offer(country="IS", region="is-1"),
        offer(country=None, region="somewhere"), offer(country="DE", region="eu-2", **COMMUNITY),
    )  # fmt: skip

    def regions(*residency):
        made = plan(places, constraints={"residency": list(residency)})
        assert sum(reasons(made).values()) + made.options_found == 5
        return sorted(option.region for option in made.options)

    assert regions("EU") == ["eu-1"]
    assert regions("EEA") == ["eu-1", "is-1"]
    assert regions("US") == ["us-east-1"]
    assert regions("US", "eu-1") == ["eu-1", "us-east-1"]
    assert regions("somewhere") == ["somewhere"]
    assert regions("eu-2") == []  # a community host's own word


def test_a_region_is_chosen_inside_a_group(offer, market, plan):
    places = market(*(offer(usd_per_hour=str(usd), region=f"us-{usd}") for usd in (3, 4, 5)))
    made = plan(places, constraints={"residency": ["us-5", "us-4"]})
    assert [option.region for option in made.options] == ["us-4", "us-5"]
    assert reasons(made) == {"residency": 1}


def test_a_residency_that_nobody_knows_is_an_error(offer, market, plan):
    with pytest.raises(InvalidInput) as caught:
        plan(market(offer()), constraints={"residency": ["EU", "atlantis"]})
    assert caught.value.pointer == "/constraints/residency/1"
    assert "atlantis" not in str(caught.value)


def test_an_unknown_card_is_an_error_with_its_place(offer, market, plan):
    with pytest.raises(UnknownGpu) as caught:
        plan(market(offer()), constraints={"gpus": ["H100", "H1000"]})
    assert caught.value.pointer == "/constraints/gpus/1"
    assert caught.value.allowed


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ({"gpus": ["A100"]}, "gpu"), ({"providers": ["aws"]}, "provider"), ({"exclude_providers": ["lambda"]}, "provider"),
        ({"min_gpu_count": 32}, "gpu_count"), ({"arch": "arm64"}, "arch"), ({"capacity_types": ["spot"]}, "capacity_type"),
        ({"max_usd_per_hour": 1.0}, "max_usd_per_hour"), ({"deadline_hours": 1.0}, "too_slow"),
    ],
)  # fmt: skip
def test_nothing_fits_is_an_answer_with_the_reason(offer, market, plan, constraints, reason):
    made = plan(market(offer()), constraints=constraints)
    assert (made.options, made.decision.verdict, reasons(made)) == ((), "infeasible", {reason: 1})
    exclusion = made.exclusions[0]
    assert exclusion.example == "lambda on-demand 1 x H100-SXM on_demand in US at $4.00/h"
    assert exclusion.nearest_miss
    assert exclusion.would_admit
    assert made.leaders.cheapest_listed.rank is None
    assert made.leaders.cheapest_listed.reason


def test_availability_asked_for_must_be_known(offer, market, plan):
    stock = market(*(offer(availability=one, region=one.value) for one in Availability))
    found = {
        least: sorted(o.availability for o in plan(stock, constraints={"min_availability": least}).options)
        for least in ("any", "not_sold_out", "available")
    }
    assert found["any"] == ["available", "limited", "unavailable", "unknown"]
    assert found["not_sold_out"] == ["available", "limited", "unknown"]
    assert found["available"] == ["available"]


def test_bf16_on_a_card_without_it_names_fp16(offer, market, plan):
    job = {"task": "train", "model": "llama-3.2-1b", "technique": "lora", "precision": "bf16", "tokens": 1e6}
    made = plan(market(offer("V100-SXM2-32GB", "1")), workload=job, usage={"runs": 1.0})
    assert reasons(made) == {"precision": 1}
    assert made.exclusions[0].would_admit == "precision fp16"


def test_too_little_memory_says_by_how_much(offer, market, plan):
    made = plan(market(offer("T4", "0.5", machine_id="m1")))
    assert reasons(made) == {"vram": 1}
    assert "GiB a GPU short of 20" in made.exclusions[0].nearest_miss


def test_a_fraction_of_a_card_is_neither_a_card_nor_nothing(offer, market, plan):
    part = offer("L4", "0.2024", gpu_count=0.125, gpu_memory_gb=3.0)
    made = plan(
        market(part), workload={"task": "raw", "vram_gib": 2.5, "gpu_hours": 1.0}, usage={"runs": 1.0, "reference_gpu": "L4"}
    )
    assert made.options[0].hours.mid == 8  # an eighth of the speed
    assert made.options[0].usd_per_gpu_hour == pytest.approx(1.6192)
    assert reasons(plan(market(part))) == {"vram": 1}


def test_flags_of_architecture_and_kernel(offer, market, plan):
    arm = plan(market(offer("GH200-96GB", "3", arch=Arch.ARM64))).options[0]
    assert arm.flags == ("arm64",)
    assert "shared_kernel" in plan(market(offer("RTX 4090", "0.7", **SECURE))).options[0].flags


def test_a_class_asks_all_that_the_freer_ones_ask(offer, market, plan):
    sealed = {"feed": "azure", "provider": "azure", "tier": "confidential-vm", "tenancy": Tenancy.HYPERSCALER}
    restricted = {"data_sensitivity": "restricted"}
    assert len(plan(market(offer(**sealed)), constraints=restricted).options) == 1
    nowhere = plan(market(offer(**sealed, country=None)), constraints=restricted)
    assert reasons(nowhere) == {"data_sensitivity": 1}
    assert "country where it stands" in nowhere.exclusions[0].explained
    assert plan(market(offer(**EC2)), constraints=restricted).options == ()  # virtual machines shared with other tenants
