"""What is proven of each provider tier: who runs it, how tenants are kept apart, which attestations, from what day.

The shipped table is evidence.toml, read once. A tier that is not in it has no evidence: public data only.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from hashlib import sha256
from importlib import resources
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from providers.errors import InvalidInput

WARNS_AFTER_MONTHS = 12
FAILS_AFTER_MONTHS = 18
_STRICT = ConfigDict(extra="forbid")
Text = Annotated[str, Field(min_length=1, max_length=400)]


class DataClass(StrEnum):
    """Classes of data that a provider may be allowed to hold, from free to bound."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"


class TenantIsolation(StrEnum):
    """What keeps tenants of one machine apart, from weak to strong."""

    CONTAINER = "container"  # one kernel for all, and the host's owner can read memory
    VM = "vm"
    SINGLE_TENANT = "single_tenant"
    CONFIDENTIAL_VM = "confidential_vm"  # memory is encrypted against the host too


class Wording(StrEnum):
    """In which words a provider states an attestation: only the first two name somebody else's judgement."""

    CERTIFIED = "certified"
    ATTESTED = "attested"
    ALIGNED = "aligned"
    CLAIMED = "claimed"
    NONE = "none"


class Age(StrEnum):
    """What a date is worth today."""

    CURRENT = "current"
    OLD = "old"  # warns
    EXPIRED = "expired"  # no longer counts
    UNDATED = "undated"  # never counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """One statement of a provider about a tier."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: Text  # soc2_type2, iso27001, hipaa_baa, pci_dss, fedramp, gdpr_dpa
    wording: Wording
    scope: Text
    source: Text
    dated: date | None = None

    def counts(self, today: date) -> bool:
        """True for a certificate or an auditor's report that is dated and not over its age."""
        return self.wording in (Wording.CERTIFIED, Wording.ATTESTED) and age_of(self.dated, today) in (Age.CURRENT, Age.OLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierEvidence:
    """What is known of one tier. `highest_class` is what policy allows by default."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    provider: Text
    tier: Text
    operator: Text
    parent_country: Text
    isolation: TenantIsolation
    tenancy_note: Text
    highest_class: DataClass
    highest_class_with_acceptance: DataClass
    acceptance_needs: Text
    reasons: tuple[Text, ...]
    attestations: tuple[Attestation, ...] = ()
    read_on: date

    def attestation(self, name: str) -> Attestation | None:
        return next((one for one in self.attestations if one.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All tiers. `version` changes with every change of content, so that a saved plan can name what it was judged by."""

    tiers: Mapping[tuple[str, str], TierEvidence]
    version: str

    def tier(self, provider: str, tier: str) -> TierEvidence | None:
        """What is known of this tier; None: nothing, so public data only."""
        return self.tiers.get((provider, tier))


def age_of(day: date | None, today: date) -> Age:
    """Over 12 months warns, over 18 months no longer counts; a day in the future is no evidence either."""
    if day is None or day > today:
        return Age.UNDATED
    if today > _months_after(day, FAILS_AFTER_MONTHS):
        return Age.EXPIRED
    return Age.OLD if today > _months_after(day, WARNS_AFTER_MONTHS) else Age.CURRENT


def read_evidence(text: str) -> Evidence:
    """The evidence of a TOML text in the shape of evidence.toml.

    Raises:
        InvalidInput: an entry is incomplete, has an unknown key or word, or stands twice; `pointer` says which.
    """
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput("the evidence is not TOML") from error
    tiers: dict[tuple[str, str], TierEvidence] = {}
    for place, entry in enumerate(entries.pop("tier", [])):
        try:
            one = _TIER.validate_python(entry)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            raise InvalidInput(first["msg"], pointer="/".join(map(str, ("/tier", place, *first["loc"])))) from None
        if tiers.setdefault((one.provider, one.tier), one) is not one:
            raise InvalidInput("the tier stands twice", pointer=f"/tier/{place}")
    if entries or not tiers:
        raise InvalidInput("the evidence holds tiers and nothing else")
    return Evidence(tiers=MappingProxyType(tiers), version=sha256(text.encode()).hexdigest()[:16])


def _months_after(day: date, months: int) -> date:
    """The same day of a later month, or that month's last."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return date(year, month + 1, last)
        except ValueError:
            continue
    raise AssertionError("every month has 28 days")


_TIER = TypeAdapter(TierEvidence)
EVIDENCE = read_evidence(resources.files("providers").joinpath("evidence.toml").read_text(encoding="utf-8"))
