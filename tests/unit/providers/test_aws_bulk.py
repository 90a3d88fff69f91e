"""The keyless price list: the streamed CSV, its recorded JSON form, and what is read again and what is not."""

import json
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from providers.aws import Aws
from providers.aws.bulk import filter_csv
from providers.aws.price_list import Layout, on_demand_usd_per_hour, read_products
from providers.base import Refused
from providers.errors import ProviderPayloadInvalid, ProviderUnavailable

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
CSV = (Path(__file__).parents[2] / "fixtures" / "aws_bulk_us-east-1.csv").read_text()
FOLDER = "/offers/v1.0/aws/AmazonEC2"


class PriceFiles:
    """The public files of some regions; counts what is asked."""

    def __init__(self, csv_of_region, *, version="20260720000000", json_of_region=None):
        self.version = version
        self.csv_of_region = csv_of_region
        self.json_of_region = json_of_region or {}
        self.asked = Counter()

    def __call__(self, request):
        path = request.url.path
        self.asked[path.rpartition("/")[2]] += 1
        if path == f"{FOLDER}/current/region_index.json":
            regions = {*self.csv_of_region, *self.json_of_region}
            index = {name: {"regionCode": name, "currentVersionUrl": self.path(name)} for name in regions}
            return httpx.Response(200, json={"formatVersion": "v1.0", "regions": index})
        for region, text in self.csv_of_region.items():
            if path == self.path(region).replace(".json", ".csv"):
                return httpx.Response(200, text=text, headers={"Content-Type": "text/csv"})
        for region, body in self.json_of_region.items():
            if path == self.path(region):
                return httpx.Response(200, content=body)
        return httpx.Response(404)

    def path(self, region):
        return f"{FOLDER}/{self.version}/{region}/index.json"


def fetch(aws, files):
    with httpx.Client(transport=httpx.MockTransport(files)) as http:
        return aws.fetch(http)


def read(files, *regions):
    return Aws().parse(fetch(Aws(regions=regions), files), NOW)


def test_the_csv_gives_one_price_for_each_machine():
    batch = read(PriceFiles({"us-east-1": CSV}), "us-east-1")
    assert {offer.instance_type: offer.usd_per_hour for offer in batch.offers} == {
        "p4d.24xlarge": Decimal("21.957642"),  # beside a reserved term at 15 and a capacity block at 0
        "g6f.large": Decimal("0.2024"),
        "g5.xlarge": Decimal("1.006"),  # beside Windows at 1.19 and a local zone at 1.25; "Pre Installed S/W" is empty here
        "g6.xlarge": Decimal("0.8048"),  # its GPU column is empty: known from the shipped table
    }
    assert all(offer.storage_usd_per_gb_month == Decimal("0.08") and offer.scope == "us-east-1" for offer in batch.offers)
    assert not any("disk" in note for offer in batch.offers for note in offer.notes)
    assert sorted((rejected.row, rejected.reason) for rejected in batch.rejected) == [
        ("us-east-1 B2", "not_on_demand"),
        ("us-east-1 B6", "out_of_scope"),
    ]


def test_facts_come_from_the_shipped_table_and_there_is_no_spot():
    batch = read(PriceFiles({"us-east-1": CSV}), "us-east-1")
    offers = {offer.instance_type: offer for offer in batch.offers}
    a100, share = offers["p4d.24xlarge"], offers["g6f.large"]
    assert (a100.gpu, a100.gpu_count, a100.gpu_memory_gb, a100.vcpus, a100.memory_gib) == ("A100-SXM4-40GB", 8, 40, 96, 1152)
    assert (share.gpu, share.gpu_count, share.gpu_memory_gb, share.usd_per_gpu_hour) == ("L4", 0.125, 3, Decimal("1.6192"))
    assert "no spot prices: they need credentials" in batch.notes
    assert {offer.capacity_type.value for offer in batch.offers} == {"on_demand"}


def test_rows_that_are_not_kept_are_counted():
    rows, passed_over = filter_csv("aws", CSV.splitlines())
    assert len(rows) + passed_over == 10
    assert {row["SKU"] for row in rows} == {"B1", "B2", "B3", "B4", "B6", "B8", "B9"}
    # one of B1's two rows is a reserved term; B5 is Windows, B7 has no GPU
    assert passed_over == 3
    assert (
        "us-east-1: 3 rows of other products were passed over while reading"
        in read(PriceFiles({"us-east-1": CSV}), "us-east-1").notes
    )


def test_the_header_may_move_by_a_few_lines():
    lines = CSV.splitlines()
    assert filter_csv("aws", lines[3:]) == filter_csv("aws", lines) == filter_csv("aws", ['"Note","x"', *lines])


@pytest.mark.parametrize(
    "lines",
    [[], ["<html>"] * 40, ['"a","b"'] * 40, CSV.replace('"TermType"', '"Term"').splitlines()],
    ids=["empty", "html", "other", "column gone"],
)
def test_a_file_that_is_no_price_list_is_refused(lines):
    with pytest.raises(ProviderPayloadInvalid, match="bulk price list"):
        filter_csv("aws", lines)


def test_a_cut_row_is_no_offer():
    lines = CSV.splitlines()
    cut = next(line for line in lines if line.startswith('"B4"')).split('"1.0060000000"')[0] + '"1.00'
    rows, _ = filter_csv("aws", [line for line in lines if not line.startswith('"B4"')] + [cut])
    assert "B4" not in {row["SKU"] for row in rows}


def test_a_file_is_read_again_only_when_its_version_changes():
    files = PriceFiles({"us-east-1": CSV})
    aws = Aws(regions=("us-east-1",))
    first = fetch(aws, files)
    assert fetch(aws, files) == first
    assert files.asked == {"region_index.json": 2, "index.csv": 1}
    files.version, files.csv_of_region = "20260721000000", {"us-east-1": CSV.replace("1.0060000000", "1.1060000000")}
    later = {offer.instance_type: offer.usd_per_hour for offer in Aws().parse(fetch(aws, files), NOW).offers}
    assert later["g5.xlarge"] == Decimal("1.106")
    assert files.asked["index.csv"] == 2


def test_a_region_without_a_file_fails_alone():
    batch = read(PriceFiles({"us-east-1": CSV}), "us-east-1", "eu-west-1")
    assert batch.failed_scopes == {"eu-west-1": "provider-unavailable"}
    assert {offer.region for offer in batch.offers} == {"us-east-1"}


def test_no_region_at_all_is_an_error():
    with pytest.raises(ProviderUnavailable, match="eu-west-1"):
        read(PriceFiles({"us-east-1": CSV}), "eu-west-1")


@pytest.mark.parametrize(
    ("column", "wrong", "reason"),
    [
        ("Region Code", "us-west-2", "out_of_scope"),
        ("Location Type", "AWS Local Zone", "out_of_scope"),
        ("Currency", "CNY", "no_price"),
        ("TermType", "Reserved", "no_price"),
        ("Unit", "Quantity", "no_price"),
        ("EffectiveDate", "soon", "malformed"),
    ],
)
def test_a_row_that_is_wrong_in_one_column_is_no_offer(column, wrong, reason):
    rows, _ = filter_csv("aws", CSV.splitlines())
    [row] = [row for row in rows if row["SKU"] == "B4"]
    section = {"layout": "csv", "listed": [{**row, column: wrong}, next(row for row in rows if row["SKU"] == "B9")]}
    batch = Aws().parse({"regions": {"us-east-1": section}}, NOW)
    assert [offer.instance_type for offer in batch.offers] == ["g6.xlarge"]
    assert [refused.reason for refused in batch.rejected] == [reason]


def test_two_prices_of_one_machine_at_once_are_no_offer():
    rows, _ = filter_csv("aws", CSV.splitlines())
    [row] = [row for row in rows if row["SKU"] == "B4"]
    section = {"layout": "csv", "listed": [row, {**row, "PricePerUnit": "0.5"}]}
    batch = Aws().parse({"regions": {"us-east-1": section}}, NOW)
    assert batch.offers == ()
    assert [refused.reason for refused in batch.rejected] == ["malformed"]


@pytest.mark.parametrize("url", ["https://elsewhere.example/x.csv", "//elsewhere.example/x.csv", 5, None])
def test_an_index_that_points_elsewhere_is_refused(url):
    index = {"regions": {"us-east-1": {"currentVersionUrl": url}}}
    with pytest.raises(ProviderPayloadInvalid, match="no path"):
        fetch(Aws(regions=("us-east-1",)), lambda request: httpx.Response(200, json=index))


def test_the_recorded_json_list_gives_the_on_demand_price_and_refuses_the_capacity_block(shared_data):
    recorded = (shared_data / "payloads" / "aws" / "bulk_price_list_p4d_ondemand_and_capacity_block.json").read_bytes()
    batch = read(PriceFiles({}, json_of_region={"us-east-1": recorded}), "us-east-1")
    [offer] = batch.offers
    assert (offer.instance_type, offer.gpu, offer.gpu_count) == ("p4d.24xlarge", "A100-SXM4-40GB", 8)
    assert offer.usd_per_hour == Decimal("32.7726")  # the price of May 2024, as recorded
    [refused] = batch.rejected
    assert (refused.row, refused.reason) == ("us-east-1 YSXJGN78QTXNVGDQ", "not_on_demand")


def test_the_recorded_windows_machine_is_out_of_scope(shared_data):
    recorded = (shared_data / "payloads" / "aws" / "bulk_price_list_p3_8xlarge_windows_byol.json").read_bytes()
    batch = read(PriceFiles({}, json_of_region={"us-east-2": recorded}), "us-east-2")
    assert batch.offers == ()
    assert Counter(rejected.reason for rejected in batch.rejected) == {"no_gpu": 1, "out_of_scope": 1}


@pytest.mark.parametrize("name", ["get_products_awscli_example.json", "get_products_botocore_example.json"])
def test_the_documented_query_answers_are_read(shared_data, name):
    answer = json.loads((shared_data / "payloads" / "aws" / name).read_text())
    [volume], rejected = read_products(Layout.QUERY, answer["PriceList"])
    assert rejected == []
    assert (volume.dimensions[0].usd, volume.dimensions[0].unit) == ("0.1380000000", "GB-Mo")
    with pytest.raises(Refused):
        on_demand_usd_per_hour(volume, region=volume.regionCode, today=date(2026, 7, 20))
