"""Dated price tables: what becomes an offer, what is refused and where."""

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.errors import ProviderPayloadInvalid
from providers.offer import (
    DUPLICATE,
    EXPIRED,
    MALFORMED,
    NO_PRICE,
    UNKNOWN_GPU,
    Arch,
    CapacityType,
    Interconnect,
    PriceBasis,
    Tenancy,
)
from providers.price_list import read_price_list

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
HEADER = "provider,gpu,gpu_memory_gb,gpu_count,region,on_demand_usd_per_hour,spot_usd_per_hour,as_of,source"


def table(*rows, header=HEADER):
    return read_price_list(
        "\n".join([header, *rows]) + "\n", feed="price_file", price_basis=PriceBasis.NEGOTIATED, observed_at=NOW
    )


def only(row, header=HEADER):
    found = table(row, header=header)
    assert not found.rejected
    (offer,) = found.current
    return offer


def refusal(row, header=HEADER):
    found = table(row, header=header)
    assert not found.current
    (rejected,) = found.rejected
    return rejected


def test_a_row_with_both_prices_is_two_offers():
    found = table("aws,H100 SXM,80,8,us-east-1,40.00,21.5,2026-09-01,our contract")
    listed, spot = found.current
    assert (listed.capacity_type, listed.usd_per_hour) == (CapacityType.ON_DEMAND, Decimal("40.00"))
    assert (spot.capacity_type, spot.usd_per_hour) == (CapacityType.SPOT, Decimal("21.5"))
    for offer in found.current:
        assert (offer.provider, offer.feed, offer.tier, offer.tenancy) == ("aws", "price_file", "ec2", Tenancy.HYPERSCALER)
        assert (offer.gpu, offer.gpu_count, offer.gpu_memory_gb, offer.form_factor) == ("H100-SXM", 8, 80, "SXM5")
        assert (offer.region, offer.country, offer.as_of, offer.is_dated) == ("us-east-1", "US", date(2026, 9, 1), True)
        assert (offer.price_basis, offer.source, offer.observed_at) == (PriceBasis.NEGOTIATED, "our contract", NOW)
    assert found.row_count == 1


def test_optional_columns_are_read():
    header = (
        HEADER + ",instance_type,country,tenancy,tier,vcpus,memory_gib,disk_gib,interconnect,arch,capacity_type,"
        "term_months,upfront_usd,valid_until,as_of_note"
    )
    offer = only(
        "Acme,A100 SXM4,80,8,dc1,12.5,,2026-09-01,quote 7,big,de,provider_datacenter,gold,96,1152,100,nvlink,x86_64,reserved,"
        "12,1000.50,2026-12-31,signed",
        header,
    )
    assert (offer.instance_type, offer.country, offer.tier, offer.provider) == ("big", "DE", "gold", "Acme")
    assert (offer.vcpus, offer.memory_gib, offer.interconnect, offer.arch) == (96, 1152, Interconnect.NVLINK, Arch.X86_64)
    assert offer.disk_included_gb == pytest.approx(107.3741824)  # 100 x 2^30 / 10^9
    assert (offer.capacity_type, offer.term_months, offer.upfront_usd) == (CapacityType.RESERVED, 12, Decimal("1000.50"))
    assert offer.valid_until == date(2026, 12, 31)
    assert offer.notes == ("as of signed",)


def test_the_machine_type_settles_the_form():
    header = HEADER + ",instance_type"
    assert only("aws,A100,40,8,us-east-1,21.96,,2026-09-01,s,p4d.24xlarge", header).gpu == "A100-SXM4-40GB"
    assert only("sagemaker,H100,80,8,us-east-1,63,,2026-09-01,s,ml.p5.48xlarge", header).gpu == "H100-SXM"
    assert only("azure,A100,80,1,eastus,3.67,,2026-09-01,s,NC24ads_A100_v4", header).gpu == "A100-PCIe-80GB"
    assert only("azure,A100,80,8,eastus,32,,2026-09-01,s,Standard_ND96amsr_A100_v4", header).gpu == "A100-SXM4-80GB"
    assert only("lambda,A100,40,8,us-east-1,15.92,,2026-09-01,s,gpu_8x_a100", header).gpu == "A100-SXM4-40GB"
    assert only("lambda,A100,40,4,us-east-1,7.96,,2026-09-01,s,gpu_4x_a100", header).gpu == "A100-PCIe-40GB"
    assert only("nebius,H100,80,8,eu-north1,23.6,,2026-09-01,s,gpu-h100-sxm_8gpu", header).gpu == "H100-SXM"
    unsettled = only("acme,H100,80,8,x,23.6,,2026-09-01,s,box", header)
    assert (unsettled.gpu, unsettled.form_factor) == ("H100-PCIe", "unknown")


def test_a_fraction_of_a_card():
    assert only("acme,L4,3,0.125,x,0.2024,,2026-09-01,s").gpu_memory_gb == 3
    offer = only("acme,L4,,0.5,x,0.4,,2026-09-01,s")
    assert (offer.gpu_memory_gb, offer.usd_per_gpu_hour) == (12, Decimal("0.8"))


def test_the_newest_row_is_current_and_the_older_ones_history():
    found = table(
        "acme,L4,24,1,x,0.90,,2026-01-01,old",
        "acme,L4,24,1,x,0.80,,2026-08-01,new",
        "acme,L4,24,1,x,0.95,,,undated",
        "acme,L4,24,1,y,0.70,,,another place",
    )
    assert [(offer.source, offer.as_of) for offer in found.current] == [("new", date(2026, 8, 1)), ("another place", None)]
    assert [offer.source for offer in found.history] == ["old", "undated"]
    assert not found.rejected


def test_a_second_price_of_the_same_day_is_counted():
    found = table("acme,L4,24,1,x,0.90,,2026-01-01,a", "acme,L4,24,1,x,0.80,,2026-01-01,b")
    assert [offer.source for offer in found.current] == ["a"]
    assert [(one.reason, one.row) for one in found.rejected] == [(DUPLICATE, "line 3")]


def test_region_any_satisfies_no_residency():
    header = HEADER + ",country"
    for region in ("any", "ANY"):
        offer = only(f"acme,L4,24,1,{region},0.90,,2026-01-01,s,DE", header)
        assert (offer.region, offer.country) == (None, None)
        assert "any region" in offer.notes[0]


@pytest.mark.parametrize("text", ["0", "0.00", "-1", "free", "nan", "inf", "1e999", "1,5"])
def test_a_bad_spot_price_refuses_only_itself(text):
    found = table(f'vast,L4,24,1,US,0.90,"{text}",2026-01-01,s')
    assert [offer.capacity_type for offer in found.current] == [CapacityType.ON_DEMAND]
    (rejected,) = found.rejected
    assert (rejected.reason, rejected.row) == (NO_PRICE, "line 2")
    assert rejected.detail.startswith("column spot_usd_per_hour")
    assert text == "0" or text not in rejected.detail.removeprefix("column spot_usd_per_hour")


def test_spot_equal_to_on_demand():
    # RunPod's tables repeat the on-demand price as spot; elsewhere a spot price may truly stand at its cap
    assert [one.reason for one in table("runpod,L4,24,1,US,0.39,0.39,2026-01-01,s").rejected] == [NO_PRICE]
    listed, spot = table("aws,L4,24,1,us-east-1,0.80,0.80,2026-01-01,s").current
    assert spot.usd_per_hour == listed.usd_per_hour
    assert spot.notes == ("spot is listed at the on-demand price",)


def test_spot_dearer_than_on_demand_is_kept_as_listed():
    assert [offer.usd_per_hour for offer in table("gcp,H200,141,8,asia-south1,36.60,38.74,2026-01-01,s").current] == [
        Decimal("36.60"),
        Decimal("38.74"),
    ]


@pytest.mark.parametrize(
    ("row", "reason", "column"),
    [
        (",L4,24,1,x,0.9,,2026-01-01,s", MALFORMED, "provider"),
        ("acme,,24,1,x,0.9,,2026-01-01,s", MALFORMED, "gpu"),
        ("acme,L5,24,1,x,0.9,,2026-01-01,s", UNKNOWN_GPU, "gpu"),
        ("acme,L4,80,1,x,0.9,,2026-01-01,s", UNKNOWN_GPU, "gpu"),
        ("acme,A100,,1,x,0.9,,2026-01-01,s", UNKNOWN_GPU, "gpu"),
        ("acme,L4,24GB,1,x,0.9,,2026-01-01,s", MALFORMED, "gpu_memory_gb"),
        ("acme,L4,24,0,x,0.9,,2026-01-01,s", MALFORMED, "gpu_count"),
        ("acme,L4,24,1.5,x,0.9,,2026-01-01,s", MALFORMED, "gpu_count"),
        ("acme,L4,24,,x,0.9,,2026-01-01,s", MALFORMED, "gpu_count"),
        ("acme,L4,24,nan,x,0.9,,2026-01-01,s", MALFORMED, "gpu_count"),
        ("acme,L4,24,1,x,0.9,,01.02.2026,s", MALFORMED, "as_of"),
        ("acme,L4,24,1,x,0.9,,20260101,s", MALFORMED, "as_of"),
        ("acme,L4,24,1,x,0.9,,2026-02-30,s", MALFORMED, "as_of"),
        ("acme,L4,24,1,x,0.9,,2062-01-01,s", MALFORMED, "as_of"),
        ("acme,L4,24,1,x,1000.01,,2026-01-01,s", NO_PRICE, "on_demand_usd_per_hour"),
        ("acme,L4,24,1,x,0,,2026-01-01,s", NO_PRICE, "on_demand_usd_per_hour"),
    ],
)
def test_a_bad_row_is_refused_with_its_line_and_column(row, reason, column):
    rejected = refusal(row)
    assert (rejected.reason, rejected.row) == (reason, "line 2")
    assert rejected.detail.startswith(f"column {column}:")


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("tenancy", "somebody", MALFORMED),
        ("tenancy", "on_prem", MALFORMED),
        ("country", "Germany", MALFORMED),
        ("country", "EU", MALFORMED),
        ("country", "XX", MALFORMED),
        ("capacity_type", "spot", MALFORMED),
        ("capacity_type", "reserved", MALFORMED),  # without a term
        ("valid_until", "2026-09-30", EXPIRED),
        ("vcpus", "-1", MALFORMED),
        ("upfront_usd", "1e30", MALFORMED),
        ("interconnect", "wires", MALFORMED),
        ("instance_type", "a\tb", MALFORMED),
        ("tier", "x" * 61, MALFORMED),
    ],
)
def test_a_bad_optional_cell_is_refused(column, cell, reason):
    rejected = refusal(f"acme,L4,24,1,x,0.9,,2026-01-01,s,{cell}", HEADER + f",{column}")
    assert rejected.reason == reason
    assert column in rejected.detail or column == "capacity_type"


def test_a_row_without_a_price_is_refused():
    assert refusal("acme,L4,24,1,x,,,2026-01-01,s").reason == NO_PRICE


def test_a_price_list_valid_to_the_day_counts():
    assert only("acme,L4,24,1,x,0.9,,2026-01-01,s,2026-10-01", HEADER + ",valid_until").valid_until == date(2026, 10, 1)


@pytest.mark.parametrize(
    ("provider", "tier", "tenancy"),
    [
        ("lambda", "", Tenancy.PROVIDER_DATACENTER),
        ("AWS", "", Tenancy.HYPERSCALER),
        ("runpod", "secure", Tenancy.PROVIDER_DATACENTER),
        ("runpod", "community", Tenancy.COMMUNITY_HOST),
        ("runpod", "", Tenancy.COMMUNITY_HOST),
        ("vast", "datacenter", Tenancy.PROVIDER_DATACENTER),
        ("vast", "verified", Tenancy.COMMUNITY_HOST),
        ("Acme Cloud", "", Tenancy.PROVIDER_DATACENTER),
    ],
)
def test_tenancy_follows_the_provider_when_it_is_not_stated(provider, tier, tenancy):
    offer = only(f"{provider},L4,24,1,x,0.9,,2026-01-01,s,{tier}", HEADER + ",tier")
    assert offer.tenancy is tenancy
    assert offer.provider in (provider, "aws")


def test_lines_are_counted_over_quoted_line_breaks_and_blank_lines():
    found = table('acme,L4,24,1,"a\nb",0.9,,2026-01-01,s', "", "acme,L5,24,1,x,0.9,,2026-01-01,s", "acme,L4,24,1,x,0.9")
    # header 1; the quoted row 2-3 (a control character in its region); blank 4; then 5 and 6
    assert [(one.row, one.reason) for one in found.rejected] == [
        ("line 2", MALFORMED),
        ("line 5", UNKNOWN_GPU),
        ("line 6", MALFORMED),
    ]
    assert found.rejected[2].detail == "6 cells under 9 columns"


def test_a_byte_order_mark_and_windows_line_ends_are_read():
    text = "\ufeff" + HEADER + "\r\nacme,L4,24,1,x,0.9,,2026-01-01,s\r\n"
    assert len(read_price_list(text, feed="f", price_basis=PriceBasis.LIST, observed_at=NOW).current) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        (HEADER.replace(",source", ""), "no column source"),
        (HEADER + ",spot_price", "spot_price.*nearest known one is spot_usd_per_hour"),
        (HEADER + ",<script>", r"\?script\?"),
        (HEADER + ",source", "source stands twice"),
        (HEADER.replace(",", ";"), "semicolons"),
        (HEADER + '\nacme,"L4,24', "open quote"),
        (HEADER.replace("usd_per_hour", "eur_per_hour"), "not known"),
    ],
)
def test_a_text_that_is_no_price_list_is_refused_whole(text, said):
    with pytest.raises(ProviderPayloadInvalid, match=said):
        read_price_list(text, feed="price_file", price_basis=PriceBasis.LIST, observed_at=NOW)


@given(st.lists(st.lists(st.text(max_size=8), min_size=9, max_size=9), max_size=5))
def test_any_cells_become_offers_or_counted_refusals(rows):
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    found = table(*quoted)
    assert found.row_count <= len(rows) * 9  # a quoted line break may end a row's text, never lose it
    assert len(found.current) + len(found.history) + len(found.rejected) >= found.row_count
    assert all(offer.usd_per_hour > 0 for offer in found.current)
    assert Counter(one.reason for one in found.rejected).total() == len(found.rejected)


@pytest.mark.parametrize(("cell", "least"), [("", 1), ("1", 1), ("2", 2), ("0", None), ("1.5", None), ("many", None)])
def test_a_cluster_says_by_how_many_machines_it_is_sold(cell, least):
    found = table(f"acme,L4,24,1,x,0.90,,2026-01-01,s,{cell}", header=HEADER + ",min_machines")
    assert [one.min_machines for one in found.current] == ([] if least is None else [least])
    assert [one.reason for one in found.rejected] == ([MALFORMED] if least is None else [])
