"""Policy table: the reviewed TOML that says what each class of data asks for; a company may put its own in its place."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from importlib import resources
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from providers.errors import InvalidInput
from providers.evidence import EVIDENCE
from service.domain.acceptance import Accepted
from service.domain.request import DataSensitivity, Isolation, Regime

CLASSES: Final = tuple(DataSensitivity)  # from free to bound
_CLOSED: Final = ConfigDict(extra="forbid", frozen=True)


class ClassRule(BaseModel):
    """What a class asks of a tier, in addition to all that the classes before it ask."""

    model_config = _CLOSED

    named_operator: bool = False  # no anonymous host, and evidence that is at hand and not expired
    least_isolation: Isolation | None = None
    proof_in_date: bool = False
    known_country: bool = False
    own_hardware_only: bool = False


class _File(BaseModel):
    model_config = _CLOSED

    title: Annotated[str, Field(min_length=1, max_length=100)]
    reviewed_on: date
    class_: dict[DataSensitivity, ClassRule] = Field(alias="class")
    regime: dict[Regime, Accepted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A table with its hash, by which answers name it."""

    title: str
    reviewed_on: date
    rules: Mapping[DataSensitivity, ClassRule]
    regimes: Mapping[Regime, Accepted]
    version: str
    text: str

    def __hash__(self) -> int:
        return hash(self.version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.version == other.version


def read_policy(text: str) -> Policy:
    """The policy of a TOML text in the shape of policy.toml.

    Raises:
        InvalidInput: a class or a regime is missing or unknown, a key is misspelt, public data are bound or local data free.
    """
    try:
        found = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput("the policy is not TOML") from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InvalidInput(first["msg"], pointer="/".join(map(str, ("", *first["loc"])))) from None
    rules = {one: found.class_[one] for one in CLASSES if one in found.class_}
    if missing := [one.value for one in CLASSES if one not in rules]:
        raise InvalidInput(f"the policy says nothing of {', '.join(missing)}", pointer="/class")
    if missing := [one.value for one in Regime if one not in found.regime]:
        raise InvalidInput(f"the policy says nothing of {', '.join(missing)}", pointer="/regime")
    if rules[DataSensitivity.PUBLIC] != ClassRule():
        raise InvalidInput("public data may go anywhere: bind another class", pointer="/class/public")
    if not rules[DataSensitivity.LOCAL_ONLY].own_hardware_only:
        raise InvalidInput("local_only data stay on own hardware under every policy", pointer="/class/local_only")
    asked = [(one.value, rules[one].model_dump_json()) for one in CLASSES]
    parts = repr((asked, sorted(found.regime.items()), EVIDENCE.version))
    return Policy(
        title=found.title,
        reviewed_on=found.reviewed_on,
        rules=MappingProxyType(rules),
        regimes=MappingProxyType(dict(found.regime)),
        version="1-" + sha256(parts.encode()).hexdigest()[:12],
        text=text,
    )


SHIPPED: Final = read_policy(resources.files("service.solver").joinpath("policy.toml").read_text(encoding="utf-8"))
