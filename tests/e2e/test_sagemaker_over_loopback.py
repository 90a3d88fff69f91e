"""SageMaker through the real client from a server on loopback: the streamed file, the JSON file, and refusals."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
import stamina

from providers.errors import ProviderError, ProviderPayloadInvalid, ProviderRateLimited, ProviderUnavailable
from providers.http import make_client
from providers.offer import CapacityType
from providers.sagemaker import SageMaker
from tests.e2e.fake_providers import Answer, serve_fake_providers

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
INDEX = "/offers/v1.0/aws/AmazonSageMaker/current/region_index.json"
FILE = "/offers/v1.0/aws/AmazonSageMaker/1/us-east-1/index"
ADVISOR = "/spot-advisor-data.json"
HEADER = "SKU,TermType,EffectiveDate,StartingRange,Unit,PricePerUnit,Currency,Product Family,Instance Name,Component,Region Code"
ROWS = [
    "A,OnDemand,2026-07-01,0,Hrs,1.4084000000,USD,ML Instance,ml.g5.xlarge,Training,us-east-1",
    "B,OnDemand,2026-07-01,0,Hrs,1.4084000000,USD,ML Instance,ml.g5.xlarge,Hosting,us-east-1",
]
CSV = "\n".join(["FormatVersion,v1.0", HEADER, *ROWS]) + "\n"


def bulk_json(usd):
    price = {"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": usd}}
    term = {"sku": "A", "effectiveDate": "2026-07-01T00:00:00Z", "priceDimensions": {"A.T.R": price}}
    attributes = {"instanceName": "ml.g5.xlarge", "component": "Training", "regionCode": "us-east-1", "gpu": "1"}
    product = {"sku": "A", "productFamily": "ML Instance", "attributes": attributes}
    return {"offerCode": "AmazonSageMaker", "products": {"A": product}, "terms": {"OnDemand": {"A": {"A.T": term}}}}


@pytest.fixture
def fakes():
    stamina.set_testing(True, attempts=1)
    with serve_fake_providers() as server:
        server.answers[INDEX] = Answer(body={"regions": {"us-east-1": {"currentVersionUrl": f"{FILE}.json"}}})
        server.answers[f"{FILE}.csv"] = Answer(body=CSV, headers={"Content-Type": "text/csv"})
        server.answers[ADVISOR] = Answer(body={"spot_advisor": {"us-east-1": {"Linux": {"g5.xlarge": {"s": 40, "r": 1}}}}})
        yield server
    stamina.set_testing(False)


def read(fakes):
    adapter = SageMaker(regions=("us-east-1",), base_url=fakes.url, spot_advisor_url=fakes.url + ADVISOR)
    with make_client() as http:
        return adapter.parse(adapter.fetch(http), NOW)


def prices(batch):
    return {(one.tier, one.capacity_type.value): one.usd_per_hour for one in batch.offers}


def test_the_file_of_a_region_is_streamed(fakes):
    # managed spot: 1.4084 less 40 %: 0.84504
    assert prices(read(fakes)) == {
        ("training", "on_demand"): Decimal("1.4084"),
        ("hosting", "on_demand"): Decimal("1.4084"),
        ("training", "spot"): Decimal("0.84504"),
    }


def test_where_there_is_no_csv_the_json_file_is_read(fakes):
    fakes.answers[f"{FILE}.csv"] = Answer(404)
    fakes.answers[f"{FILE}.json"] = Answer(body=bulk_json("1.4084000000"))
    assert prices(read(fakes))["training", "on_demand"] == Decimal("1.4084")


@pytest.mark.parametrize(
    ("path", "answer", "error"),
    [
        (INDEX, Answer(503), ProviderUnavailable),
        (INDEX, Answer(429), ProviderRateLimited),
        (INDEX, Answer(body="<html>"), ProviderPayloadInvalid),
        (INDEX, Answer(body={"regions": {}}), ProviderPayloadInvalid),
        (INDEX, Answer(body={"regions": {"us-east-1": {"currentVersionUrl": "//evil.test/x"}}}), ProviderPayloadInvalid),
        (f"{FILE}.csv", Answer(503), ProviderUnavailable),
        (f"{FILE}.csv", Answer(body="SKU,Nothing\nA,B\n", headers={"Content-Type": "text/csv"}), ProviderPayloadInvalid),
    ],
)
def test_what_cannot_be_read_is_an_error_of_its_own(fakes, path, answer, error):
    fakes.answers[path] = answer
    with pytest.raises(error) as caught:
        read(fakes)
    assert isinstance(caught.value, ProviderError)
    assert caught.value.provider == "sagemaker"


@pytest.mark.parametrize("answer", [Answer(403), Answer(body="<html>"), Answer(body=[]), Answer(body={"spot_advisor": 3})])
def test_without_a_spot_advisor_only_managed_spot_is_missing(fakes, answer):
    fakes.answers[ADVISOR] = answer
    batch = read(fakes)
    assert {one.capacity_type for one in batch.offers} == {CapacityType.ON_DEMAND}
    assert any("cannot be estimated" in note for note in batch.notes)
