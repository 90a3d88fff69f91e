"""Laws of the solver: what holds for every market and every request, against a plain reckoning offer by offer."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from math import ceil, exp

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from providers.gpus import GPUS
from providers.offer import Arch, Availability, CapacityType, Interconnect, Offer, Tenancy
from service.domain.request import PlanRequest
from service.estimate.runtime import relative_speed
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.solver.solve import solve

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
CARDS = ("H100-SXM", "A100-SXM4-80GB", "L40S", "RTX 4090", "T4")
SELLERS = (
    ("aws", "ec2", Tenancy.HYPERSCALER), ("lambda", "on-demand", Tenancy.PROVIDER_DATACENTER),
    ("runpod", "secure", Tenancy.PROVIDER_DATACENTER), ("runpod", "community", Tenancy.COMMUNITY_HOST),
    ("nebius", "vm", Tenancy.PROVIDER_DATACENTER), ("nobody", "x", Tenancy.PROVIDER_DATACENTER),
)  # fmt: skip
CLASSES = ("public", "internal", "confidential", "restricted", "local_only")


@st.composite
def offers(draw) -> Offer:
    provider, tier, tenancy = draw(st.sampled_from(SELLERS))
    card = GPUS[draw(st.sampled_from(CARDS))]
    count = draw(st.sampled_from((1.0, 2.0, 8.0)))
    spot = draw(st.booleans())
    # prices within a factor of two of each other, so that none is suspect
    cents = draw(st.integers(100, 190))
    return Offer(
        feed=provider, provider=provider, tier=tier, instance_type=f"{count:g}x", gpu=card.name, gpu_count=count,
        capacity_type=CapacityType.SPOT if spot else CapacityType.ON_DEMAND, tenancy=tenancy,
        region=draw(st.sampled_from(("r1", "r2", "r3"))), country=draw(st.sampled_from(("US", "DE", None))),
        usd_per_hour=Decimal(cents) * int(count) / 100, gpu_memory_gb=card.memory_gb, form_factor=card.form_factor,
        billing_increment_seconds=draw(st.sampled_from((1, 60, 3600))), interconnect=Interconnect.NVLINK, arch=Arch.X86_64,
        availability=draw(st.sampled_from(tuple(Availability))), observed_at=NOW,
    )  # fmt: skip


def distinct(many: list[Offer]) -> list[Offer]:
    return list({offer.offer_id: offer for offer in many}.values())


markets = st.lists(offers(), min_size=1, max_size=30).map(distinct)
hours = st.floats(0.1, 60.0)


def market_of(many: list[Offer]) -> Market:
    feeds: dict[str, list[Offer]] = {}
    for offer in many:
        feeds.setdefault(offer.feed, []).append(offer)
    statuses = [
        FeedStatus(name=name, last_success_at=NOW - timedelta(minutes=1), offers=len(rows)) for name, rows in feeds.items()
    ]
    return Market.build({name: columns_of(rows) for name, rows in feeds.items()}, statuses, snapshot_id="s", as_of=NOW)


def plan_of(many: list[Offer] | Market, gpu_hours: float = 10.0, **body):
    request = {
        "workload": {"task": "raw", "vram_gib": 15.0, "gpu_hours": gpu_hours},
        "usage": {"runs": 1.0, "reference_gpu": "H100 SXM"},
        "limit": 200,
        **body,
    }
    request["constraints"] = {"data_sensitivity": "public", **request.get("constraints", {})}
    made = PlanRequest.model_validate(request, strict=False)
    return solve(made, many if isinstance(many, Market) else market_of(many), evaluated_at=NOW)


def usd_by_hand(offer: Offer, gpu_hours: float) -> float | None:
    """The cost of a raw one-GPU job on one offer, reckoned without the solver; None where it does not run."""
    card = GPUS[offer.gpu]
    if card.usable_gib < 15.0:
        return None
    useful = gpu_hours / relative_speed(card, GPUS["H100-SXM"])
    price, paid = float(offer.usd_per_hour), useful
    if offer.capacity_type is CapacityType.SPOT:
        mean = 12.0 if offer.tenancy is Tenancy.COMMUNITY_HOST else 24.0
        if useful > 10 * mean:
            return None
        paid = mean * (exp(useful / mean) - 1)
    step = (offer.billing_increment_seconds or 0) / 3600
    held = paid + 10 / 60
    billed = max(held, ceil(held / step - 1e-9) * step)
    return round(price * useful, 6) + round(price * (paid - useful), 6) + round(price / 6, 6) + round(price * (billed - held), 6)


@given(markets, hours)
def test_options_are_exactly_the_offers_reckoned_one_by_one(many, gpu_hours):
    made = plan_of(many, gpu_hours)
    by_hand = {offer.offer_id: usd for offer in many if (usd := usd_by_hand(offer, gpu_hours)) is not None}
    assert {option.price.offer_id for option in made.options} == set(by_hand)
    for option in made.options:
        assert option.cost.ranking_usd == pytest.approx(by_hand[option.price.offer_id], rel=1e-9, abs=5e-6)
    totals = [option.cost.ranking_usd for option in made.options]
    assert totals == sorted(totals)


@given(markets, hours, st.integers(1, 8))
def test_the_first_k_are_the_k_cheapest_of_all(many, gpu_hours, limit):
    few, everything = plan_of(many, gpu_hours, limit=limit), plan_of(many, gpu_hours)
    assert few.options_found == everything.options_found == len(everything.options)
    shown = [option.price.offer_id for option in everything.options[:limit]]
    assert [option.price.offer_id for option in few.options] == shown


constraints = st.fixed_dictionaries(
    {},
    optional={
        "data_sensitivity": st.sampled_from(CLASSES),
        "residency": st.sampled_from((["EU"], ["US"], ["DE", "US"])),
        "capacity_types": st.sampled_from((["spot"], ["on_demand"])),
        "min_availability": st.sampled_from(("not_sold_out", "available")),
        "providers": st.sampled_from((["aws"], ["runpod", "lambda"])),
        "gpus": st.sampled_from((["H100"], ["L40S", "T4"])),
        "max_usd_per_hour": st.floats(1.0, 16.0),
        "max_usd_per_gpu_hour": st.floats(1.0, 2.0),
        "max_usd_total": st.floats(1.0, 200.0),
        "deadline_hours": st.floats(1.0, 100.0),
        "max_gpu_count": st.sampled_from((1, 2)),
    },
)


@given(markets, constraints)
def test_every_offer_is_an_option_or_counted_under_one_reason(many, asked):
    made = plan_of(many, constraints=asked)
    assert made.options_found + sum(one.count for one in made.exclusions) == len(many)
    assert made.options_found == len(made.options)
    assert all(one.count > 0 and one.explained and one.example for one in made.exclusions)


@given(markets, constraints)
def test_lines_add_up_in_every_view(many, asked):
    usage = {"runs_per_month": 3.0, "horizon_months": 7, "reference_gpu": "H100 SXM"}
    for option in plan_of(many, constraints=asked, usage=usage).options:
        for view in ("usd_per_run", "usd_per_month", "usd_over_horizon"):
            micros = [round(getattr(line, view) * 1e6) for line in option.cost.lines]
            assert round(getattr(option.cost, view) * 1e6) == sum(micros)
        assert option.cost.low_usd <= option.cost.ranking_usd + 1e-6
        assert option.cost.ranking_usd <= option.cost.high_usd + 1e-6


@given(markets, offers(), constraints)
def test_an_irrelevant_offer_never_changes_the_order_of_the_others(many, one_more, asked):
    assume(one_more.offer_id not in {offer.offer_id for offer in many})
    before = [option.price.offer_id for option in plan_of(many, constraints=asked).options]
    after = [option.price.offer_id for option in plan_of([*many, one_more], constraints=asked).options]
    assert [name for name in after if name != one_more.offer_id] == before


@given(st.permutations(range(12)), st.lists(offers(), min_size=12, max_size=12))
def test_the_order_of_the_rows_changes_nothing(order, many):
    kept = distinct(many)
    shuffled = [kept[at] for at in order if at < len(kept)]
    assert plan_of(shuffled).options == plan_of(kept).options


@given(markets, constraints)
def test_a_stricter_class_never_adds_options(many, asked):
    asked = {name: value for name, value in asked.items() if name != "data_sensitivity"}
    found = [
        {option.price.offer_id for option in plan_of(many, constraints={**asked, "data_sensitivity": one}).options}
        for one in CLASSES
    ]
    assert all(stricter <= freer for freer, stricter in pairwise(found))
    assert not found[-1]


@given(markets, st.floats(0.05, 1.0))
def test_a_plan_by_utilization_equals_the_plan_by_the_work_it_stands_for(many, share):
    workload = {"task": "raw", "vram_gib": 15.0}
    on_demand = {"capacity_types": ["on_demand"]}
    by_share = plan_of(many, workload=workload, usage={"utilization": share, "reference_gpu": "H100 SXM"}, constraints=on_demand)
    amount = {**workload, "gpu_hours": share * 730, "gpu_count": 1}
    runs = {"runs_per_month": 1.0, "reference_gpu": "H100 SXM"}
    single = [offer for offer in many if offer.gpu_count == 1]
    by_work = plan_of(single, workload=amount, usage=runs, constraints=on_demand) if single else None
    if by_work is not None:
        same = {option.price.offer_id: option.cost for option in by_share.options if option.gpu_count == 1}
        assert same == {option.price.offer_id: option.cost for option in by_work.options}


@given(st.floats(0.5, 0.95), st.integers(100, 180), st.integers(1, 60))
def test_a_dearer_cloud_never_raises_the_breakeven(share, cents, more):
    base = Offer(
        feed="lambda", provider="lambda", tier="on-demand", instance_type="8x", gpu="H100-SXM", gpu_count=8.0,
        capacity_type=CapacityType.ON_DEMAND, tenancy=Tenancy.PROVIDER_DATACENTER, region="r1", country="US",
        usd_per_hour=Decimal(cents) / 5, gpu_memory_gb=80.0, form_factor="SXM5", observed_at=NOW,
    )  # fmt: skip
    pool = {"name": "dc", "gpu": "H100 SXM", "capex_usd_per_node": 100_000.0}

    def breakeven(offer):
        made = plan_of(
            [offer], workload={"task": "raw", "vram_gib": 15.0, "gpu_count": 8}, usage={"utilization": share}, on_prem=[pool]
        )
        found = made.decision.breakeven_utilization.against_cheapest_allowed
        return 2.0 if found is None else found

    dearer = replace(base, usd_per_hour=base.usd_per_hour + Decimal(more) / 10)
    assert breakeven(dearer) <= breakeven(base)


@given(st.integers(50, 400), st.floats(1.0, 50.0))
def test_with_equal_prices_a_faster_card_is_never_ranked_below_a_slower_one(cents, gpu_hours):
    def at(card):
        return Offer(
            feed="lambda", provider="lambda", tier="on-demand", instance_type=card, gpu=card, gpu_count=1.0,
            capacity_type=CapacityType.ON_DEMAND, tenancy=Tenancy.PROVIDER_DATACENTER, region="r1", country="US",
            usd_per_hour=Decimal(cents) / 100, gpu_memory_gb=GPUS[card].memory_gb, billing_increment_seconds=1,
            form_factor=GPUS[card].form_factor, observed_at=NOW,
        )  # fmt: skip

    ranks = {
        option.gpu: option.rank for option in plan_of([at("H200-SXM"), at("H100-SXM"), at("A100-SXM4-80GB")], gpu_hours).options
    }
    assert ranks["H200-SXM"] < ranks["A100-SXM4-80GB"]
    assert ranks["H100-SXM"] < ranks["A100-SXM4-80GB"]
