"""The base of every request type: strict, frozen, finite, unknown fields refused."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Request(BaseModel):
    """Strict (no text for numbers), frozen (usable as a cache key), unknown fields refused, no NaN and no infinity."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True, ser_json_inf_nan="null"
    )


Fraction = Annotated[float, Field(ge=0, le=1)]
PositiveFraction = Annotated[float, Field(gt=0, le=1)]
Usd = Annotated[float, Field(ge=0, le=1e12)]
PositiveUsd = Annotated[float, Field(gt=0, le=1e12)]
Gigabytes = Annotated[float, Field(ge=0, le=1e9)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Slug = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
CountryCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
