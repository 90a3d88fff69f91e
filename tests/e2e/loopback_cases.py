"""The adapters of this folder's tests, pointed at a stand-in on loopback, and what every refusal of theirs must keep to."""

import json
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from providers.azure import Azure
from providers.azureml import AzureMl
from providers.errors import ProviderError
from providers.gcp import Gcp
from providers.lambda_cloud import LambdaCloud
from providers.runpod import RunPod
from providers.vast import Vast
from providers.vertex import Vertex
from tests.e2e.fake_hyperscalers import AZURE_PATH, COMPUTE_PATH, SERVICES_PATH, VERTEX_PATH
from tests.e2e.fake_providers import LAMBDA_PATH, RUNPOD_CENTERS_PATH, RUNPOD_GPUS_PATH, RUNPOD_GRAPHQL_PATH, VAST_PATH

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
SECRET = "sesame-0123456789"
KEY = SecretStr(SECRET)
PATHS = {
    "lambda": [LAMBDA_PATH],
    "runpod-rest": [RUNPOD_CENTERS_PATH, RUNPOD_GPUS_PATH],
    "runpod-graphql": [RUNPOD_GRAPHQL_PATH],
    "vast": [VAST_PATH],
    "azure": [AZURE_PATH],
    "azureml": [AZURE_PATH],
    "gcp": [COMPUTE_PATH],
    "vertex": [SERVICES_PATH, VERTEX_PATH, COMPUTE_PATH],
}
KINDS = list(PATHS)


def adapter_of(kind, fakes):
    return {
        "lambda": lambda: LambdaCloud(api_key=KEY, base_url=fakes.lambda_url),
        "runpod-rest": lambda: RunPod(api_key=KEY, base_url=fakes.runpod_url),
        "runpod-graphql": lambda: RunPod(base_url=fakes.runpod_url),
        "vast": lambda: Vast(api_key=KEY, base_url=fakes.vast_url),
        "azure": lambda: Azure(base_url=fakes.url),
        "azureml": lambda: AzureMl(base_url=fakes.url),
        "gcp": lambda: Gcp(api_key=KEY, base_url=fakes.url),
        "vertex": lambda: Vertex(api_key=KEY, base_url=fakes.url),
    }[kind]()


def serve(fakes, kind, answer):
    fakes.answers.update(dict.fromkeys(PATHS[kind], answer))


def refused(fakes, http, kind):
    """The error of a refresh, which holds no secret, neither itself nor in what it was raised from."""
    adapter = adapter_of(kind, fakes)
    with pytest.raises(ProviderError) as caught:
        adapter.parse(adapter.fetch(http), NOW)
    seen = caught.value
    while seen is not None:
        assert SECRET not in f"{seen} {seen!r} {vars(seen)}"
        seen = seen.__cause__ or seen.__context__
    assert SECRET not in repr(adapter)
    return caught.value


def recorded(shared_data, name):
    return json.loads((shared_data / "payloads" / name).read_text())


def read(adapter, http):
    return adapter.parse(adapter.fetch(http), NOW)
