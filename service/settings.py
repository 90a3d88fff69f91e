"""Settings: one typed tree read from GPUPLAN_* variables; a misspelt variable refuses to start."""

import dataclasses
import ipaddress
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from providers.errors import InvalidInput
from service.access_settings import AccessSettings, LimitSettings, OidcSettings
from service.chat_settings import ChatSettings
from service.domain.request import DataSensitivity
from service.model_settings import HuggingFaceSettings
from service.usage_settings import PrometheusSettings

if TYPE_CHECKING:
    from providers.base import Adapter

PREFIX = "GPUPLAN_"
DELIMITER = "__"
# Read by the command, the scripts and the tests, not by the service.
OTHER_VARIABLES = frozenset(
    {
        "GPUPLAN_URL",
        "GPUPLAN_PYTHON",
        "GPUPLAN_TEST_DATABASE_URL",
        "GPUPLAN_TEST_LIVE",
        "GPUPLAN_HYPOTHESIS_PROFILE",
        "GPUPLAN_API_KEY",
    }
)


class SettingsInvalid(InvalidInput):
    """The settings are refused: the service does not start. The message names variables, never their values."""

    code = "settings-invalid"


class ProviderSettings(BaseModel):
    """One provider. Null takes the adapter's own default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s@]+$")
    api_key: SecretStr | None = None
    interval_seconds: int | None = Field(default=None, ge=1, le=30 * 86_400)


class RegionalSettings(ProviderSettings):
    """A provider that is asked by region; none named: the adapter's own choice."""

    regions: Annotated[tuple[str, ...] | None, NoDecode] = None

    @field_validator("regions", mode="before")
    @classmethod
    def _regions_by_comma(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip(" '\"") for part in value.strip("[] ").split(",") if part.strip(" '\""))
        return value


class AwsSettings(RegionalSettings):
    """AWS and SageMaker: credentials absent, the public price files are read instead."""

    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = None
    use_default_credentials: bool | None = None  # the machine's own AWS role or profile: never unasked
    include_commitments: bool | None = None  # EC2 only: Savings Plans; with a key, Capacity Blocks too
    endpoint_url: str | None = Field(default=None, pattern=r"^https?://[^\s@]+$")
    spot_advisor_url: str | None = Field(default=None, pattern=r"^https?://[^\s@]+$")


class VastSettings(ProviderSettings):
    """Vast: whether machines that the vendor has not tested are asked for."""

    include_unverified: bool | None = None
    disk_gb: float | None = Field(default=None, gt=0, le=100_000)  # orders the vendor's answer only


class PriceFileSettings(ProviderSettings):
    """The user's own price list."""

    path: Path | None = None


class ProvidersSettings(BaseModel):
    """Every provider by its name."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    lambda_: ProviderSettings = Field(default=ProviderSettings(), alias="lambda")
    runpod: ProviderSettings = ProviderSettings()
    vast: VastSettings = VastSettings()
    aws: AwsSettings = AwsSettings()
    sagemaker: AwsSettings = AwsSettings()
    gcp: ProviderSettings = ProviderSettings()
    vertex: ProviderSettings = ProviderSettings()
    azure: RegionalSettings = RegionalSettings()
    azureml: RegionalSettings = RegionalSettings()
    colab: ProviderSettings = ProviderSettings()
    kaggle: ProviderSettings = ProviderSettings()
    reference: ProviderSettings = ProviderSettings()
    price_file: PriceFileSettings = PriceFileSettings()

    def of(self, name: str) -> ProviderSettings:
        """The settings of one provider; all defaults for a provider that has none."""
        found = getattr(self, "lambda_" if name == "lambda" else name, None)
        return found if isinstance(found, ProviderSettings) else ProviderSettings()


def default_database_url() -> str:
    """SQLite in the user's data folder."""
    folder = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return f"sqlite:///{Path(folder) / 'gpuplan' / 'prices.db'}"


class Settings(BaseSettings):
    """All settings of the service."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=DELIMITER,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        env_ignore_empty=True,
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65_535)
    database_url: str = Field(default_factory=default_database_url, repr=False)
    default_sensitivity: DataSensitivity = DataSensitivity.INTERNAL
    calibration_path: Path | None = None  # written by `gpuplan calibrate`
    policy_path: Path | None = None  # a company's own policy table, in the place of the shipped one
    huggingface: HuggingFaceSettings = HuggingFaceSettings()
    metrics_port: int | None = Field(default=None, ge=1, le=65_535)  # of `gpuplan worker`, which answers nothing else
    lease_seconds: int = Field(default=30, ge=3, le=3600)  # how long a refresher that went silent keeps the others out
    prometheus: PrometheusSettings = PrometheusSettings()
    providers: ProvidersSettings = ProvidersSettings()
    chat: ChatSettings = ChatSettings()
    access: AccessSettings = AccessSettings()
    oidc: OidcSettings = OidcSettings()
    limits: LimitSettings = LimitSettings()

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str) -> str:
        scheme = value.partition(":")[0]
        if scheme in ("postgres", "postgresql"):
            return "postgresql+psycopg" + value[len(scheme) :]
        if scheme not in ("sqlite", "postgresql+psycopg"):
            raise ValueError("the database is sqlite:///PATH or postgresql://...")
        return value

    @property
    def database_shown(self) -> str:
        """The database without its password and parameters."""
        scheme, _, rest = self.database_url.partition("://")
        place = rest.partition("?")[0]
        return f"{scheme}://{place.rpartition('@')[2]}"


def is_loopback(host: str) -> bool:
    """True when only this machine can reach an address of this name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(**given: Any) -> Settings:
    """The settings from the environment; `given` (options of a command) wins over it.

    Raises:
        SettingsInvalid: a variable is unknown (the nearest known is named) or its value is refused.
    """
    refuse_unknown_variables(os.environ)
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        faults = [_fault_words(fault) for fault in error.errors(include_input=False, include_url=False, include_context=False)]
        raise SettingsInvalid("; ".join(faults)) from None
    except SettingsError as error:
        raise SettingsInvalid(f"a setting cannot be read: {error}") from None


def _fault_words(fault: Any) -> str:
    loc = [str(part) for part in fault["loc"]]
    return f"{PREFIX + DELIMITER.join(loc).upper()}: {fault['msg']}" if loc else str(fault["msg"])


def known_variables() -> frozenset[str]:
    """Every GPUPLAN_* variable that means something."""
    return frozenset(_variables(Settings, PREFIX)) | OTHER_VARIABLES


def _variables(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, info in model.model_fields.items():
        shown = prefix + (info.alias or name).upper()
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _variables(info.annotation, shown + DELIMITER)
        else:
            yield shown


def refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    """Raises SettingsInvalid for a GPUPLAN_* variable that nothing reads, and names the nearest that exists."""
    import difflib

    known = known_variables()
    unknown = sorted(name for name in environment if name.upper().startswith(PREFIX) and name.upper() not in known)
    if not unknown:
        return
    nearest = difflib.get_close_matches(unknown[0].upper(), known, n=3, cutoff=0.5)
    advice = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
    raise SettingsInvalid(f"no setting is called {', '.join(unknown)}{advice}", allowed=nearest)


def build_adapters(settings: Settings, *, all_registered: bool = False) -> "list[Adapter]":
    """The adapters that are enabled, each with its settings as fields; `all_registered` gives the disabled ones too."""
    from providers.registry import ADAPTERS

    classes = ADAPTERS.values() if isinstance(ADAPTERS, Mapping) else ADAPTERS
    return [build_adapter(settings, kind) for kind in classes if all_registered or is_enabled(settings, kind)]


def is_enabled(settings: Settings, kind: "type[Adapter] | Adapter") -> bool:
    """What the settings say, else the adapter's default; a price file is enabled by its path."""
    own = settings.providers.of(kind.name)
    if own.enabled is not None:
        return own.enabled
    if isinstance(own, PriceFileSettings):
        return own.path is not None
    return kind.enabled_by_default


def interval_seconds(settings: Settings, kind: "type[Adapter] | Adapter") -> int:
    """Seconds between two refreshes of a provider."""
    return settings.providers.of(kind.name).interval_seconds or kind.default_interval_seconds


def build_adapter(settings: Settings, kind: "type[Adapter]") -> "Adapter":
    """One adapter; a setting that is absent leaves the adapter's default."""
    own = settings.providers.of(kind.name)
    wanted = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else ()
    values = {name: getattr(own, name) for name in type(own).model_fields if name in wanted}
    adapter: Adapter = kind(**{name: value for name, value in values.items() if value is not None})
    return adapter
