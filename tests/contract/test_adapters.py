"""The contract of every adapter in the registry: parsing is pure, offers are valid, junk is counted or refused, never raised."""

from dataclasses import fields, is_dataclass
from decimal import Decimal
from itertools import islice

import httpx
import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from providers.base import Adapter
from providers.errors import ProviderPayloadInvalid, ProviderUnavailable
from providers.http import make_client
from providers.offer import Batch, CapacityType
from tests.contract.payloads import CASES, FIXTURES, KINDS, OWN_ENVELOPE, PAYLOADS, SECRET, adapter, payload
from tests.contract.rules import NOW, assert_valid


def test_every_adapter_has_a_payload_here():
    assert KINDS.keys() <= PAYLOADS.keys()
    assert {"lambda", "runpod", "vast"} <= KINDS.keys()


@pytest.mark.parametrize("name", KINDS)
def test_an_adapter_is_a_frozen_dataclass_that_works_without_any_setting(name):
    one = KINDS[name]()
    assert isinstance(one, Adapter)
    assert is_dataclass(one)
    assert one == KINDS[name]()
    assert one.default_interval_seconds >= 60
    if one.needs_key:
        assert one.missing_credentials()
    with pytest.raises((AttributeError, TypeError)):
        one.name = "other"


@pytest.mark.parametrize("name", KINDS)
def test_no_secret_is_in_the_repr(name):
    secrets = {f.name: SecretStr(SECRET) for f in fields(KINDS[name]) if "SecretStr" in str(f.type)}
    assert SECRET not in repr(KINDS[name](**secrets))
    assert SECRET not in str(KINDS[name](**secrets).missing_credentials())


@pytest.mark.parametrize("case", CASES)
def test_parsing_is_pure_and_deterministic(case):
    given_payload = payload(case)
    first = adapter(case).parse(given_payload, NOW)
    assert repr(given_payload) == repr(payload(case)), "parse changed its input"
    assert adapter(case).parse(payload(case), NOW) == first
    later = adapter(case).parse(payload(case), NOW.replace(hour=13))
    assert [o.offer_id for o in later.offers] == [o.offer_id for o in first.offers]


@pytest.mark.parametrize("case", CASES)
def test_every_offer_is_valid(case):
    batch = adapter(case).parse(payload(case), NOW)
    assert batch.offers
    assert_valid(batch, feed=case.split(" ")[0])
    if not adapter(case).has_spot:
        assert all(o.capacity_type is not CapacityType.SPOT or o.is_dated for o in batch.offers)


def test_a_spot_price_above_on_demand_is_kept_beside_it():  # behaviour 8; bids of marketplaces differ, see test_vast.py
    head = (FIXTURES / "price_file_contract.csv").read_text().splitlines()[0]
    batch = KINDS["price_file"]().parse(f"{head}\nacme,L4,24,1,any,0.44,0.49,2026-07-15,a quote\n", NOW)
    assert {(o.capacity_type, o.usd_per_hour) for o in batch.offers} == {
        (CapacityType.ON_DEMAND, Decimal("0.44")),
        (CapacityType.SPOT, Decimal("0.49")),
    }


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**400, -1, 0, Decimal("NaN")]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("case", CASES)
@given(junk=JUNK)
def test_a_payload_that_is_junk_is_refused_with_its_own_error(case, junk):
    with pytest.raises(ProviderPayloadInvalid):
        adapter(case).parse(junk, NOW)


def spots_in(value, path=(), depth=9):
    """Paths to the containers and values of a payload, breadth limited, the payload itself not among them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in islice(items, 12):
        yield (*path, key)
        if depth:
            yield from spots_in(inner, (*path, key), depth - 1)


def with_junk(whole, case, data):
    """The payload with one of its parts replaced; of a text, a stretch of it."""
    if isinstance(whole, str):
        start = data.draw(st.integers(0, min(len(whole), 4000)))
        end = data.draw(st.integers(start, start + 40))
        return whole[:start] + data.draw(st.text(max_size=12)) + whole[end:]
    spots = [path for path in islice(spots_in(whole), 3000) if len(path) > OWN_ENVELOPE.get(case, 0)]
    *outer, last = data.draw(st.sampled_from(spots))
    inner = whole
    for key in outer:
        inner = inner[key]
    inner[last] = data.draw(JUNK)
    return whole


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_junk_anywhere_in_a_good_payload_is_counted_or_refused_never_raised(case, data):
    junk = with_junk(payload(case), case, data)
    try:
        batch = adapter(case).parse(junk, NOW)
    except ProviderPayloadInvalid:
        return
    assert isinstance(batch, Batch)
    assert_valid(batch, feed=case.split(" ")[0])


ROWS = {
    "lambda": lambda whole, junk: whole["data"].update(junk_row=junk),
    "runpod": lambda whole, junk: whole["gpuTypes"].append(junk),
    "runpod (with a key)": lambda whole, junk: whole["answers"][0]["gpus"].append(junk),
    "vast": lambda whole, junk: whole["answers"][0]["offers"].append(junk),
    "gcp": lambda whole, junk: whole["skus"].append(junk),
    "vertex": lambda whole, junk: whole["skus"].append(junk),
    "azure": lambda whole, junk: whole["items"].append(junk),
    "azureml": lambda whole, junk: whole["items"].append(junk),
}


@pytest.mark.parametrize("case", ROWS)
@given(junk=JUNK)
def test_a_junk_row_is_counted_and_the_others_stay(case, junk):
    good = adapter(case).parse(payload(case), NOW)
    whole = payload(case)
    ROWS[case](whole, junk)
    batch = adapter(case).parse(whole, NOW)
    assert batch.offers == good.offers
    assert len(batch.rejected) > len(good.rejected)


@pytest.fixture
def _one_try():
    stamina.set_testing(True, attempts=1)
    yield
    stamina.set_testing(False)


@pytest.mark.usefixtures("_one_try")
@pytest.mark.parametrize("name", [name for name in KINDS if name in ("lambda", "runpod", "vast")])
def test_a_provider_that_cannot_be_reached_is_an_error_that_names_it_and_no_secret(name):
    def refuse(request):
        raise httpx.ConnectError(f"refused {SECRET}")

    with make_client(transport=httpx.MockTransport(refuse)) as http, pytest.raises(ProviderUnavailable) as caught:
        KINDS[name](api_key=SecretStr(SECRET)).fetch(http)
    assert caught.value.provider == name
    assert SECRET not in str(caught.value)
