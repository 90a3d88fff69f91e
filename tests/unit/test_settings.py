"""Settings: names as documented, a misspelt one refuses to start, secrets are never shown."""

import pytest

from service.settings import SettingsInvalid, build_adapters, interval_seconds, is_enabled, is_loopback, load_settings

SECRET = "hunter2-secret"


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    import os

    for name in [name for name in os.environ if name.startswith("GPUPLAN_")]:
        monkeypatch.delenv(name)


def settings_with(monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(f"GPUPLAN_{name}", value)
    return load_settings()


def test_defaults_are_a_laptop_without_keys(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = load_settings()
    assert (settings.host, settings.port, settings.default_sensitivity.value) == ("127.0.0.1", 8000, "internal")
    assert settings.database_url == f"sqlite:///{tmp_path}/gpuplan/prices.db"


def test_every_documented_name_is_read(monkeypatch):
    settings = settings_with(
        monkeypatch,
        PROVIDERS__LAMBDA__API_KEY=SECRET,
        PROVIDERS__LAMBDA__BASE_URL="http://127.0.0.1:9000/api/v1",
        PROVIDERS__LAMBDA__INTERVAL_SECONDS="60",
        PROVIDERS__RUNPOD__ENABLED="false",
        PROVIDERS__AWS__REGIONS="us-east-1, eu-west-1",
        PROVIDERS__AWS__ENDPOINT_URL="http://127.0.0.1:5000",
        PROVIDERS__PRICE_FILE__PATH="/prices.csv",
    )
    assert settings.providers.of("lambda").api_key.get_secret_value() == SECRET
    assert settings.providers.of("lambda").interval_seconds == 60
    assert settings.providers.of("runpod").enabled is False
    assert settings.providers.aws.regions == ("us-east-1", "eu-west-1")
    assert str(settings.providers.price_file.path) == "/prices.csv"


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("PROVIDERS__LAMDA__API_KEY", "GPUPLAN_PROVIDERS__LAMBDA__API_KEY"),
        ("DATABSE_URL", "GPUPLAN_DATABASE_URL"),
        ("PROVIDERS__VAST__INTERVALL_SECONDS", "GPUPLAN_PROVIDERS__VAST__INTERVAL_SECONDS"),
        ("PROVIDERS__VAST__REGIONS", "GPUPLAN_PROVIDERS__"),
    ],
)
def test_a_misspelt_variable_is_refused_naming_the_nearest(monkeypatch, wrong, nearest):
    with pytest.raises(SettingsInvalid, match=nearest) as refusal:
        settings_with(monkeypatch, **{wrong: SECRET})
    assert f"GPUPLAN_{wrong}" in str(refusal.value)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", SECRET),
        ("PROVIDERS__VAST__INTERVAL_SECONDS", "0"),
        ("DATABASE_URL", f"mysql://user:{SECRET}@host/db"),
        ("PROVIDERS__VAST__BASE_URL", f"ftp://{SECRET}"),
        ("PROVIDERS__VAST__BASE_URL", f"https://user:{SECRET}@host"),
        ("DEFAULT_SENSITIVITY", SECRET),
        ("ACCESS__TRUSTED_PROXIES", SECRET),
        ("ACCESS__TRUSTED_PROXIES", "0.0.0.0/0"),
        ("LIMITS__PER_KEY", SECRET),
        ("LIMITS__REQUEST_SECONDS", "0"),
        ("OIDC__ALGORITHMS", "HS256"),
    ],
)
def test_a_refused_value_names_its_variable_and_is_not_echoed(monkeypatch, name, value):
    with pytest.raises(SettingsInvalid, match=f"GPUPLAN_{name}") as refusal:
        settings_with(monkeypatch, **{name: value})
    assert SECRET not in str(refusal.value)


def test_an_identity_provider_is_named_whole(monkeypatch):
    with pytest.raises(SettingsInvalid, match=r"GPUPLAN_OIDC: .*go together"):
        settings_with(monkeypatch, OIDC__ISSUER="https://login.example")


def test_loopback_has_many_names():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost", "[::1]"))


def test_nothing_shows_a_secret(monkeypatch):
    settings = settings_with(
        monkeypatch, PROVIDERS__LAMBDA__API_KEY=SECRET, DATABASE_URL=f"postgresql://me:{SECRET}@db.example/prices?sslmode=require"
    )
    assert SECRET not in repr(settings) + settings.database_shown
    assert settings.database_url.startswith("postgresql+psycopg://me:")
    assert settings.database_shown == "postgresql+psycopg://db.example/prices"


def test_adapters_get_their_settings_as_fields(monkeypatch):
    settings = settings_with(
        monkeypatch,
        PROVIDERS__LAMBDA__API_KEY=SECRET,
        PROVIDERS__VAST__BASE_URL="http://127.0.0.1:9000",
        PROVIDERS__RUNPOD__ENABLED="false",
        PROVIDERS__VAST__INTERVAL_SECONDS="77",
    )
    adapters = {adapter.name: adapter for adapter in build_adapters(settings)}
    assert adapters["lambda"].missing_credentials() is None
    assert adapters["vast"].base_url == "http://127.0.0.1:9000"
    assert interval_seconds(settings, adapters["vast"]) == 77
    assert "runpod" not in adapters
    assert {"reference", "lambda"} <= adapters.keys()
    everything = build_adapters(settings, all_registered=True)
    assert [adapter.name for adapter in everything if not is_enabled(settings, adapter)].count("runpod") == 1


def test_a_price_file_is_enabled_by_its_path(monkeypatch, tmp_path):
    assert "price_file" not in {adapter.name for adapter in build_adapters(load_settings())}
    settings = settings_with(monkeypatch, PROVIDERS__PRICE_FILE__PATH=str(tmp_path / "prices.csv"))
    assert "price_file" in {adapter.name for adapter in build_adapters(settings)}
