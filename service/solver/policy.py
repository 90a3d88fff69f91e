"""Policy v1: which class of data may go to which provider tier. A yes or a no with its reason; unknown is no.

The table is a hard mask over evidence: classes nest, so a stricter class never admits more. Regimes bind by signed
contract, which no public evidence shows: they fail closed until an acceptance is registered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import sha256
from typing import Final

import numpy as np

from providers.evidence import EVIDENCE, Age, TierEvidence, age_of
from providers.places import members_of
from service.domain.request import DataSensitivity, Isolation, Regime
from service.solver.columns import Array
from service.solver.reasons import CODE, PASS
from service.solver.tables import Seller, Sellers

CLASSES: Final = tuple(DataSensitivity)  # from free to bound
_ISOLATIONS: Final = tuple(Isolation)  # from weak to strong
_PROOFS: Final = ("soc2_type2", "iso27001")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRule:
    """What a class asks of a tier, in addition to all that the classes before it ask."""

    named_operator: bool = False  # no anonymous host, and evidence that is at hand and not expired
    least_isolation: Isolation | None = None
    proof_in_date: bool = False
    known_country: bool = False
    own_hardware_only: bool = False


RULES: Final = {
    DataSensitivity.PUBLIC: ClassRule(),
    DataSensitivity.INTERNAL: ClassRule(named_operator=True),
    DataSensitivity.CONFIDENTIAL: ClassRule(least_isolation=Isolation.VM, proof_in_date=True, known_country=True),
    DataSensitivity.RESTRICTED: ClassRule(least_isolation=Isolation.SINGLE_TENANT),
    DataSensitivity.LOCAL_ONLY: ClassRule(own_hardware_only=True),
}
POLICY_VERSION: Final = "1-" + sha256(repr((RULES, EVIDENCE.version)).encode()).hexdigest()[:12]


@dataclass(frozen=True, eq=False)
class Judged:
    """Per seller: why the class of the data keeps it out, and why its place does; PASS where they do not.

    `missing` says in words what is lacking, `admits` the single change that would admit it. `by_region`: some
    residency words are names of regions.
    """

    of_class: Array
    of_place: Array
    missing: tuple[str, ...]
    admits: tuple[str, ...]
    by_region: bool
    shares_kernel: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a request that policy reads."""

    data_class: DataSensitivity
    regimes: tuple[Regime, ...]
    min_isolation: Isolation | None
    residency: tuple[str, ...]


@lru_cache(maxsize=256)
def judge_sellers(sellers: Sellers, asked: Asked, today: date) -> Judged:
    """Judges every seller; a function of these three only."""
    countries, regions = _countries(asked.residency), regions_asked(asked.residency)
    of_class, of_place = (np.full(len(sellers.all), PASS, dtype=np.uint8) for _ in range(2))
    missing, admits, shares = [], [], []
    for at, seller in enumerate(sellers.all):
        evidence = EVIDENCE.tier(seller.provider, seller.tier)
        reason, lacking, change = _class_reason(seller, evidence, asked, today)
        if reason:
            of_class[at] = CODE[reason]
        missing.append(lacking)
        admits.append(change)
        shares.append(seller.tenancy == "community_host" or (evidence is not None and evidence.isolation == "container"))
        if asked.residency and (seller.country not in countries or seller.tenancy == "community_host"):
            of_place[at] = CODE["residency"]  # where a community host says it stands proves nothing
    return Judged(
        of_class=of_class, of_place=of_place, missing=tuple(missing), admits=tuple(admits), by_region=bool(regions),
        shares_kernel=tuple(shares),
    )  # fmt: skip


def _class_reason(seller: Seller, evidence: TierEvidence | None, asked: Asked, today: date) -> tuple[str, str, str]:
    """The reason code, what is missing and what would admit it; empty where nothing is."""
    for data_class in CLASSES[: CLASSES.index(asked.data_class) + 1]:
        lacking = _lacking(seller, evidence, data_class, today)
        if lacking:
            return "data_sensitivity", lacking, _change(evidence, asked.data_class)
    if asked.regimes:
        needs = evidence.acceptance_needs if evidence is not None else "evidence of this tier"
        names = ", ".join(regime.value for regime in asked.regimes)
        return "regime", f"no signed {names} contract on file", f"an acceptance registered for it: {needs}"
    if asked.min_isolation is not None and (evidence is None or not _isolates(evidence, asked.min_isolation)):
        return "isolation", f"{evidence.isolation if evidence else 'unknown'} isolation", ""
    return "", "", ""


def _lacking(seller: Seller, evidence: TierEvidence | None, data_class: DataSensitivity, today: date) -> str:
    """What the tier lacks of one class's own rule, or "" where it lacks nothing."""
    rule = RULES[data_class]
    if rule.own_hardware_only:
        return "only own hardware may hold this class"
    if data_class is DataSensitivity.PUBLIC:
        return ""
    if seller.tenancy == "community_host":
        return "the host is a private person's or an unnamed one"
    if evidence is None:
        return "there is no evidence of this tier"
    if age_of(evidence.read_on, today) is Age.EXPIRED:
        return "its evidence is over 18 months old"
    if CLASSES.index(DataSensitivity(evidence.highest_class)) < CLASSES.index(data_class):
        return f"the tier is admitted up to {evidence.highest_class}: {evidence.reasons[0]}"
    if rule.least_isolation is not None and not _isolates(evidence, rule.least_isolation):
        return f"{evidence.isolation} isolation, {rule.least_isolation} or stronger is asked for"
    if rule.proof_in_date and not any((proof := evidence.attestation(name)) and proof.counts(today) for name in _PROOFS):
        return "no SOC 2 Type II or ISO 27001 report in date"
    if rule.known_country and seller.country is None:
        return "the country where it stands is not known"
    return ""


def _change(evidence: TierEvidence | None, data_class: DataSensitivity) -> str:
    if evidence is None or data_class is DataSensitivity.LOCAL_ONLY:
        return ""
    if CLASSES.index(DataSensitivity(evidence.highest_class_with_acceptance)) < CLASSES.index(data_class):
        return f"a class up to {evidence.highest_class}"
    return f"an acceptance registered for it: {evidence.acceptance_needs}"


def _isolates(evidence: TierEvidence, least: Isolation) -> bool:
    return _ISOLATIONS.index(Isolation(evidence.isolation)) >= _ISOLATIONS.index(least)


def regions_asked(residency: Sequence[str]) -> frozenset[str]:
    """The residency words that are no country and no group of countries: names of regions."""
    return frozenset(word for word in residency if members_of(word) is None)


def _countries(residency: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(members_of(word) or frozenset() for word in residency))


def holds_own_hardware(country: str | None, residency: Sequence[str]) -> bool:
    """Own hardware meets every class; its place must be known where a residency is asked for."""
    return not residency or country in _countries(residency)
