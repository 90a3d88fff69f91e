"""The README says what is: its tables beside the registry, the settings, the doors and the commands."""

import re
from pathlib import Path

import pytest

from providers.registry import ADAPTERS
from service.api import openapi_document
from service.cli.app import app
from service.settings import known_variables

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_the_table_of_providers_is_the_registry(adapter):
    row = re.search(rf"^\| `{adapter.name}` \| (\w+) \| (\w+) \| (\d+) s \| ([\w ]+) \|", README, re.MULTILINE)
    assert row is not None, "the provider has no row"
    needs_key, has_spot, seconds, enabled = row.groups()
    assert (needs_key == "yes", has_spot == "yes", int(seconds)) == (
        adapter.needs_key,
        adapter.has_spot,
        adapter.default_interval_seconds,
    )
    if adapter.name != "price_file":  # a path turns it on
        assert (enabled == "yes") == adapter.enabled_by_default


def test_every_setting_named_exists():
    named = set(re.findall(r"\bGPUPLAN_[A-Z0-9_]+[A-Z0-9]\b", README)) - {"GPUPLAN_PROVIDERS"}
    named -= {name for name in named if name.endswith("__AWS")}
    assert named <= known_variables()
    assert len(named) >= 8


def test_every_path_named_is_a_door():
    described = set(openapi_document()["paths"])
    cells = re.findall(r"^\| (`(?:POST|GET|PUT)[^|]*) \|", README, re.MULTILINE)
    paths = {path for cell in cells for path in re.findall(r"(/[a-z/{}_.-]+)", cell)}
    assert paths - described == set()
    assert len(paths) >= 10


def test_every_command_named_exists():
    known = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    named = set(re.findall(r"`gpuplan ([a-z-]+)", README))
    assert named - known == set()
    assert named >= {"plan", "refresh", "serve", "worker", "doctor"}
