"""What a managed service costs over the machine under it: by the hour, the run and the month."""

from dataclasses import replace
from datetime import date

import pytest

from providers.offer import CapacityType, Tenancy

EC2 = {"feed": "aws", "provider": "aws", "tier": "ec2", "instance_type": "p5.4xlarge", "tenancy": Tenancy.HYPERSCALER}
MANAGED = {**EC2, "feed": "sagemaker", "provider": "sagemaker", "tier": "training", "instance_type": "ml.p5.4xlarge"}
SPOT = CapacityType.SPOT


def managed(made):
    return next(option for option in made.options if option.provider == "sagemaker")


def test_the_surcharge_of_a_run_and_of_an_hour(offer, market, plan):
    one = managed(plan(market(offer(usd_per_hour="8", **EC2), offer(usd_per_hour="10", **MANAGED)))).managed_surcharge
    # 100 h of work and 10 minutes of set-up at 2.00 more an hour: 200.3333; 2.00 is a quarter of 8.00
    assert (one.over, one.usd_per_hour, one.fraction) == ("aws", 2, 0.25)
    assert one.usd_per_run == pytest.approx(200 + 2 / 6, abs=1e-5)
    assert one.usd_per_month is None
    assert one.explained == "sagemaker asks $10.00 an hour for a machine that aws sells at $8.00: 25 % more"


def test_the_surcharge_of_a_month(offer, market, plan):
    made = market(offer(usd_per_hour="8", **EC2), offer(usd_per_hour="10", **MANAGED))
    one = managed(plan(made, usage={"runs_per_month": 3.0, "reference_gpu": "H100 SXM"})).managed_surcharge
    assert one.usd_per_month == pytest.approx(3 * (200 + 2 / 6), abs=1e-4)


def test_the_plain_machine_itself_has_none(offer, market, plan):
    found = plan(market(offer(usd_per_hour="8", **EC2), offer(usd_per_hour="10", **MANAGED)))
    assert [option.managed_surcharge for option in found.options if option.provider == "aws"] == [None]


@pytest.mark.parametrize(
    "changes",
    [
        {"region": "us-west-2"},
        {"instance_type": "p5.48xlarge"},
        {"capacity_type": SPOT},
        {"is_dated": True, "as_of": date(2026, 9, 1)},
    ],
)
def test_another_machine_place_kind_or_day_tells_nothing(offer, market, plan, changes):
    found = plan(market(replace(offer(usd_per_hour="8", **EC2), **changes), offer(usd_per_hour="10", **MANAGED)))
    assert managed(found).managed_surcharge is None


def test_no_surcharge_is_said(offer, market, plan):
    same = {**MANAGED, "feed": "azureml", "provider": "azureml", "tier": "azureml", "instance_type": "Standard_NC40ads_H100_v5"}
    plain = {**same, "feed": "azure", "provider": "azure", "tier": "vm"}
    found = plan(market(offer(usd_per_hour="6.98", **plain), offer(usd_per_hour="6.98", **same)))
    one = next(option for option in found.options if option.provider == "azureml").managed_surcharge
    assert (one.usd_per_hour, one.fraction) == (0, 0)
    assert one.explained.endswith("no surcharge")
