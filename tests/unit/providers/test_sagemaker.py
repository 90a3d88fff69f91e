"""SageMaker: the price list's rows as offers, managed spot as an estimate, and the public files and signed calls read."""

import csv
import io
import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from providers.errors import InvalidInput, ProviderNeedsKey, ProviderPayloadInvalid, ProviderUnavailable
from providers.offer import CapacityType, PriceBasis, Tenancy
from providers.sagemaker import SageMaker

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FOLDER = "/offers/v1.0/aws/AmazonSageMaker"
ADVISOR_URL = "https://advisor.test/spot-advisor-data.json"


@pytest.fixture
def payload():
    return json.loads((FIXTURES / "sagemaker_payload.json").read_text())


def offers(batch, **wanted):
    return [one for one in batch.offers if all(getattr(one, name) == value for name, value in wanted.items())]


def test_training_and_hosting_are_tiers_at_the_listed_price(payload):
    batch = SageMaker().parse(payload, NOW)
    listed = {(one.tier, one.instance_type): one.usd_per_hour for one in offers(batch, capacity_type=CapacityType.ON_DEMAND)}
    assert listed == {
        ("training", "ml.g5.xlarge"): Decimal("1.4084"),
        ("hosting", "ml.g5.xlarge"): Decimal("1.4084"),
        ("training", "ml.p4d.24xlarge"): Decimal("37.688"),
        ("hosting", "ml.p4d.24xlarge"): Decimal("37.688"),
        ("training", "ml.p5.48xlarge"): Decimal("113.068"),
        ("training", "ml.g4dn.xlarge"): Decimal("0.7364"),  # the newer of two rows
    }


def test_the_machine_under_it_is_that_of_ec2(payload):
    (p5,) = offers(SageMaker().parse(payload, NOW), instance_type="ml.p5.48xlarge", capacity_type=CapacityType.ON_DEMAND)
    assert (p5.gpu, p5.gpu_count, p5.gpu_memory_gb, p5.form_factor) == ("H100-SXM", 8, 80, "SXM5")
    assert (p5.tenancy, p5.region, p5.country, p5.scope) == (Tenancy.HYPERSCALER, "us-east-1", "US", "us-east-1")
    assert p5.fabric == "efa"


def test_managed_spot_is_an_estimate_that_says_so_and_only_for_training(payload):
    batch = SageMaker().parse(payload, NOW)
    spot = {one.instance_type: one for one in offers(batch, capacity_type=CapacityType.SPOT)}
    # p4d saves 67 %: 37.688 x 0.33 = 12.43704; p5 saves 52 %: 113.068 x 0.48 = 54.27264
    assert {name: one.usd_per_hour for name, one in spot.items()} == {
        "ml.p4d.24xlarge": Decimal("12.43704"),
        "ml.p5.48xlarge": Decimal("54.27264"),
    }
    one = spot["ml.p4d.24xlarge"]
    assert (one.tier, one.price_basis) == ("training", PriceBasis.ESTIMATE)
    assert one.interruption_fraction_per_month == (0.10, 0.15)
    assert "estimate" in one.notes[0]
    assert "67 %" in one.notes[0]
    assert "2 training machines have no known spot saving" in " ".join(batch.notes)  # g5 (0 %) and g4dn (a text)


def test_rows_that_are_no_such_price_are_counted_with_their_reason(payload):
    batch = SageMaker().parse(payload, NOW)
    assert Counter(one.reason for one in batch.rejected) == {
        "duplicate": 1,  # the older g4dn row
        "out_of_scope": 1,  # a notebook
        "not_on_demand": 1,  # a warm pool
        "no_gpu": 1,
        "unknown_gpu": 1,  # p9
        "no_price": 3,  # 0, no terms, yuan
        "malformed": 1,  # no JSON
    }


def test_a_dearer_warm_pool_never_stands_for_the_machine(payload):
    (p4d,) = offers(
        SageMaker().parse(payload, NOW), instance_type="ml.p4d.24xlarge", tier="training", capacity_type=CapacityType.ON_DEMAND
    )
    assert p4d.usd_per_hour == Decimal("37.688")


COLUMNS = ("SKU", "TermType", "EffectiveDate", "StartingRange", "Unit", "PricePerUnit", "Currency", "Product Family",
           "Instance Name", "Component", "Region Code", "usageType", "GPU")  # fmt: skip


def bulk_csv(*rows, columns=COLUMNS):
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    for line in (["FormatVersion", "v1.0"], ["Disclaimer", "made for a test"]):
        writer.writerow(line)
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def row(sku, name, component, usd, *, term="OnDemand", family="ML Instance", gpu="1", region="us-east-1"):
    day = "2026-07-01"
    return [sku, term, day, "0", "Hrs", usd, "USD", family, name, component, region, f"USE1-{component}:{name}", gpu]


ROWS = (
    row("A", "ml.g5.xlarge", "Training", "1.4084000000"),
    row("B", "ml.g5.xlarge", "Hosting", "1.4084000000"),
    row("C", "ml.g5.xlarge", "Processing", "1.4084000000"),
    row("D", "ml.g5.xlarge", "Training", "0.9000000000", term="Reserved"),
    row("E", "ml.m5.xlarge", "Training", "0.2300000000", gpu="0"),
    row("F", "storage", "Training", "0.1400000000", family="ML Storage"),
)
ADVISOR = {"spot_advisor": {"us-east-1": {"Linux": {"g5.xlarge": {"s": 40, "r": 1}}}}}


class Files:
    """The public price files of SageMaker and the Spot Advisor's; counts what is asked."""

    def __init__(self, text, *, advisor=(200, ADVISOR), version="20260720"):
        self.text, self.advisor, self.version, self.asked = text, advisor, version, Counter()

    def __call__(self, request):
        path = request.url.path
        self.asked[path] += 1
        if path == f"{FOLDER}/current/region_index.json":
            here = f"{FOLDER}/{self.version}/us-east-1/index.json"
            return httpx.Response(200, json={"regions": {"us-east-1": {"currentVersionUrl": here}}})
        if path.endswith(".csv") and self.text is not None:
            return httpx.Response(200, text=self.text, headers={"Content-Type": "text/csv"})
        if path == "/spot-advisor-data.json":
            return httpx.Response(self.advisor[0], json=self.advisor[1])
        return httpx.Response(404)


def read(files, **settings):
    adapter = SageMaker(regions=("us-east-1",), spot_advisor_url=ADVISOR_URL, **settings)
    with httpx.Client(transport=httpx.MockTransport(files)) as http:
        return adapter.parse(adapter.fetch(http), NOW)


def test_the_public_file_is_filtered_while_it_streams_and_read():
    batch = read(Files(bulk_csv(*ROWS)))
    found = {(one.tier, one.capacity_type.value): one.usd_per_hour for one in batch.offers}
    # managed spot: 1.4084 x 0.60 = 0.84504
    assert found == {
        ("training", "on_demand"): Decimal("1.4084"),
        ("hosting", "on_demand"): Decimal("1.4084"),
        ("training", "spot"): Decimal("0.84504"),
    }
    assert not batch.rejected
    assert "us-east-1: 4 rows of other products were passed over while reading" in batch.notes


def test_columns_named_like_the_attributes_are_read_as_well():
    columns = ["instanceName" if name == "Instance Name" else "component" if name == "Component" else name for name in COLUMNS]
    batch = read(Files(bulk_csv(*ROWS, columns=columns)))
    assert {one.tier for one in batch.offers} == {"training", "hosting"}


def test_without_the_spot_advisor_the_prices_stand_and_no_spot_is_made_up():
    batch = read(Files(bulk_csv(*ROWS), advisor=(404, {})))
    assert {one.capacity_type for one in batch.offers} == {CapacityType.ON_DEMAND}
    assert any("managed spot training cannot be estimated" in note for note in batch.notes)


def test_a_region_that_is_not_in_the_list_is_said():
    adapter = SageMaker(regions=("eu-west-1",), spot_advisor_url=ADVISOR_URL)
    with (
        httpx.Client(transport=httpx.MockTransport(Files(bulk_csv(*ROWS)))) as http,
        pytest.raises(ProviderUnavailable) as caught,
    ):
        adapter.fetch(http)
    assert "eu-west-1" in str(caught.value)


class Pricing:
    """A boto3 client that gives what the fixture holds, by component."""

    def __init__(self, listed):
        self.listed, self.asked = listed, []

    def get_products(self, **asked):
        filters = {one["Field"]: one["Value"] for one in asked["Filters"]}
        self.asked.append((asked["ServiceCode"], filters))
        return {"PriceList": [text for text in self.listed if f'"component":"{filters["component"]}"' in text], "NextToken": ""}

    def close(self):
        pass


def test_signed_calls_ask_for_training_and_hosting_of_ml_instances(payload):
    pricing = Pricing(payload["regions"]["us-east-1"]["listed"])
    batch = read(Files(None), make_client=lambda service, region: pricing)
    assert [filters["component"] for _, filters in pricing.asked] == ["Training", "Hosting"]
    assert {(service, filters["productFamily"], filters["regionCode"]) for service, filters in pricing.asked} == {
        ("AmazonSageMaker", "ML Instance", "us-east-1")
    }
    assert len(offers(batch, tier="training", capacity_type=CapacityType.ON_DEMAND)) == 4


def test_an_answer_without_products_is_refused_by_name():
    with pytest.raises(ProviderPayloadInvalid) as caught:
        read(Files(None), make_client=lambda service, region: Pricing([]))
    assert caught.value.provider == "sagemaker"


def test_half_a_pair_of_keys_and_an_odd_region_are_refused():
    with pytest.raises(ProviderNeedsKey, match="secret_access_key"):
        read(Files(None), access_key_id=SecretStr("AKIA"))
    with pytest.raises(InvalidInput):
        SageMaker(regions=("us east",))
