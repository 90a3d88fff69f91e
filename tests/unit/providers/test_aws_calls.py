"""The signed calls against stubbed clients: what is asked, how pages end, and what a refusal becomes."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import boto3
import httpx
import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from botocore.stub import ANY, Stubber
from pydantic import SecretStr

from providers.aws import Aws
from providers.aws.calls import client_factory, our_errors, pages
from providers.aws.spot import fetch_spot_history
from providers.errors import (
    InvalidInput,
    ProviderCredentials,
    ProviderNeedsKey,
    ProviderPayloadInvalid,
    ProviderRateLimited,
    ProviderUnavailable,
)

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
REGION = json.loads((Path(__file__).parents[2] / "fixtures" / "aws_payload.json").read_text())["regions"]["us-east-1"]
SECRET = "wJalrEXAMPLESECRET"
NO_ADVISOR = httpx.MockTransport(lambda request: httpx.Response(404))


def stubbed(service, region="us-east-1"):
    client = boto3.client(service, region_name=region, aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key=SECRET)
    return client, Stubber(client)


class Market:
    """Stubbed clients of pricing and of each region's EC2, for `make_client`."""

    def __init__(self, *regions):
        self.pricing, self.prices = stubbed("pricing")
        self.ec2 = {region: stubbed("ec2", region) for region in regions}

    def make_client(self, service, region):
        client, stub = (self.pricing, self.prices) if service == "pricing" else self.ec2[region]
        stub.activate()
        return client

    def good_prices(self, region):
        machines = [
            {"Type": "TERM_MATCH", "Field": field, "Value": value}
            for field, value in (
                ("operatingSystem", "Linux"),
                ("preInstalledSw", "NA"),
                ("tenancy", "Shared"),
                ("capacitystatus", "Used"),
                ("regionCode", region),
            )
        ]
        asked = {"ServiceCode": "AmazonEC2", "FormatVersion": "aws_v1", "MaxResults": 100, "Filters": machines}
        listed = [text.replace("us-east-1", region) for text in REGION["listed"]]
        self.prices.add_response("get_products", {"PriceList": listed[:3], "NextToken": "t1"}, asked)
        self.prices.add_response("get_products", {"PriceList": [], "NextToken": "t2"}, {**asked, "NextToken": "t1"})
        self.prices.add_response("get_products", {"PriceList": listed[3:-1]}, {**asked, "NextToken": "t2"})
        self.prices.add_response("get_products", {"PriceList": listed[-1:]}, {**asked, "Filters": ANY})

    def good_types(self, region):
        cpu = {"InstanceType": "m5.large", "VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 8192}}
        types = {"InstanceTypes": [cpu, *REGION["instance_types"]], "NextToken": ""}
        self.ec2[region][1].add_response("describe_instance_types", types, {"MaxResults": 100})

    def good_spot(self, region):
        rows = [{**row, "Timestamp": datetime.fromisoformat(row["Timestamp"])} for row in REGION["spot"]]
        asked = {
            "InstanceTypes": [entry["InstanceType"] for entry in REGION["instance_types"]],
            "ProductDescriptions": ["Linux/UNIX"],
            "StartTime": NOW,
            "MaxResults": 1000,
        }
        stub = self.ec2[region][1]
        stub.add_response("describe_spot_price_history", {"SpotPriceHistory": rows[:2], "NextToken": "a"}, asked)
        stub.add_response("describe_spot_price_history", {"SpotPriceHistory": [], "NextToken": "b"}, {**asked, "NextToken": "a"})
        stub.add_response(
            "describe_spot_price_history", {"SpotPriceHistory": rows[2:], "NextToken": ""}, {**asked, "NextToken": "b"}
        )

    def good(self, region):
        self.good_prices(region)
        self.good_types(region)
        self.good_spot(region)


def fetch(market, *regions, transport=NO_ADVISOR):
    with httpx.Client(transport=transport) as http:
        return Aws(regions=regions, make_client=market.make_client, now=lambda: NOW).fetch(http)


def test_all_pages_of_all_three_calls_are_read_through_empty_ones():
    market = Market("us-east-1")
    market.good("us-east-1")
    payload = fetch(market, "us-east-1")
    section = payload["regions"]["us-east-1"]
    assert section["listed"] == REGION["listed"]
    assert section["instance_types"] == REGION["instance_types"]  # the CPU machine has no GpuInfo
    assert section["spot"] == REGION["spot"]
    json.dumps(payload)  # can be stored
    batch = Aws().parse(payload, NOW)
    assert len(batch.offers) == 10  # 6 on demand (g5, g6, g6f, g6e, p5en, g5g), 4 spot
    market.prices.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("AuthFailure", "provider-credentials"),
        ("UnauthorizedOperation", "provider-credentials"),
        ("RequestLimitExceeded", "provider-rate-limited"),
        ("ThrottlingException", "provider-rate-limited"),
        ("InternalError", "provider-unavailable"),
    ],
)
def test_a_region_without_its_spot_prices_still_gives_its_price_list_and_names_the_part(code, expected):
    market = Market("us-east-1", "me-south-1")
    market.good("us-east-1")
    market.good_prices("me-south-1")
    market.good_types("me-south-1")
    market.ec2["me-south-1"][1].add_client_error("describe_spot_price_history", code, f"about {SECRET}")
    batch = Aws().parse(fetch(market, "us-east-1", "me-south-1"), NOW)
    assert batch.failed_scopes == {"me-south-1 spot": expected}
    # six machines of either region on demand; four spot prices of the one that told them
    assert Counter(offer.scope for offer in batch.offers) == {"us-east-1": 6, "us-east-1 spot": 4, "me-south-1": 6}
    assert f"aws: DescribeSpotPriceHistory in me-south-1: {code}" in batch.notes
    assert SECRET not in repr(batch)


def test_a_region_that_cannot_be_read_at_all_keeps_its_spot_prices_too():
    market = Market("us-east-1", "me-south-1")
    market.good("us-east-1")
    market.good_prices("me-south-1")
    market.ec2["me-south-1"][1].add_client_error("describe_instance_types", "AuthFailure", f"about {SECRET}")
    batch = Aws().parse(fetch(market, "us-east-1", "me-south-1"), NOW)
    assert batch.failed_scopes == dict.fromkeys(("me-south-1", "me-south-1 spot"), "provider-credentials")
    assert {offer.scope for offer in batch.offers} == {"us-east-1", "us-east-1 spot"}
    assert "aws: DescribeInstanceTypes in me-south-1: AuthFailure" in batch.notes


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        ("AccessDeniedException", ProviderCredentials),
        ("UnrecognizedClientException", ProviderCredentials),
        ("ThrottlingException", ProviderRateLimited),
        ("InternalErrorException", ProviderUnavailable),
    ],
)
def test_when_every_region_fails_the_fetch_fails_with_the_reason(code, raised):
    market = Market("us-east-1", "eu-west-1")
    for _ in market.ec2:
        market.prices.add_client_error("get_products", code, f"about {SECRET}")
    with pytest.raises(raised, match=f"GetProducts for us-east-1: {code}") as caught:
        fetch(market, "us-east-1", "eu-west-1")
    assert SECRET not in str(caught.value)


def test_regions_that_fail_for_different_reasons_are_all_named():
    market = Market("us-east-1", "eu-west-1")
    market.prices.add_client_error("get_products", "AccessDeniedException")
    market.prices.add_client_error("get_products", "ThrottlingException")
    with pytest.raises(ProviderUnavailable, match="us-east-1 provider-credentials, eu-west-1 provider-rate-limited"):
        fetch(market, "us-east-1", "eu-west-1")


def test_a_hostile_error_code_is_not_repeated():
    market = Market("us-east-1")
    market.prices.add_client_error("get_products", "<script>alert(1)</script>")
    with pytest.raises(ProviderUnavailable, match="unreadable error code") as caught:
        fetch(market, "us-east-1")
    assert "script" not in str(caught.value)


@pytest.mark.parametrize(
    "error", [EndpointConnectionError(endpoint_url="https://x"), ConnectTimeoutError(endpoint_url="https://x")]
)
def test_a_region_that_cannot_be_reached_is_unavailable(error):
    with pytest.raises(ProviderUnavailable, match=type(error).__name__), our_errors("DescribeInstanceTypes in me-south-1"):
        raise error


def test_no_machine_type_at_all_is_a_fault_of_the_answer():
    market = Market("us-east-1")
    market.good_prices("us-east-1")
    market.ec2["us-east-1"][1].add_response("describe_instance_types", {"InstanceTypes": []}, {"MaxResults": 100})
    with pytest.raises(ProviderPayloadInvalid, match="no machine type"):
        fetch(market, "us-east-1")


def test_a_missing_disk_price_fails_nothing():
    market = Market("us-east-1")
    market.prices.add_response("get_products", {"PriceList": REGION["listed"][:-1]})
    market.prices.add_client_error("get_products", "ThrottlingException")
    market.good_types("us-east-1")
    market.good_spot("us-east-1")
    batch = Aws().parse(fetch(market, "us-east-1"), NOW)
    assert len(batch.offers) == 10
    assert all(any("disk 0.08" in note for note in offer.notes) for offer in batch.offers)


def test_a_failing_advisor_is_noted_and_fails_nothing():
    market = Market("us-east-1")
    market.good("us-east-1")
    batch = Aws().parse(fetch(market, "us-east-1"), NOW)
    assert "Spot Advisor: provider-payload-invalid; interruption rates are unknown" in batch.notes
    assert all(offer.interruption_fraction_per_month is None for offer in batch.offers)


def test_the_recorded_advisor_file_gives_bands(shared_data):
    recorded = (shared_data / "payloads" / "aws" / "spot_advisor_gpu_subset_2025-06-28.json").read_bytes()
    market = Market("us-east-1")
    market.good("us-east-1")
    payload = fetch(market, "us-east-1", transport=httpx.MockTransport(lambda request: httpx.Response(200, content=recorded)))
    # the facts of that day: p5.48xlarge r 4, p4d r 2, p5en r 0
    assert {name: payload["advisor"]["us-east-1"][name] for name in ("p5.48xlarge", "p4d.24xlarge", "p5en.48xlarge")} == {
        "p5.48xlarge": 4,
        "p4d.24xlarge": 2,
        "p5en.48xlarge": 0,
    }
    bands = {
        o.interruption_fraction_per_month
        for o in Aws().parse(payload, NOW).offers
        if o.instance_type == "p5en.48xlarge" and o.zone
    }
    assert bands == {(0.0, 0.05)}


@pytest.mark.parametrize("body", [[], {}, {"spot_advisor": []}, {"spot_advisor": {"us-east-1": {"Linux": []}}}])
def test_an_odd_advisor_file_fails_nothing(body):
    market = Market("us-east-1")
    market.good("us-east-1")
    payload = fetch(market, "us-east-1", transport=httpx.MockTransport(lambda request: httpx.Response(200, json=body)))
    assert len(Aws().parse(payload, NOW).offers) == 10


def test_pages_that_do_not_end_are_a_fault():
    asked = []

    def same_page(**parameters):
        asked.append(parameters)
        return {"Rows": [1], "NextToken": "same"}

    with pytest.raises(ProviderPayloadInvalid, match="do not end"):
        list(pages(same_page, "Rows"))
    assert asked == [{}, {"NextToken": "same"}]


def test_spot_is_asked_for_at_most_a_hundred_types_a_call():
    asked = []

    class Ec2:
        def describe_spot_price_history(self, **parameters):
            asked.append(len(parameters["InstanceTypes"]))
            return {"SpotPriceHistory": []}

    assert fetch_spot_history(Ec2(), [f"g5.{size}" for size in range(150)], NOW) == []
    assert asked == [100, 50]


def test_half_a_pair_of_keys_is_said_without_the_value():
    half = Aws(access_key_id=SecretStr("AKIAEXAMPLE"))
    assert half.missing_credentials() == "secret_access_key: it belongs to access_key_id"
    other = Aws(secret_access_key=SecretStr(SECRET))
    assert SECRET not in other.missing_credentials()
    assert Aws().missing_credentials() is None
    with httpx.Client(transport=NO_ADVISOR) as http, pytest.raises(ProviderNeedsKey) as caught:
        other.fetch(http)
    assert SECRET not in str(caught.value)


def test_secrets_do_not_stand_in_the_repr():
    shown = repr(
        Aws(access_key_id=SecretStr("AKIAEXAMPLE"), secret_access_key=SecretStr(SECRET), session_token=SecretStr("TOKEN-X"))
    )
    assert not any(secret in shown for secret in ("AKIAEXAMPLE", SECRET, "TOKEN-X"))


@pytest.mark.parametrize("regions", [(), ("us-east-1", ""), ("../../etc",), ("us-east-1/x",), ("US-EAST-1",)])
def test_a_region_that_is_no_code_is_refused(regions):
    with pytest.raises(InvalidInput, match="regions"):
        Aws(regions=regions)


def test_clients_have_time_outs_and_adaptive_retries_and_go_nowhere_unasked(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://elsewhere.example")
    make = client_factory(
        access_key_id=SecretStr("AKIAEXAMPLE"), secret_access_key=SecretStr(SECRET), session_token=None, endpoint_url=None
    )
    client = make("ec2", "eu-west-1")
    config = client.meta.config
    assert (config.connect_timeout, config.read_timeout) == (10, 60)
    assert config.retries["mode"] == "adaptive"
    assert client.meta.endpoint_url == "https://ec2.eu-west-1.amazonaws.com"
    client.close()


def test_credentials_of_the_machine_are_not_used_unless_asked(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAFROMENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    asked = []

    def answer(request):
        asked.append(request)
        return httpx.Response(404)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http, pytest.raises(ProviderPayloadInvalid):
        Aws(regions=("us-east-1",)).fetch(http)
    assert [request.url.path for request in asked] == ["/offers/v1.0/aws/AmazonEC2/current/region_index.json"]
    assert "authorization" not in asked[0].headers
