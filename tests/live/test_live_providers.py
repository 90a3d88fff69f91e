"""The real services, only on demand: GPUPLAN_TEST_LIVE=runpod,vast with the settings that the service itself takes.

Run it alone: `GPUPLAN_TEST_LIVE=runpod .venv/bin/pytest tests/live`. It reads each named provider once, and writes nothing.
"""

import dataclasses
import os

import pytest

from providers.http import make_client
from providers.registry import ADAPTERS
from service.flows.gates import refusal_of
from service.main import now_utc
from service.settings import build_adapter, load_settings
from tests.contract.rules import assert_valid

ASKED = frozenset(filter(None, os.environ.get("GPUPLAN_TEST_LIVE", "").split(",")))
SERVICES = [kind for kind in ADAPTERS if "base_url" in {field.name for field in dataclasses.fields(kind)}]


def test_only_services_are_named():
    assert {kind.name for kind in SERVICES} >= ASKED, "GPUPLAN_TEST_LIVE names a provider that reads no service"


@pytest.mark.parametrize("kind", SERVICES, ids=lambda kind: kind.name)
def test_a_live_catalogue_passes_the_gates(kind):
    if kind.name not in ASKED:
        pytest.skip(f"the live service is asked only on demand: GPUPLAN_TEST_LIVE={kind.name}")
    adapter = build_adapter(load_settings(), kind)
    if missing := adapter.missing_credentials():
        pytest.skip(f"{kind.name}: {missing}")
    with make_client() as http:
        batch = adapter.parse(adapter.fetch(http), now_utc())
    assert refusal_of(batch, {}, None) is None
    assert_valid(batch, feed=kind.name)
    assert not batch.failed_scopes
