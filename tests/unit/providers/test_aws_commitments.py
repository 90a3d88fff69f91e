"""EC2 for a term: Savings Plans and Capacity Blocks as reserved offers, asked for only when a setting says so."""

import json
from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from botocore.exceptions import ClientError

from providers.aws import Aws
from providers.offer import Availability, CapacityType

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
PAYLOAD = json.loads((Path(__file__).parents[2] / "fixtures" / "aws_payload.json").read_text())


def plan(rate="31.9", *, name="p4d.24xlarge", seconds=31_536_000, option="No Upfront", kind="Compute", **changes):
    offering = {"paymentOption": option, "planType": kind, "durationSeconds": seconds, "currency": "USD"}
    properties = [{"name": "instanceType", "value": name}, {"name": "region", "value": "us-east-1"}]
    return {"savingsPlanOffering": offering, "rate": rate, "unit": "Hrs", "usageType": f"BoxUsage:{name}",
            "properties": properties, **changes}  # fmt: skip


def block(fee="354.00", *, hours=24, count=1, zone="us-east-1a", start="2026-07-22T11:30:00+00:00", **changes):
    return {"InstanceType": "p4d.24xlarge", "AvailabilityZone": zone, "InstanceCount": count, "UpfrontFee": fee,
            "CapacityBlockDurationHours": hours, "CurrencyCode": "USD", "StartDate": start, **changes}  # fmt: skip


def parsed(plans=(), blocks=()):
    payload = deepcopy(PAYLOAD)
    payload["regions"]["us-east-1"]["commitments"] = {"plans": list(plans), "blocks": list(blocks)}
    return Aws().parse(payload, NOW)


def reserved(batch):
    return [one for one in batch.offers if one.capacity_type is CapacityType.RESERVED]


def new_refusals(batch):
    return Counter(one.reason for one in batch.rejected) - Counter(one.reason for one in parsed().rejected)


def test_a_savings_plan_is_the_machine_for_one_or_three_years_at_its_rate():
    offers = reserved(parsed(plans=[plan("14.2"), plan("9.5", seconds=94_608_000)]))
    assert {(one.term_months, one.usd_per_hour, one.upfront_usd) for one in offers} == {
        (12, Decimal("14.2"), Decimal(0)),
        (36, Decimal("9.5"), Decimal(0)),
    }
    assert {(one.gpu, one.gpu_count, one.tier, one.scope) for one in offers} == {("A100-SXM4-40GB", 8, "ec2", "us-east-1")}


def test_a_block_costs_its_fee_over_its_hours():
    (one,) = reserved(parsed(blocks=[block("354.00")]))
    # 354 USD for 24 h of one machine: 14.75 an hour; 24 of 730 h are 0.0329 months
    assert (one.usd_per_hour, one.zone, one.availability) == (Decimal("14.75"), "us-east-1a", Availability.AVAILABLE)
    assert one.term_months == pytest.approx(24 / 730)
    assert "2026-07-22T11:30" in " ".join(one.notes)


def test_a_block_of_several_machines_is_priced_for_one():
    (one,) = reserved(parsed(blocks=[block("708.00", count=2)]))
    assert one.usd_per_hour == Decimal("14.75")


def test_of_blocks_alike_the_cheapest_is_offered_and_the_others_are_counted():
    batch = parsed(blocks=[block("400"), block("354"), block("360"), block("2400", hours=168), block("300", zone="us-east-1b")])
    assert {(one.zone, one.usd_per_hour) for one in reserved(batch)} == {
        ("us-east-1a", Decimal("14.75")),
        ("us-east-1a", Decimal(2400) / 168),
        ("us-east-1b", Decimal("12.5")),
    }
    assert new_refusals(batch) == {"duplicate": 2}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (plan(option="All Upfront"), "out_of_scope"),
        (plan(kind="EC2Instance"), "out_of_scope"),
        (plan(seconds=1), "out_of_scope"),
        (plan(name="m5.large"), "out_of_scope"),
        (plan(usageType="DedicatedUsage:p4d.24xlarge"), "out_of_scope"),
        (plan("0"), "no_price"),
        (plan("free"), "no_price"),
        (plan(unit="Request"), "no_price"),
        ({"rate": "1"}, "malformed"),
        ("no row", "malformed"),
    ],
)
def test_another_plan_or_no_price_is_counted(row, reason):
    batch = parsed(plans=[row])
    assert not reserved(batch)
    assert new_refusals(batch) == {reason: 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (block("0"), "no_price"),
        (block("-1"), "no_price"),
        (block(CurrencyCode="CNY"), "no_price"),
        (block(start=""), "malformed"),
        (block(hours=0), "malformed"),
        (block(InstanceType="p9.48xlarge"), "unknown_gpu"),
        (None, "malformed"),
    ],
)
def test_a_block_that_is_none_is_counted(row, reason):
    batch = parsed(blocks=[row])
    assert not reserved(batch)
    assert new_refusals(batch) == {reason: 1}


class Clients:
    """Clients of one region that sell p4d in blocks; the commitments may refuse."""

    def __init__(self, *, refuses=()):
        self.refuses, self.asked = refuses, Counter()

    def make_client(self, service, region):
        return self

    def close(self):
        pass

    def get_products(self, **asked):
        return {"PriceList": PAYLOAD["regions"]["us-east-1"]["listed"]}

    def describe_instance_types(self, **asked):
        types = PAYLOAD["regions"]["us-east-1"]["instance_types"]
        return {"InstanceTypes": [{**one, "SupportedUsageClasses": ["capacity-block"]} for one in types[:1]]}

    def describe_spot_price_history(self, **asked):
        return {"SpotPriceHistory": []}

    def _answer(self, name, answer):
        self.asked[name] += 1
        if name in self.refuses:
            raise ClientError({"Error": {"Code": "UnauthorizedOperation"}}, name)
        return answer

    def describe_savings_plans_offering_rates(self, **asked):
        if asked.get("nextToken") == "2":
            return self._answer("plans", {"searchResults": [plan("9.5", seconds=94_608_000)], "nextToken": ""})
        return self._answer("plans", {"searchResults": [plan("14.2")], "nextToken": "2"})

    def describe_capacity_block_offerings(self, **asked):
        hours = asked["CapacityDurationHours"]
        start = datetime(2026, 7, 22, 11, 30, tzinfo=UTC)
        return self._answer("blocks", {"CapacityBlockOfferings": [block(str(14.75 * hours), hours=hours, StartDate=start)]})


def read(clients, **settings):
    aws = Aws(regions=("us-east-1",), make_client=clients.make_client, now=lambda: NOW, **settings)
    with httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(404))) as http:
        return aws.parse(json.loads(json.dumps(aws.fetch(http))), NOW)  # a payload can be stored


def test_commitments_are_not_asked_for_unless_wanted():
    clients = Clients()
    assert not reserved(read(clients))
    assert not clients.asked


def test_all_pages_of_plans_and_both_lengths_of_blocks_are_asked_for():
    clients = Clients()
    found = reserved(read(clients, include_commitments=True))
    assert {round(one.term_months, 3) for one in found} == {12, 36, 0.033, 0.23}
    assert clients.asked == {"plans": 2, "blocks": 2}


@pytest.mark.parametrize(
    ("refused", "left", "words"), [("plans", {0.033, 0.23}, "Savings Plans"), ("blocks", {12, 36}, "Capacity Blocks")]
)
def test_a_permission_that_is_missing_leaves_the_rest(refused, left, words):
    batch = read(Clients(refuses={refused}), include_commitments=True)
    assert {round(one.term_months, 3) for one in reserved(batch)} == left
    assert any(f"{words} were not read (provider-credentials)" in note for note in batch.notes)
    assert [one for one in batch.offers if one.capacity_type is CapacityType.ON_DEMAND]
