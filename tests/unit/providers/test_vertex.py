"""Vertex AI: totals of real billing reports, the management fee, and what of it is an estimate."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from providers.evidence import EVIDENCE
from providers.gcp.managed import is_vertex_machine_sku
from providers.offer import MISSING_PART, NO_GPU, NOT_ON_DEMAND, CapacityType, PriceBasis
from providers.vertex import Vertex

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
FIXTURES = Path(__file__).parents[2] / "fixtures"
VERTEX = json.loads((FIXTURES / "vertex" / "skus.json").read_text())["skus"]
COMPUTE = json.loads((FIXTURES / "gcp" / "skus.json").read_text())["skus"]


def parsed(own=VERTEX, compute=COMPUTE):
    return Vertex().parse({"skus": own, "compute": compute}, NOW)


def offer(batch, tier, machine, kind):
    (one,) = [o for o in batch.offers if (o.tier, o.instance_type, o.capacity_type) == (tier, machine, kind)]
    return one


def without(*words):
    return [row for row in VERTEX if not all(word in row["description"] for word in words)]


def test_training_on_demand_at_the_total_of_a_billing_report():
    # August 2025, Iowa: 8 x 11.2660332 + 208 x 0.0293227 + 1872 x 0.0025534 = 90.1282656 + 6.0991216 + 4.7799648
    one = offer(parsed(), "training", "a3-highgpu-8g", CapacityType.ON_DEMAND)
    assert (one.usd_per_hour, one.price_basis) == (Decimal("101.0073520"), PriceBasis.LIST)
    # the fee's own rows: 8 x 1.4694826 + 208 x 0.0038247 + 1872 x 0.0003331 = 11.7558608 + 0.7955376 + 0.6235632
    assert "the management fee is in the price: 13.174962 USD per hour by its own SKUs" in one.notes


def test_prediction_on_demand_at_the_total_of_a_billing_report():
    # 11.2660332 + 26 x 0.0293227 + 234 x 0.0025534 = 12.625919: one card on demand, which Compute Engine does not sell
    one = offer(parsed(), "prediction", "a3-highgpu-1g", CapacityType.ON_DEMAND)
    assert one.usd_per_hour == Decimal("12.6259190")
    assert any("not listed" in note for note in one.notes)  # the fee on prediction memory is not in the fixture


def test_training_on_spot_is_compute_engines_parts_plus_the_fee_and_an_estimate():
    # spot parts of one H100: 2.25 + 26 x 0.006 + 234 x 0.0005 + 750 x 0.032 / 730 = 2.5558767
    # fee: 1.4694826 + 26 x 0.0038247 + 234 x 0.0003331 = 1.6468702
    one = offer(parsed(), "training", "a3-highgpu-1g", CapacityType.SPOT)
    assert float(one.usd_per_hour) == pytest.approx(4.2027469, abs=1e-6)
    assert one.price_basis is PriceBasis.ESTIMATE
    assert any(note.startswith("an estimate") for note in one.notes)


def test_a_fee_or_part_that_is_missing_drops_the_machine_and_is_named():
    dropped = {r.row: r.detail for r in parsed().rejected if r.reason == MISSING_PART}
    assert dropped["us-central1 prediction a3-highgpu-8g spot"] == "no price of management fee on A3 memory"
    assert dropped["us-central1 prediction a2-ultragpu-1g on_demand"] == "no price of A2 core"
    batch = parsed(without("Training", "on A3 Instance Core", "in Iowa"))
    assert [o for o in batch.offers if o.tier == "training"] == []


def test_spot_parts_of_another_region_are_never_taken():
    elsewhere = [row | {"serviceRegions": ["europe-west4"]} for row in COMPUTE]
    assert {o.capacity_type for o in parsed(compute=elsewhere).offers} == {CapacityType.ON_DEMAND}


def test_both_uses_have_evidence_and_names_of_their_own():
    offers = parsed().offers
    assert {o.tier for o in offers} == {"training", "prediction"}
    assert all(EVIDENCE.tier("vertex", o.tier) is not None for o in offers)


def test_skus_that_are_no_part_of_a_gpu_machine_are_left_out_while_reading_and_counted_where_not():
    assert [row["description"] for row in VERTEX if not is_vertex_machine_sku(row)] == [
        "Vertex AI: Training/Pipelines on SSD backed PD Capacity",
        "Gemini 3 Pro Text Input - Predictions",
    ]
    assert sum(r.reason == NO_GPU and r.row.startswith("vertex") for r in parsed().rejected) == 2


def test_flex_start_rows_make_no_machine_on_demand():
    flex = [row | {"description": f"{row['description']} DWS"} for row in VERTEX]
    batch = parsed(flex)
    assert batch.offers == ()
    assert sum(r.reason == NOT_ON_DEMAND and r.row.startswith("vertex") for r in batch.rejected) > 0
