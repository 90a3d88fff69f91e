"""Vast's prepaid discounts as reserved offers, and machines whose offers overlap counted once."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from providers.offer import CapacityType, PriceBasis
from providers.vast import Vast
from providers.vast.supply import supply_of

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
ROWS = json.loads((Path(__file__).parents[2] / "fixtures/vast/bundles.json").read_text())["offers"]
FIVE_MONTHS = 13_356_528.0  # seconds: 3,710 h, 5.08 months of 730 h


def parsed(*rows):
    return Vast().parse({"answers": [{"offers": list(rows)}]}, NOW)


def reserved(batch):
    return [one for one in batch.offers if one.capacity_type is CapacityType.RESERVED]


def row(**changes):
    return {**ROWS[0], "dph_base": 0.4, "duration": FIVE_MONTHS, "credit_discount_max": 0.4, **changes}


def test_prepaying_takes_the_most_discount_for_whole_months_and_says_it_is_an_estimate():
    (one,) = reserved(parsed(row()))
    # 0.40 less 40 %: 0.24 an hour, for five whole months
    assert (one.usd_per_hour, one.term_months, one.upfront_usd) == (Decimal("0.24"), 5, Decimal(0))
    assert one.price_basis is PriceBasis.ESTIMATE
    assert "40%" in one.notes[0]
    assert one.machine_id == str(ROWS[0]["machine_id"])


def test_an_hour_later_it_is_the_same_offer():
    first, later = (reserved(parsed(row(duration=FIVE_MONTHS - seconds)))[0] for seconds in (0, 3600))
    assert first.offer_id == later.offer_id


@pytest.mark.parametrize("share", [None, 0, -0.1, 0.51, 4, "much", True, float("nan"), [0.2]])
def test_no_discount_or_one_that_cannot_be_makes_no_offer_and_leaves_the_others(share):
    batch = parsed(row(credit_discount_max=share))
    assert not reserved(batch)
    assert len(batch.offers) == len(parsed(row(credit_discount_max=None)).offers)


@pytest.mark.parametrize("duration", [None, 2_600_000.0])  # 722 h: under a month
def test_a_host_that_may_leave_within_a_month_is_not_reserved(duration):
    assert not reserved(parsed(row(duration=duration)))


def test_overlapping_offers_of_one_machine_are_told_apart_and_counted_once():
    # machine 520 is offered with 8 and with 4 of its 8 H100; machine 510 has one card
    rows = [{**ROWS[0], "machine_id": 510}, *({**ROWS[1], "id": 7000 + n, "num_gpus": n, "dph_base": 2.3 * n} for n in (8, 4))]
    batch = parsed(*rows)
    on_demand = [one for one in batch.offers if one.capacity_type is CapacityType.ON_DEMAND]
    assert sorted(one.gpu_count for one in on_demand if one.machine_id == str(ROWS[1]["machine_id"])) == [4, 8]
    supply = supply_of(batch.offers)
    assert (supply.offers, supply.machines, supply.gpus) == (3, 2, 9)
    assert batch.notes == ("3 on-demand offers overlap on 2 machines: 9 GPUs in all, each counted once",)
