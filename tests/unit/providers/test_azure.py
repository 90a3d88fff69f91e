"""Azure and Azure ML: which of many look-alike rows is a machine's price, and what the machine holds."""

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from providers.azure import Azure
from providers.azure.retail import API_VERSION, PATH
from providers.azure.shapes import shapes
from providers.azureml import AzureMl
from providers.errors import InvalidInput, ProviderPayloadInvalid
from providers.evidence import EVIDENCE, TenantIsolation
from providers.gpus import GPUS
from providers.http import make_client
from providers.offer import (
    DUPLICATE,
    MALFORMED,
    NO_GPU,
    NO_PRICE,
    OUT_OF_SCOPE,
    UNKNOWN_GPU,
    CapacityType,
    Fabric,
    Interconnect,
    PriceBasis,
)

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
ITEMS = json.loads((Path(__file__).parents[2] / "fixtures" / "azure" / "retail.json").read_text())["Items"]
T4 = ITEMS[0] | {"savingsPlan": []}


def parsed(*items, adapter=None):
    return (adapter or Azure()).parse({"items": list(items)}, NOW)


def prices(batch, size):
    return {
        (o.capacity_type, o.term_months, o.region): o.usd_per_hour for o in batch.offers if o.instance_type == f"Standard_{size}"
    }


def test_of_nine_rows_for_one_size_four_are_linux_prices_in_force():
    # the list in hand: on demand 0.526, spot 0.149174; not the Windows, low priority, test, older (2023) and later (2027) rows
    # one year 3504 / 8760 h = 0.40 (savings plan 0.41), three years 7884 / 26280 h = 0.30 (savings plan 0.26: cheaper)
    batch = parsed(*ITEMS)
    assert prices(batch, "NC4as_T4_v3") == {
        (CapacityType.ON_DEMAND, None, "eastus"): Decimal("0.526"),
        (CapacityType.SPOT, None, "eastus"): Decimal("0.149174"),
        (CapacityType.RESERVED, 12, "eastus"): Decimal("0.4"),
        (CapacityType.RESERVED, 36, "eastus"): Decimal("0.26"),
    }
    by_term = {o.term_months: o.notes for o in batch.offers if o.term_months}
    assert by_term[12][-2:] == ("reservation", "savings plan of the same length: 0.410000 USD per hour")
    assert by_term[36][-2:] == ("savings plan", "reservation of the same length: 0.300000 USD per hour")


def test_every_row_is_an_offer_or_counted():
    batch = parsed(*ITEMS)
    assert Counter(r.reason for r in batch.rejected) == {OUT_OF_SCOPE: 8, NO_GPU: 1, UNKNOWN_GPU: 1}
    # 22 rows, 10 of them refused; the other 12 give 12 offers, two of which took a savings plan along
    assert len(batch.offers) == 12
    assert batch.row_count == 22


def test_a_share_of_a_card_is_priced_per_whole_card():
    (offer,) = parsed(next(i for i in ITEMS if i["armSkuName"] == "Standard_NV6ads_A10_v5")).offers
    assert (offer.gpu, offer.gpu_memory_gb, offer.interconnect) == ("A10", 4, Interconnect.NONE)
    assert offer.gpu_count == pytest.approx(1 / 6)
    assert float(offer.usd_per_gpu_hour) == pytest.approx(0.454 * 6)


def test_h100_of_the_nc_series_is_the_94_gb_card_and_a_confidential_one_a_tier_of_its_own():
    plain, confidential = (
        next(o for o in parsed(*ITEMS).offers if o.instance_type == f"Standard_{size}")
        for size in ("NC40ads_H100_v5", "NCC40ads_H100_v5")
    )
    assert (plain.gpu, plain.gpu_memory_gb, plain.tier, plain.usd_per_hour) == ("H100-NVL", 94, "vm", Decimal("6.98"))
    assert (confidential.gpu, confidential.tier) == ("H100-NVL", "confidential-vm")
    assert EVIDENCE.tier("azure", confidential.tier).isolation is TenantIsolation.CONFIDENTIAL_VM


def test_eight_h100_on_infiniband():
    offer = next(o for o in parsed(*ITEMS).offers if o.instance_type == "Standard_ND96isr_H100_v5")
    assert (offer.gpu, offer.gpu_count, offer.fabric, offer.interconnect) == (
        "H100-SXM",
        8,
        Fabric.INFINIBAND,
        Interconnect.NVLINK,
    )
    assert (offer.usd_per_gpu_hour, offer.country) == (Decimal("12.29"), "US")


def test_azure_ml_has_the_same_prices_and_low_priority_as_its_spot():
    vm, ml = parsed(*ITEMS), parsed(*ITEMS, adapter=AzureMl())
    assert prices(ml, "NC4as_T4_v3")[CapacityType.SPOT, None, "eastus"] == Decimal("0.105")
    for one in ml.offers:
        if one.capacity_type is not CapacityType.SPOT:
            assert prices(vm, one.instance_type.removeprefix("Standard_"))[one.capacity_type, one.term_months, one.region] == (
                one.usd_per_hour
            )
    assert {o.tier for o in ml.offers} == {"azureml"}
    assert not any("NCC" in o.instance_type for o in ml.offers)
    assert all(any("no surcharge" in note for note in o.notes) for o in ml.offers)


@pytest.mark.parametrize("adapter", [Azure(), AzureMl()])
def test_spot_prices_are_the_markets_and_others_are_listed(adapter):
    for offer in parsed(*ITEMS, adapter=adapter).offers:
        assert (offer.price_basis is PriceBasis.SPOT) == (offer.capacity_type is CapacityType.SPOT)
        assert EVIDENCE.tier(offer.provider, offer.tier) is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"productName": "Virtual Machines NCasT4 v3 Series Windows"}, OUT_OF_SCOPE),
        ({"productName": "NCCadsv5 Srs Win"}, OUT_OF_SCOPE),
        ({"productName": "NCasT4 v3 Series Dedicated Host"}, OUT_OF_SCOPE),
        ({"productName": "NCasT4 v3 Series Cloud Services"}, OUT_OF_SCOPE),
        ({"skuName": "NC4as T4 v3 Expired"}, OUT_OF_SCOPE),
        ({"meterName": "NC4as T4 v3 Low Priority"}, OUT_OF_SCOPE),
        ({"type": "DevTestConsumption"}, OUT_OF_SCOPE),
        ({"serviceName": "Azure Kubernetes Service"}, OUT_OF_SCOPE),
        ({"tierMinimumUnits": 100}, OUT_OF_SCOPE),
        ({"effectiveStartDate": "2026-09-01T12:00:01Z"}, OUT_OF_SCOPE),
        ({"effectiveEndDate": "2026-09-01T12:00:00Z"}, OUT_OF_SCOPE),
        ({"armSkuName": ""}, OUT_OF_SCOPE),
        ({"armRegionName": ""}, OUT_OF_SCOPE),
        ({"armSkuName": "Standard_NP10s"}, NO_GPU),
        ({"armSkuName": "Standard_NC4as_T9_v9"}, UNKNOWN_GPU),
        ({"unitOfMeasure": "1/Month"}, MALFORMED),
        ({"currencyCode": "EUR"}, NO_PRICE),
        ({"retailPrice": 0}, NO_PRICE),
        ({"retailPrice": None}, NO_PRICE),
        ({"retailPrice": float("nan")}, NO_PRICE),
        ({"retailPrice": -0.5}, NO_PRICE),
        ({"type": "Reservation", "reservationTerm": "5 Years"}, MALFORMED),
        ({"type": "Reservation"}, MALFORMED),
        ({"effectiveStartDate": "soon"}, MALFORMED),
    ],
    ids=str,
)
def test_a_row_that_is_no_price_of_a_linux_machine_is_counted(change, reason):
    batch = parsed(T4 | change)
    assert batch.offers == ()
    assert [r.reason for r in batch.rejected] == [reason]


def test_names_of_linux_products_that_end_in_linux_are_taken():
    assert len(parsed(T4 | {"productName": "Virtual Machines NDamsr A100 v4 Series Linux"}).offers) == 1


@pytest.mark.parametrize("is_primary", [True, False])
def test_the_primary_meter_region_says_nothing(is_primary):
    assert len(parsed(T4 | {"isPrimaryMeterRegion": is_primary}).offers) == 1


def test_the_newest_row_counts_even_where_its_price_cannot_be_read():
    old, new = T4 | {"effectiveStartDate": "2024-01-01T00:00:00Z"}, T4 | {"retailPrice": 0}
    for order in ((old, new), (new, old)):
        batch = parsed(*order)
        assert batch.offers == ()
        assert Counter(r.reason for r in batch.rejected) == {OUT_OF_SCOPE: 1, NO_PRICE: 1}


def test_of_two_rows_that_begin_on_one_day_the_dearer_counts():
    for order in ((T4, T4 | {"retailPrice": 0.6}), (T4 | {"retailPrice": 0.6}, T4)):
        batch = parsed(*order)
        assert [o.usd_per_hour for o in batch.offers] == [Decimal("0.6")]
        assert [r.reason for r in batch.rejected] == [DUPLICATE]


def test_a_savings_plan_without_a_price_leaves_the_machine():
    batch = parsed(T4 | {"savingsPlan": [{"term": "1 Year", "retailPrice": None}]})
    assert [o.usd_per_hour for o in batch.offers] == [Decimal("0.526")]
    assert [r.reason for r in batch.rejected] == [NO_PRICE]


def test_each_size_of_the_table_is_consistent():
    for shape in shapes().values():
        assert GPUS[shape.gpu.name] is shape.gpu
        assert shape.gpu_memory_gb == pytest.approx(shape.gpu.memory_gb * min(1, shape.gpu_count))
        assert shape.gpu_count in (1, 2, 4, 8) or 1 / shape.gpu_count in (2, 3, 6)
        assert EVIDENCE.tier("azure", shape.tier) is not None


def asked(adapter):
    seen = []

    def handle(request):
        seen.append(request.url)
        return httpx.Response(200, json={"BillingCurrency": "USD", "Items": [], "NextPageLink": None})

    with make_client(transport=httpx.MockTransport(handle)) as http:
        adapter.fetch(http)
    return seen


def test_it_asks_for_the_sizes_of_the_table_and_never_for_a_primary_region():
    seen = asked(Azure(regions=("eastus", "westeurope")))
    for url in seen:
        assert url.path == PATH
        assert dict(url.params).keys() == {"api-version", "currencyCode", "$filter"}
        assert url.params["api-version"] == API_VERSION
        assert url.params["$filter"].startswith("serviceName eq 'Virtual Machines' and (armSkuName eq 'Standard_N")
        assert url.params["$filter"].endswith(" and (armRegionName eq 'eastus' or armRegionName eq 'westeurope')")
        assert len(str(url)) < 2000
    named = "".join(url.params["$filter"] for url in seen)
    assert all(named.count(f"'{shape.size}'") == 1 for shape in shapes().values())
    assert "armRegionName" not in asked(AzureMl())[0].params["$filter"]


@pytest.mark.parametrize("region", ["East US", "eastus' or 1 eq 1", "", "EASTUS"])
@pytest.mark.parametrize("kind", [Azure, AzureMl])
def test_a_region_that_is_none_is_refused(kind, region):
    with pytest.raises(InvalidInput, match="regions"):
        kind(regions=(region,))


@pytest.mark.parametrize("payload", [None, {}, [], {"items": []}, {"items": {}}])
def test_no_list_is_no_catalogue(payload):
    with pytest.raises(ProviderPayloadInvalid):
        Azure().parse(payload, NOW)
