"""RAM asked in "GB" of hosts that report MB: both readings of the unit count, and unknown RAM meets nothing."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from providers.units import meets_memory_gb
from providers.vast import Vast
from tests.e2e.fake_providers import fixture

ROW = fixture("vast/bundles.json")["offers"][0]


def memory_gib(cpu_ram):
    batch = Vast().parse({"answers": [{"offers": [{**ROW, "cpu_ram": cpu_ram}]}]}, datetime(2026, 9, 1, tzinfo=UTC))
    return batch.offers[0].memory_gib


def test_ram_units():  # behaviour 11
    reported = [15872, 16000, 16384, 32768, 66048]
    sizes = {mb: memory_gib(mb) for mb in reported}
    assert sizes[15872] == 15.5
    assert sizes[16000] == 15.625
    assert [mb for mb in reported if meets_memory_gb(sizes[mb], at_least_gb=16)] == [16000, 16384, 32768, 66048]
    assert [mb for mb in reported if meets_memory_gb(sizes[mb], at_least_gb=16, at_most_gb=32)] == [16000, 16384, 32768]


def test_unknown_ram_meets_no_bound():
    assert not meets_memory_gb(None, at_least_gb=1)
    assert not meets_memory_gb(None, at_most_gb=1000)
    assert meets_memory_gb(None)


@given(gb=st.integers(1, 4096), as_mb=st.sampled_from([1000, 1024]))
def test_a_machine_sold_as_so_many_gb_meets_exactly_that_as_both_bounds(gb, as_mb):
    size = gb * as_mb / 1024
    assert meets_memory_gb(size, at_least_gb=gb, at_most_gb=gb)
    assert not meets_memory_gb(size, at_least_gb=gb * 1.03)
    assert not meets_memory_gb(size, at_most_gb=gb * 0.97)
