"""Access settings: who may ask, how often, for how long, and which proxies are believed."""

import ipaddress
import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_settings import NoDecode

_Names = Annotated[tuple[str, ...], NoDecode]
_RATE = re.compile(r"[1-9][0-9]{0,8}/(second|minute|hour|day)")
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def _by_comma(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip(" '\"") for part in value.strip("[] ").split(",") if part.strip(" '\""))
    return value


class AccessSettings(BaseModel):
    """Null for `required`: keys are asked for beyond loopback, and on loopback once a key has been made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    required: bool | None = None
    allowed_hosts: _Names = ()  # names under which the service is reached, besides its address on loopback
    trusted_proxies: _Names = ()  # addresses or networks whose X-Forwarded-For is believed

    _lists = field_validator("allowed_hosts", "trusted_proxies", mode="before")(_by_comma)

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            try:
                network = ipaddress.ip_network(one, strict=False)
            except ValueError:
                raise ValueError("each trusted proxy is an address or a network such as 10.0.0.0/8") from None
            if network.prefixlen == 0:
                raise ValueError("a network of every address trusts everybody: name the proxies")
        return value


class OidcSettings(BaseModel):
    """Tokens of an identity provider; off until an issuer is set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str | None = Field(default=None, pattern=r"^https?://[^\s@]+$")
    audience: str | None = None
    jwks_url: str | None = Field(default=None, pattern=r"^https?://[^\s@]+$")
    algorithms: Annotated[tuple[Algorithm, ...], NoDecode] = ("RS256", "ES256")
    scope_claim: str = "scope"  # words by space, or a list
    scope_prefix: str = "gpuplan:"  # gpuplan:plan in the claim is the scope plan
    leeway_seconds: int = Field(default=30, ge=0, le=300)

    _lists = field_validator("algorithms", mode="before")(_by_comma)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        named = [self.issuer, self.audience, self.jwks_url]
        if any(named) and not all(named):
            raise ValueError("issuer, audience and jwks_url go together")
        if not self.algorithms:
            raise ValueError("at least one algorithm has to be named")
        return self


class LimitSettings(BaseModel):
    """Rates are COUNT/UNIT per process; null for `per_address`: 12000/minute where keys are asked for, else none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_key: str = "6000/minute"
    per_address: str | None = None
    request_seconds: float = Field(default=30.0, gt=0, le=3600)
    body_seconds: float = Field(default=15.0, gt=0, le=3600)
    header_seconds: float = Field(default=10.0, gt=0, le=3600)

    @field_validator("per_key", "per_address")
    @classmethod
    def _is_a_rate(cls, value: str | None) -> str | None:
        if value is not None and not _RATE.fullmatch(value):
            raise ValueError("a rate is COUNT/UNIT, for example 600/minute (second, minute, hour, day)")
        return value
