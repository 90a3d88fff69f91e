"""Recorded and documented answers of the real services, served on loopback to the real adapters through the real client."""

import json
from decimal import Decimal

import pytest

from providers.http import make_client
from providers.offer import NO_PRICE, OUT_OF_SCOPE, UNKNOWN_GPU, Arch, Availability, CapacityType, PriceBasis, Tenancy
from providers.vast import Vast
from tests.e2e.fake_providers import RUNPOD_CENTERS_PATH, RUNPOD_GPUS_PATH, Answer, serve_fake_providers
from tests.e2e.loopback_cases import KINDS, adapter_of, read, recorded, serve


@pytest.fixture
def fakes():
    with serve_fake_providers() as running:
        yield running


@pytest.fixture(scope="module")
def http():
    with make_client() as client:
        yield client


def test_all_shapes_of_lambda_as_recorded_in_august_2026(fakes, http, shared_data):
    shapes = recorded(shared_data, "lambda/instance_types_recorded_2026-08-20.json")
    envelope = {"data": {name: {**shape, "regions_with_capacity_available": []} for name, shape in shapes.items()}}
    serve(fakes, "lambda", Answer(body=envelope))
    batch = read(adapter_of("lambda", fakes), http)
    assert len(batch.offers) == len(shapes) == 22
    assert batch.rejected == ()
    by_type = {o.instance_type: o for o in batch.offers}
    assert (by_type["gpu_8x_a100"].gpu, by_type["gpu_8x_a100"].usd_per_hour) == ("A100-SXM4-40GB", Decimal("15.92"))
    assert (by_type["gpu_1x_a100"].gpu, by_type["gpu_1x_a100"].usd_per_hour) == ("A100-PCIe-40GB", Decimal("1.99"))
    assert (by_type["gpu_1x_rtx6000"].gpu, by_type["gpu_1x_rtx6000"].usd_per_hour) == ("Quadro RTX 6000", Decimal("0.69"))
    assert (by_type["gpu_8x_b200_sxm6"].gpu, by_type["gpu_8x_b200_sxm6"].usd_per_gpu_hour) == ("B200", Decimal("6.69"))
    assert by_type["gpu_1x_gh200"].arch is Arch.ARM64
    assert {o.availability for o in batch.offers} == {Availability.UNAVAILABLE}


def test_lambdas_regions_without_any_description(fakes, http, shared_data):
    serve(fakes, "lambda", Answer(body=recorded(shared_data, "lambda/instance_types_regions_2026-08-15.json")))
    batch = read(adapter_of("lambda", fakes), http)
    found = sorted((o.instance_type, o.region or "", o.country or "", o.gpu) for o in batch.offers)
    assert found == [
        ("gpu_1x_a100_sxm4", "us-east-1", "US", "A100-SXM4-40GB"),
        ("gpu_1x_a100_sxm4", "us-west-2", "US", "A100-SXM4-40GB"),
        ("gpu_1x_gh200", "us-east-3", "US", "GH200-96GB"),
        ("gpu_1x_h100_sxm5", "", "", "H100-SXM"),
        ("gpu_8x_a100_80gb_sxm4", "us-east-1", "US", "A100-SXM4-80GB"),
    ]


def test_lambdas_specification_example_names_no_card_of_the_table(fakes, http, shared_data):
    serve(fakes, "lambda", Answer(body=recorded(shared_data, "lambda/instance_types_openapi_example.json")))
    batch = read(adapter_of("lambda", fakes), http)
    assert batch.offers == ()
    assert [r.reason for r in batch.rejected] == [UNKNOWN_GPU]


def test_runpods_specification_examples_over_rest(fakes, http, shared_data):
    fakes.answers[RUNPOD_CENTERS_PATH] = Answer(
        body=recorded(shared_data, "runpod/rest_v2_catalog_datacenters_openapi_example.json")
    )
    fakes.answers[RUNPOD_GPUS_PATH] = Answer(body=recorded(shared_data, "runpod/rest_v2_catalog_gpus_openapi_example.json"))
    batch = read(adapter_of("runpod-rest", fakes), http)
    secure = {o.gpu_count: o for o in batch.offers if o.tier == "secure"}
    community = {o.gpu_count: o for o in batch.offers if o.tier == "community"}
    # 0.44 and 0.31 for one RTX 4090: eight secure cost 3.52, four community 1.24
    assert {o.gpu for o in batch.offers} == {"RTX 4090"}
    assert (secure[8].usd_per_hour, community[4].usd_per_hour) == (Decimal("3.52"), Decimal("1.24"))
    assert (secure[1].region, secure[1].country) == ("US-KS-2", "US")
    assert secure[1].attestations == {"soc2_type2", "iso27001"}
    assert secure[1].availability is Availability.AVAILABLE


def runpod_graphql(recording):
    """The recorded answer once for the catalogue, and under each alias for the stock of one GPU."""
    types = recording["data"]["gpuTypes"]
    nothing = [{"id": row["id"], "lowestPrice": None} for row in types]

    def answer(request):
        asked = request.body["variables"]
        if not asked:
            return Answer(body=recording)
        return Answer(body={"data": {alias: types if one["gpuCount"] == 1 else nothing for alias, one in asked.items()}})

    return answer


def test_runpods_recorded_cards_and_data_centres_over_graphql(fakes, http, shared_data):
    serve(fakes, "runpod-graphql", runpod_graphql(recorded(shared_data, "runpod/graphql_gpu_types_datacenters_2026-08-15.json")))
    batch = read(adapter_of("runpod-graphql", fakes), http)
    assert {(o.gpu, o.gpu_count, str(o.usd_per_hour), o.availability) for o in batch.offers} == {
        ("A100-PCIe-80GB", 1, "1.19", Availability.LIMITED),
        ("A100-SXM4-80GB", 1, "1.39", Availability.AVAILABLE),
        ("L4", 1, "0.43", Availability.AVAILABLE),
    }
    assert {(o.region, o.country) for o in batch.offers} == {("AP-IN-1", "IN"), ("EUR-IS-1", "IS"), ("US-MO-1", "US")}
    # two nulls, a price without stock (H100 SXM), stock without a price (H100 NVL): not to be had, and no list price
    no_price = {r.row for r in batch.rejected if r.reason == NO_PRICE and r.row.startswith("secure")}
    assert no_price == {"secure NVIDIA H100 PCIe", "secure NVIDIA H100 80GB HBM3", "secure NVIDIA H100 NVL"}


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("graphql_gpu_types_minimal_docs.json", {NO_PRICE}),
        ("graphql_gpu_type_rtx3090_docs.json", {NO_PRICE, OUT_OF_SCOPE}),
    ],
)
def test_runpods_documented_answers_without_a_price_are_counted(fakes, http, shared_data, name, reasons):
    recording = recorded(shared_data, f"runpod/{name}")
    recording["data"]["dataCenters"] = []
    serve(fakes, "runpod-graphql", runpod_graphql(recording))
    batch = read(adapter_of("runpod-graphql", fakes), http)
    assert batch.offers == ()
    assert {r.reason for r in batch.rejected} == reasons
    assert len(batch.rejected) == 2 * len(recording["data"]["gpuTypes"])


@pytest.mark.parametrize(
    ("word", "price", "availability"), [("high", "0.35", Availability.AVAILABLE), ("low", "0.24", Availability.LIMITED)]
)
def test_runpods_documented_stock_words(fakes, http, shared_data, word, price, availability):
    recording = recorded(shared_data, f"runpod/graphql_gpu_type_a4000_{word}_docs.json")
    recording["data"]["gpuTypes"][0]["memoryInGb"] = 16  # left out of the documented selection
    recording["data"]["dataCenters"] = [{"id": "EU-RO-1"}]
    serve(fakes, "runpod-graphql", runpod_graphql(recording))
    (offer,) = read(adapter_of("runpod-graphql", fakes), http).offers
    assert (offer.gpu, offer.usd_per_hour, offer.availability) == ("RTX A4000", Decimal(price), availability)


def test_vasts_recorded_offer(fakes, http, shared_data):
    serve(fakes, "vast", Answer(body=recorded(shared_data, "vast/search_offers_rtx4090_2024-07.json")))
    batch = read(adapter_of("vast", fakes), http)
    on_demand, spot, prepaid = batch.offers
    assert (prepaid.capacity_type, prepaid.usd_per_hour) == (CapacityType.RESERVED, Decimal("0.14799999999999999"))  # 40 % less
    assert prepaid.term_months == 5  # of 3,710 h
    assert (on_demand.gpu, on_demand.usd_per_hour, on_demand.tier) == ("RTX 4090", Decimal("0.24666666666666665"), "verified")
    assert (spot.usd_per_hour, spot.price_basis, spot.capacity_type) == (Decimal("0.2"), PriceBasis.BID_FLOOR, CapacityType.SPOT)
    assert (on_demand.tenancy, on_demand.country, on_demand.gpu_memory_gb) == (Tenancy.COMMUNITY_HOST, "CN", 24)
    # the vendor's own total for 5 GB: dph_total - dph_base = 0.0000093 an hour
    per_hour = 5 * on_demand.storage_usd_per_gb_month / 730
    assert float(per_hour) == pytest.approx(0.2466759259259259 - 0.24666666666666665, rel=1e-6)
    assert on_demand.host_lifetime_hours == 3696  # 13,356,528.6 s are 3710.1 h: 154 whole days


def test_vasts_recorded_doubtful_offers_are_refused_unless_allowed(fakes, http, shared_data):
    recording = recorded(shared_data, "vast/offers_rtx5090_2025-07-26.json")
    serve(fakes, "vast", Answer(body=recording))
    careful = read(adapter_of("vast", fakes), http)
    assert [r.reason for r in careful.rejected] == [OUT_OF_SCOPE, OUT_OF_SCOPE]
    bold = read(Vast(base_url=fakes.vast_url, include_unverified=True), http)
    # the same answer to both questions: each id twice. One bid equals the price, one is below it by the cut of a digit
    on_demand = [o for o in bold.offers if o.capacity_type is CapacityType.ON_DEMAND]
    assert {(o.gpu, o.tier, o.availability) for o in on_demand} == {("RTX 5090", "unverified", Availability.UNAVAILABLE)}
    assert [o.country for o in on_demand] == ["CA", "US"]  # one host and one address: it proves no residency


def test_a_server_that_never_gives_more_than_64_is_told(fakes, http):  # behaviour 10
    def page(request):
        assert request.body["limit"] == 10_000
        rows = [{**ROW, "id": n, "machine_id": n} for n in range(200)]
        return Answer(body={"offers": rows[:64]})

    serve(fakes, "vast", page)
    batch = read(adapter_of("vast", fakes), http)
    assert batch.truncated
    assert len(batch.offers) == 64


ROW = {"gpu_name": "RTX 4090", "gpu_ram": 24564, "num_gpus": 1, "dph_base": 0.4, "verification": "verified", "rentable": True}


def test_vast_numbers_that_no_json_has_refuse_their_rows_only(fakes, http):  # behaviour 25
    body = json.dumps({"offers": [{**ROW, "id": n, "machine_id": n} for n in range(4)]})
    prices = iter(["NaN", "1e999", "Infinity", "0.4"])
    while '"dph_base": 0.4,' in body:
        body = body.replace('"dph_base": 0.4,', f'"dph_base":{next(prices)},', 1)
    serve(fakes, "vast", Answer(body=body))
    batch = read(adapter_of("vast", fakes), http)
    assert [o.usd_per_hour for o in batch.offers] == [Decimal("0.4")]
    assert [r.reason for r in batch.rejected] == [NO_PRICE] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_fake_market_of_the_fixtures_gives_offers(fakes, http, kind):
    batch = read(adapter_of(kind, fakes), http)
    assert batch.offers
    assert all(offer.usd_per_hour > 0 for offer in batch.offers)
