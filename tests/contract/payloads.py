"""What `fetch` gives, for every adapter of the registry, made from the fixtures of this project."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from providers.http import make_client
from providers.registry import ADAPTERS
from providers.runpod import RunPod
from tests.e2e.fake_providers import fixture, runpod_answer

SECRET = "sesame-0123456789"
FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
KINDS = {kind.name: kind for kind in (ADAPTERS.values() if isinstance(ADAPTERS, Mapping) else ADAPTERS)}


def runpod_payload(key):
    def handle(request):
        body = json.loads(request.content) if request.content else None
        status, answer = runpod_answer(request.method, request.url.path, dict(request.url.params), dict(request.headers), body)
        return httpx.Response(status, json=answer)

    with make_client(transport=httpx.MockTransport(handle)) as http:
        return RunPod(api_key=key).fetch(http)


def local_payload(name, settings):
    """Of an adapter that reads a file of its own: a call to the network fails the test."""
    with make_client(transport=httpx.MockTransport(lambda request: pytest.fail("a local adapter called the network"))) as http:
        return KINDS[name](**settings).fetch(http)


# What `fetch` gives, by adapter: a new adapter needs a line here, made from its fixture.
PAYLOADS = {
    "lambda": lambda: fixture("lambda/instance_types.json"),
    "runpod": lambda: runpod_payload(None),
    "runpod (with a key)": lambda: runpod_payload(SecretStr(SECRET)),
    "vast": lambda: {"answers": [fixture("vast/bundles.json")]},
    "aws": lambda: fixture("aws_payload.json"),
    "sagemaker": lambda: fixture("sagemaker_payload.json"),
    "colab": lambda: local_payload("colab", {}),
    "kaggle": lambda: local_payload("kaggle", {}),
    "reference": lambda: local_payload("reference", {}),
    "gcp": lambda: {"skus": fixture("gcp/skus.json")["skus"], "passed_over": 0},
    "vertex": lambda: {"skus": fixture("vertex/skus.json")["skus"], "compute": fixture("gcp/skus.json")["skus"]},
    "azure": lambda: {"items": fixture("azure/retail.json")["Items"]},
    "azureml": lambda: {"items": fixture("azure/retail.json")["Items"]},
    "price_file": lambda: local_payload("price_file", {"path": FIXTURES / "price_file_contract.csv"}),
}
CASES = [case for case in PAYLOADS if case.split(" ")[0] in KINDS]
_cache: dict = {}


def adapter(case):
    return KINDS[case.split(" ")[0]]()


def payload(case):
    if case not in _cache:
        _cache[case] = PAYLOADS[case]()
    return copy.deepcopy(_cache[case])


OWN_ENVELOPE = {"aws": 3, "sagemaker": 3}  # so many levels of the payload are written by `fetch` itself, not by the provider
