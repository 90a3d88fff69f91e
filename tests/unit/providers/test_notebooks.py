"""Colab and Kaggle: the shipped tables as offers, and rows of a table that are refused."""

from datetime import UTC, date, datetime
from decimal import Decimal

import httpx
import pytest

from providers.colab import Colab
from providers.errors import ProviderPayloadInvalid
from providers.kaggle import Kaggle
from providers.notebooks import COLUMNS, MANUAL, read_notebooks
from providers.offer import CapacityType, PriceBasis

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)


def shipped(adapter):
    with httpx.Client(transport=httpx.MockTransport(lambda request: pytest.fail("no network is needed"))) as http:
        return adapter.parse(adapter.fetch(http), NOW)


def table(**cells):
    row = {"tier": "pro", "gpu": "T4", "gpu_memory_gb": "16", "gpu_count": "1", "capacity_type": "on_demand",
           "units_per_hour": "2", "as_of": "2026-09-01", "source": "a page", **cells}  # fmt: skip
    return ",".join(COLUMNS) + "\n" + ",".join(row.get(name, "") for name in COLUMNS) + "\n"


def read(text):
    return read_notebooks("colab", text, usd_per_unit=Decimal("0.10"), notes=(), observed_at=NOW)


def test_a_paid_hour_costs_its_units_at_ten_cents():
    prices = {(one.tier, one.gpu): one.usd_per_hour for one in shipped(Colab()).offers}
    # 1.07, 1.7, 11.77 and 8.9 units an hour at 0.10 USD
    assert prices == {
        ("free", "T4"): Decimal(0),
        ("pro", "T4"): Decimal("0.107"),
        ("pro", "L4"): Decimal("0.17"),
        ("pro", "A100-SXM4-40GB"): Decimal("1.177"),
        ("pro", "RTX PRO 6000 Blackwell Server"): Decimal("0.89"),
    }


def test_a_card_without_a_dated_rate_is_counted_and_not_offered():
    (refused,) = shipped(Colab()).rejected
    assert (refused.reason, refused.row) == ("no_price", "line 7")  # H100


@pytest.mark.parametrize("adapter", [Colab(), Kaggle()])
def test_every_row_is_dated_sourced_manual_and_limited(adapter):
    for one in shipped(adapter).offers:
        assert one.is_dated
        assert one.as_of is not None
        assert one.as_of >= date(2024, 4, 1)
        assert one.source
        assert MANUAL in one.notes
        assert one.session_limit_hours is not None
        assert (one.usd_per_hour == 0) == (one.capacity_type is CapacityType.FREE_TIER)
        assert one.price_basis is (PriceBasis.LIST if one.usd_per_hour == 0 else PriceBasis.ESTIMATE)


def test_kaggle_is_free_two_t4_or_one_p100_for_thirty_hours_a_week():
    found = {one.gpu: (one.gpu_count, one.session_limit_hours, one.weekly_quota_hours) for one in shipped(Kaggle()).offers}
    assert found == {"T4": (2, 9, 30), "P100-PCIe-16GB": (1, 9, 30)}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"units_per_hour": ""}, "no_price"),
        ({"units_per_hour": "0"}, "malformed"),
        ({"units_per_hour": "1e9"}, "malformed"),
        ({"capacity_type": "free_tier"}, "malformed"),  # and yet it uses units
        ({"capacity_type": "spot"}, "malformed"),
        ({"gpu_count": "0.5"}, "malformed"),
        ({"as_of": ""}, "malformed"),
        ({"as_of": "2026-10-02"}, "malformed"),  # tomorrow
        ({"source": ""}, "malformed"),
        ({"gpu": "Warp 9"}, "unknown_gpu"),
        ({"session_limit_hours": "0"}, "malformed"),
    ],
)
def test_a_row_that_cannot_be_true_is_refused(cells, reason):
    batch = read(table(**cells))
    assert not batch.offers
    assert [one.reason for one in batch.rejected] == [reason]


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", ",".join(COLUMNS), None, '"'])
def test_what_is_no_table_is_refused_whole(text):
    with pytest.raises(ProviderPayloadInvalid):
        read(text)
