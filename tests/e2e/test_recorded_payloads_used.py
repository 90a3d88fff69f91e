"""Every recorded or documented answer is sent to the client that reads its like; here those of AWS that no other test has.

The EC2 service answers in XML: the documented examples, which are the client's own view of it, are written back into that.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from pydantic import SecretStr

from providers.aws import Aws
from providers.aws.calls import client_factory, closing_client, pages
from providers.aws.instances import with_gpu
from providers.aws.price_list import read_products
from providers.aws.spot import fetch_spot_history, newest_per_zone
from providers.http import make_client
from service.flows.gates import refusal_of
from tests.e2e.loopback_cases import recorded
from tests.e2e.test_aws_over_loopback import KEYS, serving, signed

NOW = datetime(2014, 1, 7, tzinfo=UTC)
TESTS = Path(__file__).resolve().parents[1]
# No prices and no refusal: values of a filter, which no adapter asks for.
UNUSED = {"aws/get_attribute_values_botocore_example.json"}


def test_every_payload_is_read_by_some_test(shared_data):
    folder = shared_data / "payloads"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.json")}
    read = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    read = read.replace("a4000_{word}_docs", "a4000_high_docs.json graphql_gpu_type_a4000_low_docs")
    assert {name for name in files if name.rpartition("/")[2] not in read} == set()
    assert files >= UNUSED
    assert len(files) == 33


def as_xml(value):
    """A part of a documented answer as EC2 writes it: names begin small, members of lists are items."""
    if isinstance(value, dict):
        return "".join(f"<{name(key)}>{as_xml(inner)}</{name(key)}>" for key, inner in value.items())
    if isinstance(value, list):
        return "".join(f"<item>{as_xml(inner)}</item>" for inner in value)
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def name(key):
    plain = {"InstanceTypes": "instanceTypeSet", "SpotPriceHistory": "spotPriceHistorySet", "VCpuInfo": "vCpuInfo"}
    return plain.get(key, key[0].lower() + key[1:])


def ec2_answering(action, body):
    def answer(method, path, headers, asked):
        assert f"Action={action}".encode() in asked
        return 200, "text/xml", f"<{action}Response><requestId>1</requestId>{as_xml(body)}</{action}Response>".encode()

    return answer


def ec2_client(url):
    keys = {"access_key_id": KEYS["access_key_id"], "secret_access_key": KEYS["secret_access_key"]}
    return closing_client(client_factory(**keys, session_token=None, endpoint_url=url, max_attempts=1), "ec2", "us-west-1")


@pytest.mark.parametrize(
    ("file", "prices", "refused"),
    [
        # plain Linux in two zones at 0.08
        ("spot_price_history_botocore_example.json", {("us-west-1a", "0.080000"), ("us-west-1c", "0.080000")}, []),
        # three records of SUSE Linux: another product at another price
        ("spot_price_history_awscli_example.json", set(), ["out_of_scope"] * 3),
    ],
)
def test_the_documented_spot_prices_over_the_wire(shared_data, file, prices, refused):
    documented = recorded(shared_data, f"aws/{file}")
    with serving(ec2_answering("DescribeSpotPriceHistory", documented)) as url, ec2_client(url) as ec2:
        rows = fetch_spot_history(ec2, ["m1.xlarge"], NOW)
    found, rejected = newest_per_zone(rows)
    assert {(one.zone, one.usd) for one in found} == prices
    assert [one.reason for one in rejected] == refused
    assert len(rows) == len(documented["SpotPriceHistory"])
    stated = {datetime.fromisoformat(row["Timestamp"]) for row in documented["SpotPriceHistory"]}
    assert {one.since for one in found} <= stated


def test_the_documented_machine_has_no_gpu_and_no_offer(shared_data):
    documented = recorded(shared_data, "aws/describe_instance_types_awscli_example.json")
    with serving(ec2_answering("DescribeInstanceTypes", documented)) as url, ec2_client(url) as ec2:
        types = list(pages(ec2.describe_instance_types, "InstanceTypes", MaxResults=100))
    assert [one["InstanceType"] for one in types] == ["t2.micro"]
    assert types[0]["MemoryInfo"] == {"SizeInMiB": 1024}
    assert with_gpu(types) == []


@pytest.mark.parametrize("file", ["get_products_awscli_example.json", "get_products_botocore_example.json"])
def test_the_documented_products_over_the_wire_are_no_machine_to_rent(shared_data, file):
    documented = recorded(shared_data, f"aws/{file}")
    text = json.dumps({"FormatVersion": "aws_v1", "PriceList": documented["PriceList"]}).encode()
    with serving(lambda *asked: (200, "application/x-amz-json-1.1", text)) as url:
        make = client_factory(
            access_key_id=SecretStr("testing"),
            secret_access_key=SecretStr("x"),
            session_token=None,
            endpoint_url=url,
            max_attempts=1,
        )
        with closing_client(make, "pricing", "us-east-1") as pricing:
            listed = list(pages(pricing.get_products, "PriceList", ServiceCode="AmazonEC2"))
    assert len(listed) == len(documented["PriceList"]) == 1
    products, rejected = read_products("query", listed)
    assert (len(products), rejected) == (1, [])
    assert not products[0].has_gpu


def test_a_region_of_documented_answers_alone_has_no_machine(shared_data):
    listed = recorded(shared_data, "aws/get_products_botocore_example.json")["PriceList"]
    text = json.dumps({"FormatVersion": "aws_v1", "PriceList": listed}).encode()
    machines = recorded(shared_data, "aws/describe_instance_types_awscli_example.json")
    prices = serving(lambda *asked: (200, "application/x-amz-json-1.1", text))
    with prices as pricing_url, serving(ec2_answering("DescribeInstanceTypes", machines)) as ec2_url:
        aws = Aws(regions=("us-east-1",), make_client=signed(pricing_url, ec2_url), spot_advisor_url=pricing_url)
        with make_client() as http:
            payload = aws.fetch(http)
    batch = aws.parse(payload, NOW)
    assert batch.offers == ()
    assert refusal_of(batch, {}, None).code == "empty-batch"  # nothing of it replaces a price
