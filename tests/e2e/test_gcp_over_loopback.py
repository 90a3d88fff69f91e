"""Google Cloud's recorded page and error through the real client: counts and prices by hand, the key, and paging."""

import csv
from collections import Counter
from decimal import Decimal

import pytest
import stamina
from pydantic import SecretStr

from providers.errors import ProviderCredentials, ProviderNeedsKey, ProviderPayloadInvalid, ProviderRateLimited
from providers.gcp import Gcp
from providers.http import make_client
from providers.offer import NO_PRICE, OUT_OF_SCOPE
from providers.vertex import Vertex
from tests.e2e.fake_hyperscalers import COMPUTE_PATH, KEY_HEADER, SERVICES_PATH, VERTEX_ID
from tests.e2e.fake_providers import Answer, serve_fake_providers
from tests.e2e.loopback_cases import KEY, NOW, SECRET, adapter_of, recorded, refused, serve

SKUS = "gcp/compute_engine_skus_opencost.json"


@pytest.fixture(autouse=True)
def _no_waiting():
    stamina.set_testing(True, attempts=2)
    yield
    stamina.set_testing(False)


@pytest.fixture
def fakes():
    with serve_fake_providers() as running:
        yield running


@pytest.fixture(scope="module")
def http():
    with make_client() as client:
        yield client


def last_page(shared_data):
    """The recorded page without its token: the pages behind it were not recorded."""
    return recorded(shared_data, SKUS) | {"nextPageToken": ""}


def test_the_recorded_page_gives_a2_machines_in_its_three_regions(fakes, http, shared_data):
    serve(fakes, "gcp", Answer(body=last_page(shared_data)))
    batch = adapter_of("gcp", fakes).parse(adapter_of("gcp", fakes).fetch(http), NOW)
    # A100 2.933908, A2 core 0.031611, A2 memory 0.004237 in three regions: five machines with that card, on demand
    assert Counter(o.region for o in batch.offers) == {"us-central1": 5, "us-east1": 5, "us-west1": 5}
    price = {o.instance_type: o.usd_per_hour for o in batch.offers if o.region == "us-west1"}
    assert price["a2-highgpu-1g"] == Decimal("3.673385")  # + 12 x 0.031611 + 85 x 0.004237
    assert price["a2-highgpu-8g"] == Decimal("29.387080")  # 8 times the parts
    assert price["a2-megagpu-16g"] == Decimal("55.739504")  # 46.942528 + 96 x 0.031611 + 1360 x 0.004237
    # no 80 GB card is priced in the page: four machines in three regions that sell their host with the other card
    assert Counter(r.reason for r in batch.rejected) == {OUT_OF_SCOPE: 12}  # T2D and E2 rows are no part of GPU machines
    assert batch.notes == ("4 SKUs of other products were passed over while reading",)


def test_the_hosts_of_a_public_catalogue_cost_what_our_machines_cost_without_their_cards(fakes, http, shared_data):
    # The catalogue lists host and cards apart: ours less 2.933908 a card is its host. Differences: it rounds to 5 digits.
    serve(fakes, "gcp", Answer(body=last_page(shared_data)))
    batch = adapter_of("gcp", fakes).parse(adapter_of("gcp", fakes).fetch(http), NOW)
    hosts = {(o.instance_type, o.region): o.usd_per_hour - Decimal("2.933908") * int(o.gpu_count) for o in batch.offers}
    with (shared_data / "catalog/skypilot-v8/gcp/vms.excerpt.csv").open(newline="") as file:
        listed = {(row["InstanceType"], row["Region"]): row["Price"] for row in csv.DictReader(file) if row["InstanceType"]}
    compared = hosts.keys() & listed.keys()
    assert len(compared) == 7  # 1g and 8g in three regions, 16g in us-central1
    for key in compared:
        assert float(hosts[key]) == pytest.approx(float(listed[key]), abs=1e-5)


def test_recorded_prices_in_rupiah_would_be_refused(fakes, http, shared_data):  # E2 renamed to A2: a part that is read
    page = last_page(shared_data)
    page["skus"] = [row | {"description": row["description"].replace("E2", "A2")} for row in page["skus"]]
    serve(fakes, "gcp", Answer(body=page))
    batch = adapter_of("gcp", fakes).parse(adapter_of("gcp", fakes).fetch(http), NOW)
    assert Counter(r.reason for r in batch.rejected) == {OUT_OF_SCOPE: 12, NO_PRICE: 2}
    assert {o.usd_per_hour for o in batch.offers if o.instance_type == "a2-highgpu-1g"} == {Decimal("3.673385")}


@pytest.mark.parametrize("kind", ["gcp", "vertex"])
def test_the_recorded_refusal_of_a_key_comes_with_status_400(fakes, http, shared_data, kind):
    serve(fakes, kind, Answer(400, recorded(shared_data, "gcp/error_api_key_invalid_400.json")))
    assert type(refused(fakes, http, kind)) is ProviderCredentials
    assert len(fakes.seen) == 1  # no second try


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": []}}), ProviderPayloadInvalid),
        (Answer(400, {"error": {"details": [{"reason": 7}, None]}}), ProviderPayloadInvalid),
        (Answer(400, {"error": None}), ProviderPayloadInvalid),
        (Answer(400, "no JSON"), ProviderPayloadInvalid),
        (Answer(403, {"error": {"status": "PERMISSION_DENIED"}}), ProviderCredentials),
        (Answer(429, {"error": {"status": "RESOURCE_EXHAUSTED"}}), ProviderRateLimited),
        (Answer(200, {"error": {"code": 500}}), ProviderPayloadInvalid),
        (Answer(200, {"skus": [], "nextPageToken": ""}), ProviderPayloadInvalid),  # a wrong service id
        (Answer(200, {"skus": [{}], "nextPageToken": "again"}), ProviderPayloadInvalid),
        (Answer(200, {"skus": [{}], "nextPageToken": 7}), ProviderPayloadInvalid),
        (Answer(200, {"skus": {"a": 1}}), ProviderPayloadInvalid),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else f"{value.status} {str(value.body)[:40]}",
)
def test_what_is_no_catalogue_is_one_error(fakes, http, answer, error):
    serve(fakes, "gcp", answer)
    assert type(refused(fakes, http, "gcp")) is error


@pytest.mark.parametrize("kind", ["gcp", "vertex"])
def test_the_key_travels_in_a_header_and_in_no_address(fakes, http, kind):
    adapter = adapter_of(kind, fakes)
    assert adapter.parse(adapter.fetch(http), NOW).offers
    for request in fakes.seen:
        assert request.headers[KEY_HEADER] == SECRET
        assert SECRET not in request.path
        assert SECRET not in str(request.query)


def test_all_pages_are_asked_for_in_dollars(fakes, http):
    payload = adapter_of("gcp", fakes).fetch(http)
    assert [request.query.get("pageToken", "") for request in fakes.seen] == ["", "15", "30"]
    assert {request.query["currencyCode"] for request in fakes.seen} == {"USD"}
    assert (len(payload["skus"]), payload["passed_over"]) == (38, 3)


@pytest.mark.parametrize("kind", [Gcp, Vertex])
@pytest.mark.parametrize("key", [None, SecretStr("")])
def test_nothing_is_asked_without_a_key(fakes, http, kind, key):
    with pytest.raises(ProviderNeedsKey):
        kind(api_key=key, base_url=fakes.url).fetch(http)
    assert fakes.seen == []


def test_vertex_finds_the_services_id_by_its_name(fakes, http):
    other = [{"serviceId": "0000-0000-0000", "displayName": "Vertex AI Search"}]
    pages = {
        "": {"services": other, "nextPageToken": "two"},
        "two": {"services": [{"serviceId": VERTEX_ID, "displayName": "Vertex AI"}], "nextPageToken": ""},
    }
    fakes.answers[SERVICES_PATH] = lambda request: Answer(body=pages[request.query.get("pageToken", "")])
    assert adapter_of("vertex", fakes).fetch(http)["skus"]
    assert VERTEX_ID in fakes.seen[2].path


@pytest.mark.parametrize(
    "services",
    [
        [],
        [{"serviceId": "1-2-3", "displayName": "Vertex"}],
        [{"serviceId": "../../x", "displayName": "Vertex AI"}],
        [{"serviceId": 7, "displayName": "Vertex AI"}],
        [None, "Vertex AI"],
    ],
)
def test_a_service_that_is_not_listed_is_said(fakes, http, services):
    fakes.answers[SERVICES_PATH] = Answer(body={"services": services, "nextPageToken": ""})
    assert type(refused(fakes, http, "vertex")) is ProviderPayloadInvalid
    assert [request.path for request in fakes.seen] == [SERVICES_PATH]


def test_one_failed_service_fails_the_whole_refresh_of_vertex(fakes, http):
    fakes.answers[COMPUTE_PATH] = Answer(404, "gone")
    adapter = Vertex(api_key=KEY, base_url=fakes.url)
    with pytest.raises(ProviderPayloadInvalid):
        adapter.fetch(http)
