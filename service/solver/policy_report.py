"""Policy report: which class of data each tier may hold under a policy, with the evidence behind it and its age. Pure."""

from dataclasses import dataclass
from datetime import date
from typing import Final

from providers.evidence import EVIDENCE, Evidence, TierEvidence, age_of
from service.domain.acceptance import Acceptance
from service.solver.policy import Tier, lacks
from service.solver.policy_table import CLASSES
from service.solver.standing import Standing

_KNOWN: Final = "known"  # the report is about tiers: where one offer stands is judged with the offer


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofLine:
    """One statement on file for a tier, public or an administrator's."""

    name: str
    wording: str  # certified, attested, aligned, claimed, none; "accepted" is an administrator's
    scope: str
    source: str
    dated: date | None
    age: str  # current, old, expired, undated; of an acceptance: current, expired or undated before its first day


@dataclass(frozen=True, slots=True, kw_only=True)
class TierLine:
    """One tier. `classes` says "yes" or what is lacking, class by class."""

    provider: str
    tier: str
    operator: str
    parent_country: str
    isolation: str
    read_on: date
    age: str
    classes: dict[str, str]
    classes_with_acceptances: dict[str, str]  # where a request names all that is registered
    acceptance_needs: str
    proofs: tuple[ProofLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """Every tier under one policy on one day."""

    policy: str
    policy_version: str
    reviewed_on: date
    evidence_version: str
    today: date
    tiers: tuple[TierLine, ...]


def policy_report(standing: Standing, today: date, evidence: Evidence = EVIDENCE) -> PolicyReport:
    """The report. Tiers that have no evidence are not in it: they hold public data only."""
    policy = standing.policy
    return PolicyReport(
        policy=policy.title,
        policy_version=policy.version,
        reviewed_on=policy.reviewed_on,
        evidence_version=evidence.version,
        today=today,
        tiers=tuple(_line(one, standing, today) for _, one in sorted(evidence.tiers.items())),
    )


def _line(one: TierEvidence, standing: Standing, today: date) -> TierLine:
    on_file = [paper for paper in standing.acceptances.values() if (paper.provider, paper.tier) == (one.provider, one.tier)]
    counting = tuple(paper for paper in on_file if paper.counts(today))
    public = [
        ProofLine(
            name=proof.name,
            wording=proof.wording.value,
            scope=proof.scope,
            source=proof.source,
            dated=proof.dated,
            age=age_of(proof.dated, today).value,
        )
        for proof in one.attestations
    ]
    return TierLine(
        provider=one.provider,
        tier=one.tier,
        operator=one.operator,
        parent_country=one.parent_country,
        isolation=one.isolation.value,
        read_on=one.read_on,
        age=age_of(one.read_on, today).value,
        classes=_classes(Tier(one, ()), standing, today),
        classes_with_acceptances=_classes(Tier(one, counting), standing, today),
        acceptance_needs=one.acceptance_needs,
        proofs=(*public, *(_accepted(paper, today) for paper in on_file)),
    )


def _classes(tier: Tier, standing: Standing, today: date) -> dict[str, str]:
    """By class "yes", or the first thing that is lacking of it or of a class below it."""
    found, lacking = {}, ""
    for data_class in CLASSES:
        lacking = lacking or lacks(tier, standing.policy, data_class, today, tenancy=None, country=_KNOWN)
        found[data_class.value] = lacking or "yes"
    return found


def _accepted(paper: Acceptance, today: date) -> ProofLine:
    age = "current" if paper.counts(today) else "expired" if today > paper.expires_on else "undated"
    return ProofLine(
        name=paper.attestation.value,
        wording="accepted",
        scope=f"{paper.name}, until {paper.expires_on}",
        source=f"{paper.document} ({paper.approver})",
        dated=paper.accepted_on,
        age=age,
    )
