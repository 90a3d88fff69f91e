"""Policy: which class of data may go to which provider tier. A yes or a no with its reason; unknown is no.

The table is a hard mask over evidence: classes nest, so a stricter class never admits more. Regimes bind by signed
contract, which no public evidence shows: they fail closed until an acceptance is registered. A request names the
acceptances that it counts on; a name that nobody registered admits nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

import numpy as np

from providers.evidence import EVIDENCE, Age, TierEvidence, age_of
from providers.places import members_of
from service.domain.acceptance import Acceptance
from service.domain.request import DataSensitivity, Isolation, Regime
from service.solver.columns import Array
from service.solver.policy_table import CLASSES, SHIPPED, Policy
from service.solver.reasons import CODE, PASS
from service.solver.tables import Seller, Sellers

_ISOLATIONS: Final = tuple(Isolation)  # from weak to strong
_PROOFS: Final = ("soc2_type2", "iso27001")
_RAISES: Final = frozenset({*_PROOFS, "msa"})


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
    policy_version: str = SHIPPED.version
    acceptances: tuple[str, ...] = ()  # named, registered and in date
    not_counted: tuple[str, ...] = ()  # named, and not registered or out of date


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a request that policy reads."""

    data_class: DataSensitivity
    regimes: tuple[Regime, ...]
    min_isolation: Isolation | None
    residency: tuple[str, ...]
    policy: Policy = SHIPPED
    accept: tuple[str, ...] = ()  # the names that the request counts on
    registered: tuple[Acceptance, ...] = ()  # of these names


@dataclass(frozen=True, slots=True)
class Tier:
    """What is known of a seller's tier: public evidence, and what is on file for it and counts today."""

    evidence: TierEvidence | None
    on_file: tuple[Acceptance, ...]

    def has(self, attestation: str) -> bool:
        """Whether such a document is on file."""
        return any(one.attestation == attestation for one in self.on_file)

    @property
    def highest_class(self) -> DataSensitivity:
        """The class up to which it is admitted: a report or a contract on file raises it as far as the evidence allows."""
        if self.evidence is None:
            return DataSensitivity.PUBLIC
        raised = any(one.attestation in _RAISES for one in self.on_file)
        return DataSensitivity(self.evidence.highest_class_with_acceptance if raised else self.evidence.highest_class)

    def isolates(self, least: Isolation) -> bool:
        """Whether tenants are kept apart at least like this."""
        known = [] if self.evidence is None else [Isolation(self.evidence.isolation)]
        known += [one.isolation for one in self.on_file if one.isolation is not None]
        return any(_ISOLATIONS.index(one) >= _ISOLATIONS.index(least) for one in known)


@lru_cache(maxsize=256)
def judge_sellers(sellers: Sellers, asked: Asked, today: date) -> Judged:
    """Judges every seller; a function of these three only."""
    countries, regions = _countries(asked.residency), regions_asked(asked.residency)
    of_class, of_place = (np.full(len(sellers.all), PASS, dtype=np.uint8) for _ in range(2))
    missing, admits, shares = [], [], []
    counting = [one for one in asked.registered if one.counts(today)]
    for at, seller in enumerate(sellers.all):
        evidence = EVIDENCE.tier(seller.provider, seller.tier)
        tier = Tier(evidence, tuple(one for one in counting if (one.provider, one.tier) == (seller.provider, seller.tier)))
        reason, lacking, change = _class_reason(seller, tier, asked, today)
        if reason:
            of_class[at] = CODE[reason]
        missing.append(lacking)
        admits.append(change)
        shares.append(seller.tenancy == "community_host" or (evidence is not None and evidence.isolation == "container"))
        if asked.residency and (seller.country not in countries or seller.tenancy == "community_host"):
            of_place[at] = CODE["residency"]  # where a community host says it stands proves nothing
    return Judged(
        of_class=of_class, of_place=of_place, missing=tuple(missing), admits=tuple(admits), by_region=bool(regions),
        shares_kernel=tuple(shares), policy_version=asked.policy.version, acceptances=tuple(one.name for one in counting),
        not_counted=tuple(sorted(set(asked.accept) - {one.name for one in counting})),
    )  # fmt: skip


def _class_reason(seller: Seller, tier: Tier, asked: Asked, today: date) -> tuple[str, str, str]:
    """The reason code, what is missing and what would admit it; empty where nothing is."""
    for data_class in CLASSES[: CLASSES.index(asked.data_class) + 1]:
        lacking = lacks(tier, asked.policy, data_class, today, tenancy=seller.tenancy, country=seller.country)
        if lacking:
            return "data_sensitivity", lacking, _change(tier, asked.data_class)
    unsigned = [one.value for one in asked.regimes if not tier.has(asked.policy.regimes[one])]
    if unsigned:
        needs = tier.evidence.acceptance_needs if tier.evidence is not None else "evidence of this tier"
        return "regime", f"no signed {', '.join(unsigned)} contract on file", f"an acceptance registered for it: {needs}"
    if asked.min_isolation is not None and not tier.isolates(asked.min_isolation):
        return "isolation", f"{tier.evidence.isolation if tier.evidence else 'unknown'} isolation", ""
    return "", "", ""


def lacks(
    tier: Tier, policy: Policy, data_class: DataSensitivity, today: date, *, tenancy: str | None, country: str | None
) -> str:
    """What the tier lacks of one class's own rule, or "" where it lacks nothing."""
    rule, evidence = policy.rules[data_class], tier.evidence
    if rule.own_hardware_only:
        return "only own hardware may hold this class"
    if data_class is DataSensitivity.PUBLIC:
        return ""
    if rule.named_operator and tenancy == "community_host":
        return "the host is a private person's or an unnamed one"
    if evidence is None:
        return "there is no evidence of this tier"
    if age_of(evidence.read_on, today) is Age.EXPIRED:
        return "its evidence is over 18 months old"
    if CLASSES.index(tier.highest_class) < CLASSES.index(data_class):
        return f"the tier is admitted up to {tier.highest_class}: {evidence.reasons[0]}"
    if rule.least_isolation is not None and not tier.isolates(rule.least_isolation):
        return f"{evidence.isolation} isolation, {rule.least_isolation} or stronger is asked for"
    if rule.proof_in_date and not _is_proven(tier, today):
        return "no SOC 2 Type II or ISO 27001 report in date"
    if rule.known_country and country is None:
        return "the country where it stands is not known"
    return ""


def _is_proven(tier: Tier, today: date) -> bool:
    public = [proof for name in _PROOFS if tier.evidence is not None and (proof := tier.evidence.attestation(name)) is not None]
    return any(proof.counts(today) for proof in public) or any(tier.has(name) for name in _PROOFS)


def _change(tier: Tier, data_class: DataSensitivity) -> str:
    evidence = tier.evidence
    if evidence is None or data_class is DataSensitivity.LOCAL_ONLY:
        return ""
    if CLASSES.index(DataSensitivity(evidence.highest_class_with_acceptance)) < CLASSES.index(data_class):
        return f"a class up to {evidence.highest_class}"
    return f"an acceptance registered for it: {evidence.acceptance_needs}"


def regions_asked(residency: Sequence[str]) -> frozenset[str]:
    """The residency words that are no country and no group of countries: names of regions."""
    return frozenset(word for word in residency if members_of(word) is None)


def _countries(residency: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(members_of(word) or frozenset() for word in residency))


def holds_own_hardware(country: str | None, residency: Sequence[str]) -> bool:
    """Own hardware meets every class; its place must be known where a residency is asked for."""
    return not residency or country in _countries(residency)
