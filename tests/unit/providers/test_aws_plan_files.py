"""The public rate files of Savings Plans: what is kept of them, and that a file that cannot be read costs nothing else."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from providers.aws import Aws
from providers.offer import CapacityType

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
PRICES = (Path(__file__).parents[2] / "fixtures" / "aws_bulk_us-east-1.csv").read_text()
HEADER = [
    "SKU", "RateCode", "Unit", "EffectiveDate", "DiscountedRate", "Currency", "DiscountedSKU", "DiscountedServiceCode",
    "DiscountedUsageType", "DiscountedOperation", "PurchaseOption", "LeaseContractLength", "LeaseContractLengthUnit",
    "ServiceCode", "UsageType", "Operation", "Description", "Instance Family", "Location", "Location Type", "Granularity",
    "Product Family", "DiscountedRegionCode", "DiscountedInstanceType",
]  # fmt: skip
PLAIN = {
    "SKU": "S", "Unit": "Hrs", "DiscountedRate": "14.2", "Currency": "USD", "DiscountedServiceCode": "AmazonEC2",
    "DiscountedUsageType": "BoxUsage:p4d.24xlarge", "DiscountedOperation": "RunInstances", "PurchaseOption": "No Upfront",
    "LeaseContractLength": "1", "LeaseContractLengthUnit": "year", "Product Family": "ComputeSavingsPlans",
    "DiscountedRegionCode": "us-east-1", "DiscountedInstanceType": "p4d.24xlarge",
}  # fmt: skip
PLANS = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"


def rate_file(*rows):
    lines = ["FormatVersion,v1.0", "Disclaimer,made for a test", ",".join(HEADER)]
    lines += [",".join({**PLAIN, **row}.get(column, "") for column in HEADER) for row in rows]
    return "\n".join(lines) + "\n"


class Files:
    """The public files of EC2 and of Savings Plans for us-east-1; `gone` paths answer 404."""

    def __init__(self, rates, *, gone=()):
        self.gone, self.asked = gone, Counter()
        index = {"currentSavingsPlanIndexUrl": f"{PLANS}/current/region_index.json"}
        self.answers = {
            "/offers/v1.0/aws/AmazonEC2/current/region_index.json": {
                "regions": {"us-east-1": {"currentVersionUrl": "/offers/v1.0/aws/AmazonEC2/1/us-east-1/index.json"}}
            },
            "/offers/v1.0/aws/AmazonEC2/1/us-east-1/index.csv": PRICES,
            "/offers/v1.0/aws/index.json": {"offers": {"AmazonEC2": index}},
            f"{PLANS}/current/region_index.json": {
                "regions": [{"regionCode": "us-east-1", "versionUrl": f"{PLANS}/1/us-east-1/index.json"}]
            },
            f"{PLANS}/1/us-east-1/index.csv": rates,
        }

    def __call__(self, request):
        path = request.url.path
        self.asked[path] += 1
        answer = None if path in self.gone else self.answers.get(path)
        if answer is None:
            return httpx.Response(404)
        return httpx.Response(200, json=answer) if isinstance(answer, dict) else httpx.Response(200, text=answer)


def read(files, aws=None):
    aws = aws or Aws(regions=("us-east-1",), include_commitments=True)
    with httpx.Client(transport=httpx.MockTransport(files)) as http:
        return aws.parse(aws.fetch(http), NOW)


def reserved(batch):
    return [one for one in batch.offers if one.capacity_type is CapacityType.RESERVED]


def test_one_and_three_years_without_an_advance_are_kept():
    rates = rate_file({}, {"DiscountedRate": "9.5", "LeaseContractLength": "3"})
    found = {(one.term_months, one.usd_per_hour, one.gpu, one.gpu_count) for one in reserved(read(Files(rates)))}
    assert found == {(12, Decimal("14.2"), "A100-SXM4-40GB", 8), (36, Decimal("9.5"), "A100-SXM4-40GB", 8)}


@pytest.mark.parametrize(
    "other",
    [
        {"PurchaseOption": "All Upfront"},
        {"DiscountedOperation": "RunInstances:0002"},  # Windows
        {"DiscountedUsageType": "DedicatedUsage:p4d.24xlarge"},
        {"Product Family": "EC2InstanceSavingsPlans"},
        {"DiscountedInstanceType": "m5.large", "DiscountedUsageType": "BoxUsage:m5.large"},
        {"DiscountedRegionCode": "us-west-2"},
    ],
)
def test_other_rates_are_passed_over(other):
    assert not reserved(read(Files(rate_file(other))))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"DiscountedRate": "0"}, "no_price"),
        ({"Currency": "CNY"}, "no_price"),
        ({"LeaseContractLength": "2"}, "out_of_scope"),
        ({"LeaseContractLengthUnit": "month"}, "out_of_scope"),
    ],
)
def test_a_rate_that_cannot_be_used_is_counted(row, reason):
    batch = read(Files(rate_file(row)))
    assert not reserved(batch)
    assert [one.reason for one in batch.rejected if one.row.startswith("us-east-1 plan")] == [reason]


@pytest.mark.parametrize(
    "gone", ["/offers/v1.0/aws/index.json", f"{PLANS}/current/region_index.json", f"{PLANS}/1/us-east-1/index.csv"]
)
def test_a_file_that_is_gone_leaves_the_prices_on_demand(gone):
    batch = read(Files(rate_file({}), gone={gone}))
    assert not reserved(batch)
    assert batch.offers
    assert any("Savings Plans were not read" in note for note in batch.notes)


def test_files_are_read_again_only_when_their_version_changes_and_never_unasked():
    files, aws = Files(rate_file({})), Aws(regions=("us-east-1",), include_commitments=True)
    assert reserved(read(files, aws)) == reserved(read(files, aws))
    assert files.asked[f"{PLANS}/1/us-east-1/index.csv"] == 1
    quiet = Files(rate_file({}))
    assert not reserved(read(quiet, Aws(regions=("us-east-1",))))
    assert not any("savingsPlan" in path for path in quiet.asked)


def test_an_index_that_points_elsewhere_is_refused():
    files = Files(rate_file({}))
    files.answers["/offers/v1.0/aws/index.json"]["offers"]["AmazonEC2"]["currentSavingsPlanIndexUrl"] = "//evil.test/x"
    batch = read(files)
    assert not reserved(batch)
    assert any("Savings Plans were not read (provider-payload-invalid)" in note for note in batch.notes)
