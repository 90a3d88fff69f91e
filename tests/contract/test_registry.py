"""What holds for every adapter in the registry."""

import inspect

import httpx
import pytest

from providers.errors import InvalidInput
from providers.registry import ADAPTERS, adapter_named


def test_the_order_is_that_of_the_markets():
    order = ["lambda", "runpod", "vast", "aws", "sagemaker", "gcp", "vertex", "azure", "azureml"]
    order += ["colab", "kaggle", "reference", "price_file"]
    names = [adapter.name for adapter in ADAPTERS]
    assert names == [name for name in order if name in names]
    assert {"lambda", "runpod", "vast", "aws", "sagemaker", "colab", "kaggle", "reference", "price_file"} <= set(names)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_an_adapter_keeps_its_contract(adapter):
    assert adapter_named(adapter.name) is adapter
    assert not inspect.isabstract(adapter)
    assert adapter.default_interval_seconds >= 60
    made = adapter()  # every setting has a default: without any it says what is missing, or runs
    assert bool(made.missing_credentials()) >= adapter.needs_key
    if not made.missing_credentials() and adapter.name in ("reference", "colab", "kaggle"):
        with httpx.Client(transport=httpx.MockTransport(lambda request: pytest.fail("it needs no network"))) as http:
            assert made.fetch(http)


@pytest.mark.parametrize("name", ["", "Lambda", "gpus", "../aws"])
def test_an_unknown_name_is_refused_with_all_names(name):
    with pytest.raises(InvalidInput) as caught:
        adapter_named(name)
    assert caught.value.allowed == tuple(adapter.name for adapter in ADAPTERS)
