"""Chat settings: each platform is off until its secret is set; lists of who may ask are empty for everybody."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

_Names = Annotated[tuple[str, ...], NoDecode]


class PlatformSettings(BaseModel):
    """What every platform has: who may ask."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    workspaces: _Names = ()  # teams, tenants or servers by their ids, by comma
    channels: _Names = ()

    @field_validator("workspaces", "channels", mode="before")
    @classmethod
    def _by_comma(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip(" '\"") for part in value.strip("[] ").split(",") if part.strip(" '\""))
        return value


class SlackSettings(PlatformSettings):
    """Slash commands and buttons; with a bot token also alarms of watches."""

    signing_secret: SecretStr | None = None
    bot_token: SecretStr | None = None


class TeamsSettings(PlatformSettings):
    """An outgoing webhook; with the address of a workflow also alarms."""

    signing_secret: SecretStr | None = None
    webhook_url: SecretStr | None = None


class MattermostSettings(PlatformSettings):
    """A slash command; with the address of an incoming webhook also alarms."""

    token: SecretStr | None = None
    webhook_url: SecretStr | None = None


class DiscordSettings(PlatformSettings):
    """An interactions endpoint; with the address of a webhook also alarms."""

    public_key: SecretStr | None = None
    webhook_url: SecretStr | None = None

    @field_validator("public_key")
    @classmethod
    def _is_a_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and (
            len(value.get_secret_value()) != 64 or set(value.get_secret_value().lower()) - set("0123456789abcdef")
        ):
            raise ValueError("the public key is 64 hex digits")
        return value


class ChatSettings(BaseModel):
    """All platforms, the address under which people reach this service, and whether webhooks may be inside."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    slack: SlackSettings = SlackSettings()
    teams: TeamsSettings = TeamsSettings()
    mattermost: MattermostSettings = MattermostSettings()
    discord: DiscordSettings = DiscordSettings()
    public_url: str | None = Field(default=None, pattern=r"^https?://[^\s@]+$")
    allow_private_webhooks: bool = False
