"""Azure's recorded pages through the real client: counts and prices worked by hand from the files, paging, and refusals.

The recordings hold no GPU size. As they are they must give no offer and a reason for each row; with the name of their size
changed to a GPU size (said at each test; no price, word or date is touched) their prices must come out to the digit.
"""

from collections import Counter
from datetime import UTC, datetime

import pytest
import stamina

from providers.azure import Azure
from providers.azure.retail import is_same_place
from providers.azureml import AzureMl
from providers.errors import ProviderPayloadInvalid
from providers.http import make_client
from providers.offer import NO_GPU, OUT_OF_SCOPE, CapacityType
from tests.e2e.fake_hyperscalers import AZURE_PATH
from tests.e2e.fake_providers import Answer, serve_fake_providers
from tests.e2e.loopback_cases import NOW, recorded, refused

GPU_SIZE = "Standard_NC24ads_A100_v4"
CONSUMPTION = "azure/retail_vm_consumption_d2s_v3_eastus.json"
PREVIEW = "azure/retail_vm_preview_with_savings_plan_d2s_v3_eastus.json"
PRIMARY = "azure/retail_vm_meter_region_primary_d2s_v3_eastus.json"
RESERVATIONS = "azure/retail_reservation_page_excerpt.json"
EMPTY = {"BillingCurrency": "USD", "Items": [], "NextPageLink": None, "Count": 0}


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


def once(body):
    """The body for the first question, an empty page for the others."""
    bodies = iter([body])
    return lambda request: Answer(body=next(bodies, EMPTY))


def renamed(page, size):
    return page | {"Items": [row | {"armSkuName": GPU_SIZE} if row["armSkuName"] == size else row for row in page["Items"]]}


def read(fakes, http, page, *, kind=Azure, now=NOW):
    fakes.answers[AZURE_PATH] = once(page)
    adapter = kind(base_url=fakes.url)
    return adapter.parse(adapter.fetch(http), now)


def priced(batch):
    return {(o.capacity_type.value, o.term_months): str(o.usd_per_hour) for o in batch.offers}


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        (CONSUMPTION, {OUT_OF_SCOPE: 3, NO_GPU: 3}),  # 3 Windows; on demand, spot and low priority of a CPU size
        (PREVIEW, {OUT_OF_SCOPE: 6, NO_GPU: 3}),  # 3 Windows, 3 development and test copies
        (PRIMARY, {OUT_OF_SCOPE: 1, NO_GPU: 1}),  # the ordinary rows are not in it at all
        (RESERVATIONS, {OUT_OF_SCOPE: 5, NO_GPU: 4}),  # MySQL, 2 of a later month, 2 dedicated hosts; 4 CPU reservations
    ],
)
def test_recorded_rows_of_cpu_sizes_are_each_refused_for_a_reason(fakes, http, shared_data, name, reasons):
    batch = read(fakes, http, recorded(shared_data, name))
    assert batch.offers == ()
    assert Counter(r.reason for r in batch.rejected) == reasons


def test_recorded_prices_of_one_size(fakes, http, shared_data):  # D2s v3 renamed to a GPU size
    page = renamed(recorded(shared_data, CONSUMPTION), "Standard_D2s_v3")
    assert priced(read(fakes, http, page)) == {("on_demand", None): "0.096", ("spot", None): "0.018816"}
    assert priced(read(fakes, http, page, kind=AzureMl)) == {("on_demand", None): "0.096", ("spot", None): "0.019"}


def test_recorded_savings_plans_stand_at_their_own_price_beside_on_demand(fakes, http, shared_data):  # renamed likewise
    batch = read(fakes, http, renamed(recorded(shared_data, PREVIEW), "Standard_D2s_v3"))
    assert priced(batch) == {
        ("on_demand", None): "0.096",
        ("spot", None): "0.018816",
        ("reserved", 12): "0.06624",
        ("reserved", 36): "0.04512",
    }


def test_the_recorded_answer_for_primary_regions_shows_why_it_is_never_asked(fakes, http, shared_data):  # renamed likewise
    batch = read(fakes, http, renamed(recorded(shared_data, PRIMARY), "Standard_D2s_v3"))
    assert priced(batch) == {("spot", None): "0.018816"}


def test_recorded_reservations_are_for_the_whole_term(fakes, http, shared_data):  # D64ds v5 renamed to a GPU size
    batch = read(fakes, http, renamed(recorded(shared_data, RESERVATIONS), "Standard_D64ds_v5"))
    # 18689 / 8760 h = 2.1334475 and 36111 / 26280 h = 1.3740868
    assert {o.term_months: float(o.usd_per_hour) for o in batch.offers} == {
        12: pytest.approx(2.1334475, abs=1e-7),
        36: pytest.approx(1.3740868, abs=1e-7),
    }
    assert {o.capacity_type for o in batch.offers} == {CapacityType.RESERVED}
    assert {(o.region, o.country) for o in batch.offers} == {("westus2", "US")}


def test_a_recorded_price_of_a_later_month_counts_from_its_day_on(fakes, http, shared_data):  # L32ps v5 renamed
    page = renamed(recorded(shared_data, RESERVATIONS), "Standard_L32ps_v5")
    assert priced(read(fakes, http, page)) == {}
    later = read(fakes, http, page, now=datetime(2026, 10, 1, tzinfo=UTC))
    assert {o.term_months: float(o.usd_per_hour) for o in later.offers} == {
        12: pytest.approx(21090 / 8760),
        36: pytest.approx(40750 / 26280),
    }


@pytest.mark.parametrize("status", [400, 200])
def test_the_recorded_refusal_of_a_filter(fakes, http, shared_data, status):
    fakes.answers[AZURE_PATH] = Answer(status, recorded(shared_data, "azure/error_invalid_filter_400.json"))
    assert type(refused(fakes, http, "azure")) is ProviderPayloadInvalid


def test_the_documented_size_list_of_azure_ml_is_no_price_list(fakes, http, shared_data):
    fakes.answers[AZURE_PATH] = Answer(body=recorded(shared_data, "azure/azureml_vm_sizes_spec_example.json"))
    assert type(refused(fakes, http, "azureml")) is ProviderPayloadInvalid


def test_all_pages_of_all_questions_are_read(fakes, http):
    adapter = Azure(base_url=fakes.url)
    batch = adapter.parse(adapter.fetch(http), NOW)
    assert len(batch.offers) == 12  # as in the unit tests of the same fixture
    pages = [request for request in fakes.seen if "$skip" in request.query]
    assert pages
    assert all(request.query["$filter"] for request in fakes.seen)


def test_a_next_page_with_the_default_port_written_out_is_the_same_place():
    assert is_same_place(
        "https://prices.azure.com:443/api/retail/prices?$skip=1000", "https://prices.azure.com/api/retail/prices"
    )


@pytest.mark.parametrize(
    "link",
    [
        "{elsewhere}/api/retail/prices?$skip=1000",
        "{here}/other/path?$skip=1000",
        "{user}/api/retail/prices?$skip=1000",
        "/api/retail/prices?$skip=1000",
        "http://[",
        7,
        ["{here}/api/retail/prices"],
    ],
)
def test_a_next_page_elsewhere_is_refused_and_not_asked(fakes, http, link):
    with serve_fake_providers() as elsewhere:
        if isinstance(link, str):
            user = fakes.url.replace("http://", "http://user:word@")
            link = link.format(elsewhere=elsewhere.url, here=fakes.url, user=user)
        fakes.answers[AZURE_PATH] = Answer(body=EMPTY | {"NextPageLink": link})
        assert type(refused(fakes, http, "azure")) is ProviderPayloadInvalid
        assert elsewhere.seen == []
        assert len(fakes.seen) == 1


def test_pages_that_lead_in_a_circle_end(fakes, http):
    fakes.answers[AZURE_PATH] = Answer(body=EMPTY | {"NextPageLink": f"{fakes.url}{AZURE_PATH}?$skip=1"})
    assert type(refused(fakes, http, "azure")) is ProviderPayloadInvalid
    assert len(fakes.seen) == 2


def test_another_currency_is_refused_whole(fakes, http):
    fakes.answers[AZURE_PATH] = Answer(body=EMPTY | {"BillingCurrency": "EUR"})
    assert type(refused(fakes, http, "azure")) is ProviderPayloadInvalid
