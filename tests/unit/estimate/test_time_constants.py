"""The file of time constants: read strictly, so that a slip in a calibration file is an error."""

import copy
import tomllib
from importlib.resources import files

import pytest

from providers.errors import InvalidInput
from service.estimate.time_constants import TIME, constants_from, share_of


@pytest.fixture
def tables():
    return copy.deepcopy(tomllib.loads(files("service.estimate").joinpath("time_constants.toml").read_text(encoding="utf-8")))


def test_the_shipped_file_is_read(tables):
    assert constants_from(tables).decode.bandwidth_share == TIME.decode.bandwidth_share
    assert all(low < 1 < high for low, high in TIME.error.values())


def test_a_missing_constant_is_named(tables):
    del tables["decode"]["kv_share"]
    with pytest.raises(InvalidInput, match="kv_share"):
        constants_from(tables)


def test_an_unknown_constant_is_named(tables):
    tables["matmul"]["speling"] = 1.0
    with pytest.raises(InvalidInput, match="speling"):
        constants_from(tables)


@pytest.mark.parametrize("value", [-1.0, "fast", float("nan"), None])
def test_a_constant_that_is_no_number_of_at_least_0_is_refused(tables, value):
    tables["decode"]["kv_share"] = value
    with pytest.raises(InvalidInput, match=r"decode\.kv_share"):
        constants_from(tables)


def test_a_name_without_its_own_share_takes_the_default():
    assert share_of({"Hopper": 2.0, "default": 1.0}, "Hopper") == 2.0
    assert share_of({"Hopper": 2.0, "default": 1.0}, "Tomorrow") == 1.0
