from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from providers.errors import InvalidInput
from providers.offer import CapacityType
from service.solver.columns import columns_of, pack, pack_offers, unpack


def full(offer):
    return offer(
        "L4",
        "0.2024",
        gpu_count=0.125,
        gpu_memory_gb=3.0,
        gpu_memory_reported_mib=2861.0,
        zone="us-east-1a",
        machine_id="m-1",
        capacity_type=CapacityType.SPOT,
        storage_usd_per_gb_month=Decimal("0.15"),
        egress_usd_per_gb=Decimal("0.09"),
        interruption_fraction_per_month=(0.05, 0.1),
        attestations=frozenset({"iso27001", "soc2"}),
        as_of=date(2026, 9, 1),
        is_dated=True,
        notes=("one", "two"),
        observed_at=datetime(2026, 9, 20, 12, 0, 0, 123456, tzinfo=UTC),
    )


def test_an_offer_comes_back_exactly_as_it_went_in(offer):
    offers = [offer(), full(offer), offer("T4", "0.0000015", region=None, country=None, instance_type=None)]
    columns = unpack(pack_offers(offers))
    assert [columns.offer(row) for row in range(2)] == offers[:2]
    assert columns.offer(2).usd_per_hour == Decimal("0.000002")  # storage is whole micro-dollars, half to even
    assert [columns.offer_id(row) for row in range(3)] == [one.offer_id for one in offers]


def test_packing_what_was_unpacked_gives_the_same_bytes(offer):
    blob = pack_offers([offer(), full(offer)])
    assert pack(unpack(blob)) == blob


def test_no_offers_pack_too(offer):
    assert unpack(pack_offers([])).rows == 0


def test_unpacked_columns_cannot_be_written_to(offer):
    for columns in (unpack(pack_offers([offer()])), columns_of([offer()])):
        with pytest.raises(ValueError, match="read-only"):
            columns.arrays["usd_per_hour"][0] = 1


@pytest.mark.parametrize("damage", [b"", b"nothing", b"cut", b"version"])
def test_a_damaged_blob_is_refused(offer, damage):
    blob = pack_offers([offer()])
    broken = {b"cut": blob[:-40], b"version": b"GPUC\x02" + blob[5:]}.get(damage, damage)
    with pytest.raises(InvalidInput):
        unpack(broken)
