"""Scrubbing: what is replaced, what stays, and that equal values stay equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.flows.scrub import scrubbed

SECRET = "sesame-0123456789"


def test_ids_are_replaced_alike_wherever_they_stand():
    rows = [{"id": 10000001, "host_id": 40001, "gpu_ids": [30001, 10000001]}, {"machine_id": 40001, "id": "10000002"}]
    assert scrubbed(rows) == [
        {"id": 1000, "host_id": 1001, "gpu_ids": [1002, 1000]},
        {"machine_id": 1001, "id": "1003"},
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "NVIDIA H100 80GB HBM3", "memory": 80, "price": 3.59},  # RunPod's ids are names of cards
        {"id": "EU-RO-1"},
        {"InstanceType": "p5.48xlarge", "AvailabilityZoneId": "use1-az1", "SpotPrice": "12.345678"},
        {"driver_version": "535.183.01", "os_version": "20.04", "start": "2026-09-01T12:00:00+00:00", "time": "12:34:56"},
        {"serviceRegions": ["us-central1"], "nanos": 933908000, "skuId": "0013-863C-A2FF"},
        {"verified": True, "public_ipaddr": None, "num_gpus": 8},
    ],
)
def test_what_a_fixture_is_for_stays(row):
    assert scrubbed(row) == row


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("host 203.0.113.77 and 203.0.113.77", "host 192.0.2.0 and 192.0.2.0"),
        ("2001:4860:4860::8888", "2001:db8::0"),
        ("3c:52:82:aa:bb:cc", "00:00:5e:00:53:00"),
        ("ask jane.doe@corp.example.org", "ask someone@example.com"),
        ("AKIAIOSFODNN7EXAMPLE", "scrubbed"),
        ("Bearer abc.def", "scrubbed"),
        ("arn:aws:iam::123456789012:role/x", "arn:aws:iam::000000000000:role/x"),
        (f"?q={SECRET}", "?q=scrubbed"),
    ],
)
def test_addresses_people_and_keys_are_replaced_inside_texts(text, clean):
    assert scrubbed({"note": text}, secrets=[SECRET]) == {"note": clean}
    assert scrubbed({text: 1}, secrets=[SECRET]) == {clean: 1}


@pytest.mark.parametrize("name", ["api_key", "apiKey", "Authorization", "userName", "owner", "hostname", "webpage", "token"])
def test_what_stands_under_a_private_name_goes_whole(name):
    assert scrubbed({name: "anything", "and": {name: 7}}) == {name: "scrubbed", "and": {name: 0}}
    assert scrubbed({name: None}) == {name: None}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.just(f"x{SECRET}y"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.just(SECRET), inner, max_size=3),
        max_leaves=12,
    )
)
def test_no_secret_is_left_and_the_form_stays(payload):
    clean = scrubbed(payload, secrets=[SECRET])
    assert SECRET not in repr(clean)
    assert type(clean) is type(payload)
    if isinstance(payload, list):
        assert len(clean) == len(payload)
