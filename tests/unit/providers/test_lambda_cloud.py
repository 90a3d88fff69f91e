"""Lambda Cloud against its price page of 2026-08-20 and the traps of its answer."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from providers.errors import ProviderCredentials, ProviderNeedsKey, ProviderPayloadInvalid
from providers.http import make_client
from providers.lambda_cloud import LambdaCloud
from providers.offer import MALFORMED, NO_GPU, NO_PRICE, UNKNOWN_GPU, Arch, Availability, CapacityType, Interconnect, Tenancy

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
PAYLOAD = json.loads((Path(__file__).parents[2] / "fixtures/lambda/instance_types.json").read_text())


def parsed(payload=PAYLOAD):
    return LambdaCloud().parse(payload, NOW)


def only(batch, instance_type):
    (offer,) = [o for o in batch.offers if o.instance_type == instance_type]
    return offer


def one_type(**changes):
    kind = {
        "name": "gpu_1x_a10",
        "description": "1x A10 (24 GB PCIe)",
        "gpu_description": "A10 (24 GB PCIe)",
        "price_cents_per_hour": 129,
        "architecture": "x86_64",
        "specs": {"gpus": 1, "vcpus": 30, "memory_gib": 200, "storage_gib": 1400},
    }
    return {"data": {"x": {"instance_type": {**kind, **changes}, "regions_with_capacity_available": []}}}


def test_prices_are_the_cents_of_the_page_for_the_whole_instance():
    # page: 8x H100 SXM5 3192 cents, 1x 429 cents: 31.92 is not 8 x 4.29 = 34.32
    batch = parsed()
    assert only(batch, "gpu_8x_h100_sxm5").usd_per_hour == Decimal("31.92")
    assert only(batch, "gpu_1x_h100_sxm5").usd_per_hour == Decimal("4.29")
    assert only(batch, "gpu_8x_h100_sxm5").usd_per_gpu_hour == Decimal("3.99")


def test_everything_of_an_h100_machine():
    offer = only(parsed(), "gpu_8x_h100_sxm5")
    assert (offer.gpu, offer.gpu_count, offer.gpu_memory_gb, offer.form_factor) == ("H100-SXM", 8, 80, "SXM5")
    assert (offer.region, offer.country, offer.tier) == ("us-south-2", "US", "on-demand")
    assert (offer.vcpus, offer.memory_gib) == (208, 1800)
    assert offer.disk_included_gb == pytest.approx(24189.3, abs=0.1)  # 22528 GiB x 1.073741824
    assert offer.interconnect is Interconnect.NVLINK
    assert offer.tenancy is Tenancy.PROVIDER_DATACENTER
    assert offer.capacity_type is CapacityType.ON_DEMAND
    assert offer.availability is Availability.AVAILABLE
    assert offer.egress_usd_per_gb is None  # no fee is published: unknown, not 0
    assert offer.gpu_raw_name == "H100 (80 GB SXM5)"


def test_one_offer_for_each_region_with_capacity():
    a10 = [o for o in parsed().offers if o.instance_type == "gpu_1x_a10"]
    assert {(o.region, o.country) for o in a10} == {("us-west-1", "US"), ("europe-central-1", "DE")}
    assert {o.usd_per_hour for o in a10} == {Decimal("1.29")}


def test_a_sold_out_type_stays_listed_without_a_region():
    offer = only(parsed(), "gpu_8x_a100_80gb_sxm4")
    assert offer.availability is Availability.UNAVAILABLE
    assert offer.region is None
    assert offer.country is None
    assert (offer.gpu, offer.usd_per_hour) == ("A100-SXM4-80GB", Decimal("22.32"))


def test_a_new_gpu_name_does_not_stop_the_catalogue():  # behaviour 13
    batch = parsed()
    gh200 = only(batch, "gpu_1x_gh200")
    assert (gh200.gpu, gh200.gpu_memory_gb, gh200.arch) == ("GH200-96GB", 96, Arch.ARM64)
    assert only(batch, "gpu_16x_a10").gpu_count == 16
    assert only(batch, "gpu_16x_a10").gpu == "A10"
    unknown = [r for r in batch.rejected if r.reason == UNKNOWN_GPU]
    assert [r.row for r in unknown] == ["gpu_1x_q9"]
    assert "gpu_1x_q9" not in {o.instance_type for o in batch.offers}
    assert {o.instance_type for o in batch.offers} == PAYLOAD["data"].keys() - {"gpu_1x_q9", "cpu_4x_general"}


def test_a_cpu_type_is_told_apart_from_a_malformed_one():
    assert [r.reason for r in parsed().rejected if r.row == "cpu_4x_general"] == [NO_GPU]


def test_sixteen_is_read_from_the_description_when_specs_do_not_say():
    offer = parsed(one_type(description="16x A10 (24 GB PCIe)", specs={"vcpus": 480})).offers[0]
    assert offer.gpu_count == 16


def test_a_count_that_contradicts_the_description_is_refused():
    batch = parsed(one_type(description="8x A10 (24 GB PCIe)"))
    assert batch.offers == ()
    assert batch.rejected[0].reason == MALFORMED


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("gpu_1x_a100_sxm4", "A100-SXM4-40GB"),  # 40 GB, although others list it as 80
        ("gpu_8x_a100", "A100-SXM4-40GB"),  # the form changes with the count
        ("gpu_2x_a100", "A100-PCIe-40GB"),
        ("gpu_8x_a100_80gb_sxm4", "A100-SXM4-80GB"),
        ("gpu_1x_gh200", "GH200-96GB"),
        ("gpu_1x_rtx6000", "Quadro RTX 6000"),  # Turing, 24 GB: neither Ada nor Blackwell
        ("gpu_4x_a6000", "RTX A6000"),
    ],
)
def test_older_bodies_without_descriptions_are_settled_by_the_type_name(name, gpu):
    count = int(name.split("_")[1][:-1])
    assert parsed(one_type(name=name, description="", gpu_description="", specs={"gpus": count})).offers[0].gpu == gpu


@pytest.mark.parametrize("cents", [0, -129, None, float("nan"), float("inf"), "free", True])
def test_a_price_that_is_none_is_no_offer(cents):
    batch = parsed(one_type(price_cents_per_hour=cents))
    assert batch.offers == ()
    assert [r.reason for r in batch.rejected] == [NO_PRICE]


@pytest.mark.parametrize("region", [{"name": "us-west-1"}, {"name": "us-west-1", "description": "somewhere"}])
def test_the_country_falls_back_to_the_region_code(region):
    payload = one_type()
    payload["data"]["x"]["regions_with_capacity_available"] = [region]
    assert parsed(payload).offers[0].country == "US"


def test_the_country_in_the_description_wins_over_the_code():
    payload = one_type()
    payload["data"]["x"]["regions_with_capacity_available"] = [{"name": "us-new-1", "description": "Ontario, Canada"}]
    assert parsed(payload).offers[0].country == "CA"


@pytest.mark.parametrize("payload", [{}, [], None, "<html>", {"data": {}}, {"data": None}, {"error": {"code": "global/x"}}])
def test_an_answer_without_a_catalogue_is_refused(payload):
    with pytest.raises(ProviderPayloadInvalid):
        parsed(payload)


def test_fetch_needs_a_key_and_says_so_without_calling():
    with pytest.raises(ProviderNeedsKey, match="api_key"):
        LambdaCloud().fetch(make_client(transport=httpx.MockTransport(lambda request: pytest.fail("called"))))
    assert "api_key" in (LambdaCloud().missing_credentials() or "")
    assert LambdaCloud(api_key=SecretStr("k")).missing_credentials() is None


def answering(status, body):
    def handle(request):
        assert request.headers["Authorization"] == "Bearer sesame"
        assert request.url == "https://cloud.lambda.ai/api/v1/instance-types"
        return httpx.Response(status, json=body)

    return make_client(transport=httpx.MockTransport(handle))


def test_fetch_asks_once_with_the_key():
    assert LambdaCloud(api_key=SecretStr("sesame")).fetch(answering(200, PAYLOAD)) == PAYLOAD


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "global/invalid-api-key", ProviderCredentials),
        (403, "global/account-inactive", ProviderCredentials),
        (400, "global/account-inactive", ProviderCredentials),  # the code tells, whatever the status
        (200, "global/account-inactive", ProviderCredentials),
        (400, "global/invalid-parameters", ProviderPayloadInvalid),
        (404, "global/not-found", ProviderPayloadInvalid),
    ],
)
def test_errors_are_told_apart_by_their_code(status, code, error):
    body = {"error": {"code": code, "message": "for sesame"}}
    with pytest.raises(error) as caught:
        LambdaCloud(api_key=SecretStr("sesame")).fetch(answering(status, body))
    assert "sesame" not in str(caught.value)
