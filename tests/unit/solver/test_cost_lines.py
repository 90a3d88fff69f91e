"""Cost lines of small plans, with the arithmetic of every figure beside it."""

from decimal import Decimal

import pytest

from providers.offer import CapacityType, Tenancy

SPOT = CapacityType.SPOT
EC2 = {"feed": "aws", "provider": "aws", "tier": "ec2", "tenancy": Tenancy.HYPERSCALER}


RAW_OPEN = {"task": "raw", "vram_gib": 20.0}


def reasons(made):
    return {one.reason: one.count for one in made.exclusions}


def lines(option):
    return {line.name: line.usd_per_run for line in option.cost.lines}


def test_disk_is_priced_as_asked(offer, market, plan):
    # 0.40 + 85 GB x 0.15 / 730 = 0.417466 an hour
    disk = {"storage_usd_per_gb_month": Decimal("0.15"), "disk_included_gb": 0.0, "disk_max_gb": 293.1}
    vast = market(offer("RTX 4090", "0.40", machine_id="m1", **disk))

    def with_disk(gigabytes):
        return plan(vast, workload={**RAW_OPEN, "gpu_hours": 10.0, "data": {"disk_gb": gigabytes}})

    option = with_disk(85.0).options[0]
    assert option.usd_per_hour == pytest.approx(0.4175, abs=0.0003)
    assert lines(option)["storage"] == pytest.approx(85 * 0.15 / 730 * (option.hours.mid + 1 / 6), abs=1e-6)
    assert len(with_disk(100.0).options) == 1
    refused = with_disk(300.0)
    assert (refused.options, reasons(refused)) == ((), {"disk": 1})
    assert "293" in refused.exclusions[0].nearest_miss


def test_a_started_billing_step_is_paid_whole(offer, market, plan):
    hourly = market(offer(usd_per_hour="4", billing_increment_seconds=3600))
    option = plan(hourly, workload={**RAW_OPEN, "gpu_hours": 0.1}).options[0]
    # 6 min of work + 10 min of set-up, rounded up to 60: 44 min x 4 / 60
    assert lines(option) == {"compute": 0.4, "setup": 0.666667, "billing_increment": pytest.approx(4 * 44 / 60, abs=1e-6)}
    assert option.cost.usd_per_run == pytest.approx(4.0)


def test_an_unknown_billing_step_is_said_and_not_priced(offer, market, plan):
    made = plan(market(offer(billing_increment_seconds=None)))
    assert "billing_increment" in {one.name for one in made.not_priced}
    assert "billing_increment" not in lines(made.options[0])


def test_moving_data_out_of_another_provider_is_a_line(offer, market, plan):
    # 40,000 GB out of AWS, the first 100 free, at 0.09: 3,591
    data = {"dataset_gb": 40_000.0, "location": {"provider": "aws", "region": "us-east-1"}}
    made = plan(market(offer(), offer(**EC2)), workload={**RAW_OPEN, "gpu_hours": 100.0, "data": data})
    egress = {option.provider: lines(option).get("egress", 0.0) for option in made.options}
    assert egress == {"lambda": 3591.0, "aws": 0.0}


def test_data_of_unknown_place_is_not_priced(offer, market, plan):
    made = plan(market(offer()), workload={**RAW_OPEN, "gpu_hours": 1.0, "data": {"dataset_gb": 120.0}})
    assert any(one.name == "egress" and "120 GB" in one.explained for one in made.not_priced)


def test_spot_without_checkpoints_is_costed_from_zero_and_flagged(offer, market, plan):
    option = plan(market(offer(usd_per_hour="2", capacity_type=SPOT))).options[0]
    # M = 24 h: 24 (e^(100/24) - 1) = 1,522.2 h paid for 100
    assert lines(option)["interruption"] == pytest.approx(2 * (24 * (2.718281828 ** (100 / 24) - 1) - 100), rel=1e-6)
    assert "no_resume" in option.flags
    resumed = plan(
        market(offer(usd_per_hour="2", capacity_type=SPOT)),
        workload={
            **RAW_OPEN,
            "gpu_hours": 100.0,
            "checkpoint": {"supported": "yes", "stall_minutes": 2.0, "restart_minutes": 10.0},
        },
    ).options[0]
    assert lines(resumed)["interruption"] == pytest.approx(2 * 6.2, rel=0.03)  # the table's +6.2 % at M = 24 h
    assert "no_resume" not in resumed.flags


def test_a_run_that_interruptions_never_let_end_is_left_out(offer, market, plan):
    made = plan(market(offer(capacity_type=SPOT)), workload={**RAW_OPEN, "gpu_hours": 300.0})
    assert reasons(made) == {"interruptions": 1}
    assert made.exclusions[0].would_admit == "checkpoint.supported = yes"


def test_a_commitment_bills_hours_that_are_not_used(offer, market, plan):
    block = offer(usd_per_hour="3", capacity_type=CapacityType.RESERVED, term_months=1.0, upfront_usd=Decimal("50"))
    made = plan(market(block), constraints={"capacity_types": ["reserved"]})
    # 730 h x 3 + 50 whatever is used of it
    assert made.options[0].cost.usd_per_run == pytest.approx(730 * 3 + 50)
