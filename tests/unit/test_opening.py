"""Opening: no address beyond loopback without something that asks who is there."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from service.domain.access import ApiKey, Scope
from service.opening import DoorWouldBeOpen, access_of
from service.settings import load_settings

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
KEY = ApiKey(key_id="a1", name="ops", scope=Scope.ADMIN, digest="0" * 64, created_at=NOW, expires_at=NOW + timedelta(days=1))
NOBODY = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(404)), trust_env=False)


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    import os

    for name in [name for name in os.environ if name.startswith("GPUPLAN_")]:
        monkeypatch.delenv(name)


def opened(*keys, at=NOW, **settings):
    known = {key.key_id: key for key in keys}
    return access_of(load_settings(**settings), lambda: known, lambda: at, note_use=str, http=NOBODY)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_a_wider_address_without_keys_is_refused(host):
    with pytest.raises(DoorWouldBeOpen, match="gpuplan keys create"):
        opened(host=host)


def test_a_wider_address_with_a_valid_key_asks_everybody():
    access = opened(KEY, host="0.0.0.0")
    assert access.is_guarded()
    assert access.allowed_hosts is None


def test_an_ended_key_opens_nothing():
    with pytest.raises(DoorWouldBeOpen):
        opened(KEY, at=NOW + timedelta(days=1), host="0.0.0.0")


def test_a_wider_address_cannot_be_told_to_ask_nobody(monkeypatch):
    monkeypatch.setenv("GPUPLAN_ACCESS__REQUIRED", "false")
    with pytest.raises(DoorWouldBeOpen, match="loopback only"):
        opened(KEY, host="0.0.0.0")
    assert not opened(KEY).is_guarded()


def test_loopback_asks_once_there_is_a_key(monkeypatch):
    assert not opened().is_guarded()
    assert opened(KEY).is_guarded()
    monkeypatch.setenv("GPUPLAN_ACCESS__REQUIRED", "true")
    assert opened().is_guarded()


def test_an_identity_provider_is_a_lock_too(monkeypatch):
    for name, value in {
        "ISSUER": "https://login.example",
        "AUDIENCE": "gpuplan",
        "JWKS_URL": "https://login.example/keys",
    }.items():
        monkeypatch.setenv(f"GPUPLAN_OIDC__{name}", value)
    assert opened(host="0.0.0.0").is_guarded()
    assert opened().is_guarded()


def test_loopback_knows_its_names(monkeypatch):
    monkeypatch.setenv("GPUPLAN_ACCESS__ALLOWED_HOSTS", "Plans.example, other.example")
    hosts = opened(host="127.0.0.2").allowed_hosts
    assert {"localhost", "127.0.0.1", "127.0.0.2", "[::1]", "plans.example", "other.example"} <= hosts
