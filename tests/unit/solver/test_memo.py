"""Memo: what a market keeps never changes an answer, and never grows beyond its bound."""

from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from providers.offer import CapacityType
from service.domain.workload import Workload
from service.estimate.job_defaults import job_shape
from service.solver.memo import Memo

SHORT = {"task": "raw", "vram_gib": 20.0, "gpu_hours": 1.0}
ASKED = [
    {},
    {"workload": {**SHORT, "gpu_hours": 2.0}},
    {"workload": {**SHORT, "vram_gib": 60.0}},
    {"workload": {**SHORT, "vram_gib": 70.0}},  # fits as many cards: the same sieve, another need
    {"workload": {**SHORT, "data": {"disk_gb": 50.0}}},
    {"constraints": {"max_usd_per_hour": 3.0}},
    {"constraints": {"deadline_hours": 60.0}},
    {"constraints": {"data_sensitivity": "confidential"}},
    {"constraints": {"residency": ["EU"]}},
    {"constraints": {"capacity_types": ["on_demand"], "quotas": [{"provider": "lambda", "unit": "gpus", "limit": 0}]}},
    {"constraints": {"max_price_age_hours": 1.0}},
    {"limit": 1},
]


def test_what_was_asked_before_changes_no_answer(offer, market, plan, now):
    sold = [
        offer(card, usd, region=f"r{n}", country=country, capacity_type=kind)
        for n, (card, usd) in enumerate((("H100-SXM", "4"), ("A100-SXM4-80GB", "2"), ("L40S", "1"), ("T4", "0.3")))
        for country in ("US", "DE")
        for kind in (CapacityType.ON_DEMAND, CapacityType.SPOT)
    ]
    warm = market(*sold)
    later = now + timedelta(hours=3)
    for moment in (now, later, now):
        for body in (*ASKED, *reversed(ASKED)):
            assert asdict(plan(warm, now=moment, **body)) == asdict(plan(market(*sold), now=moment, **body))


def test_a_market_with_other_states_of_its_feeds_forgets_what_followed_from_them(offer, market, plan, now):
    first = market(offer())
    assert plan(first).options[0].flags == ()
    old = replace(first, statuses=tuple(replace(one, last_success_at=now - timedelta(days=2)) for one in first.statuses))
    assert plan(old).options[0].flags == ("stale",)


def test_the_oldest_result_makes_room():
    memo, made = Memo(2), []
    for key in ("a", "b", "a", "c", "a"):
        memo.get(key, lambda key=key: made.append(key) or key)
    assert (made, len(memo)) == (["a", "b", "c", "a"], 2)


TRAIN = {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e6}


@pytest.mark.parametrize("change", [{"tokens": 2e6}, {"name": "other"}, {"data": {"dataset_gb": 1.0}}])
def test_the_amount_of_work_is_no_part_of_a_job(change):
    one = Workload.model_validate({**TRAIN, **change}, strict=False)
    assert job_shape(Workload.model_validate(TRAIN, strict=False)) == job_shape(one)


@pytest.mark.parametrize(
    "change",
    [{"technique": "full"}, {"precision": "fp16"}, {"sequence_length": 77}, {"lora_rank": 3}, {"micro_batch_size": 9},
     {"model": "llama-3.1-70b"}, {"framework": "torchtune"}, {"optimizer": "sgd"}, {"gradient_checkpointing": False}],
)  # fmt: skip
def test_all_else_is(change):
    one = Workload.model_validate({**TRAIN, **change}, strict=False)
    assert job_shape(Workload.model_validate(TRAIN, strict=False))[0] != job_shape(one)[0]
