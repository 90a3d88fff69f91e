"""The contract where the provider's answer changes: fields gone, fields added, numbers that are none, rows that come twice."""

import pytest

from tests.contract.payloads import CASES, OWN_ENVELOPE, adapter, payload
from tests.contract.rules import (
    no_field_is_missed_in_silence,
    numbers_that_are_none_make_no_price,
    repeated_rows_add_nothing,
    same_twice,
    unknown_fields_are_ignored,
)

# Fields by whose absence the provider says that it does not sell something: then an offer goes without a refusal.
OPTIONAL = {
    # RunPod: no price is "not in that cloud", no stock or price of a probe is "not at that width" in its documentation
    "runpod": {"securePrice", "communityPrice", "gpuTypes.*.id", "lowestPrice", "stockStatus", "uninterruptablePrice"},
    "vast": {"min_bid"},  # no bids are taken
    "sagemaker": {"s"},  # the Spot Advisor's saving: an estimate of spot needs it
}
NAMED = {"lambda": {"data"}}


@pytest.mark.parametrize("case", CASES)
def test_the_same_payload_twice_gives_the_same_batch(case):
    same_twice(adapter(case), payload(case))


@pytest.mark.parametrize("case", CASES)
def test_a_field_that_is_gone_is_counted_or_refuses_the_catalogue(case):
    optional = frozenset(OPTIONAL.get(case, ()))
    named = frozenset(NAMED.get(case, ()))
    no_field_is_missed_in_silence(
        adapter(case), payload(case), envelope=OWN_ENVELOPE.get(case, 0), optional=optional, named=named
    )


@pytest.mark.parametrize("case", CASES)
def test_a_field_that_is_new_changes_nothing(case):
    unknown_fields_are_ignored(adapter(case), payload(case), envelope=OWN_ENVELOPE.get(case, 0))


@pytest.mark.parametrize("case", CASES)
def test_nan_infinity_and_negative_numbers_make_no_price(case):
    numbers_that_are_none_make_no_price(adapter(case), payload(case), envelope=OWN_ENVELOPE.get(case, 0))


@pytest.mark.parametrize("case", CASES)
def test_rows_that_come_twice_add_nothing(case):
    repeated_rows_add_nothing(adapter(case), payload(case), envelope=OWN_ENVELOPE.get(case, 0))
