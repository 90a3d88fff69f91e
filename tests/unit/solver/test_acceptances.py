"""What a registered acceptance admits, what it never does, and a company's own policy table."""

from dataclasses import replace
from datetime import date

import pytest

from providers.errors import InvalidInput
from providers.offer import Tenancy
from service.domain.acceptance import Acceptance
from service.domain.request import DataSensitivity
from service.solver.policy_table import SHIPPED, read_policy
from service.solver.standing import Standing


def accepted(**changes) -> Acceptance:
    body = {
        "name": "lambda-soc2", "provider": "lambda", "tier": "on-demand", "attestation": "soc2_type2", "document": "file 12",
        "approver": "Ada", "accepted_on": date(2026, 1, 1), "expires_on": date(2026, 12, 31), **changes,
    }  # fmt: skip
    return Acceptance.model_validate(body, strict=False)


@pytest.fixture
def answered(offer, market, plan):
    def made(*registered, accept=("lambda-soc2",), policy=SHIPPED, offers=None, **constraints):
        standing = Standing(policy=policy, acceptances={one.name: one for one in registered})
        stands = replace(market(*(offers or [offer()])), standing=standing)
        asked = {"data_sensitivity": "confidential", "accept": list(accept), **constraints}
        return plan(stands, constraints=asked)

    return made


def test_a_registered_report_admits_the_tier_up_to_what_its_evidence_allows(answered):
    found = answered(accepted())
    assert [option.provider for option in found.options] == ["lambda"]
    assert "lambda-soc2" in found.policy_price.reason
    assert answered(accepted(), data_sensitivity="restricted").options == ()


def test_an_inline_claim_admits_nothing_and_is_told(answered):
    found = answered()
    assert found.options == ()
    assert "admit nothing: lambda-soc2" in found.policy_price.reason


def test_an_acceptance_that_the_request_does_not_name_admits_nothing(answered):
    assert answered(accepted(), accept=()).options == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"expires_on": date(2026, 9, 19)},
        {"accepted_on": date(2026, 9, 21)},
        {"tier": "1-click-cluster"},
        {"provider": "runpod"},
        {"attestation": "hipaa_baa"},
    ],
)
def test_an_acceptance_counts_for_its_tier_its_document_and_its_days_only(answered, changes):
    assert answered(accepted(**changes)).options == ()


def test_on_its_last_day_it_counts(answered):
    assert len(answered(accepted(expires_on=date(2026, 9, 20))).options) == 1


def test_a_regime_asks_for_its_own_document(answered):
    report, contract = accepted(), accepted(name="lambda-dpa", attestation="gdpr_dpa")
    both = ("lambda-soc2", "lambda-dpa")
    assert answered(report, contract, accept=both, regimes=["gdpr"]).options
    assert answered(report, contract, accept=both, regimes=["hipaa"]).options == ()
    assert answered(report, contract, accept=("lambda-soc2",), regimes=["gdpr"]).options == ()


def test_no_document_admits_a_community_host(offer, answered):
    host = offer(provider="vast", feed="vast", tier="verified", tenancy=Tenancy.COMMUNITY_HOST, machine_id="m1")
    papers = [accepted(name=f"a{at}", provider="vast", tier="verified", attestation=kind)
              for at, kind in enumerate(("soc2_type2", "msa", "gdpr_dpa"))]  # fmt: skip
    for data_class in ("internal", "confidential"):
        assert answered(*papers, accept=("a0", "a1", "a2"), offers=[host], data_sensitivity=data_class).options == ()


def test_a_promised_isolation_counts_beside_the_public_one(offer, answered):
    box = offer(provider="runpod", feed="runpod", tier="secure")
    paper = accepted(provider="runpod", tier="secure")
    assert answered(paper, offers=[box]).options == ()  # containers: confidential data ask for a VM
    assert answered(accepted(provider="runpod", tier="secure", isolation="single_tenant"), offers=[box]).options


def test_local_only_stays_local_whatever_is_on_file(answered):
    assert answered(accepted(), data_sensitivity="local_only").options == ()


def test_a_company_s_own_table_takes_the_place_of_the_shipped_one(answered):
    freer = read_policy(SHIPPED.text.replace("proof_in_date = true\n", "").replace('title = "shipped"', 'title = "ours"'))
    assert freer.version != SHIPPED.version
    found = answered(accepted(attestation="msa"), policy=freer)  # a contract raises the class; the proof is not asked for
    assert found.options
    assert found.policy_price.policy_version == freer.version
    assert answered(accepted(attestation="msa")).options == ()
    assert answered(accepted(), policy=freer).plan_id != answered(accepted()).plan_id


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ("[class.local_only]\nown_hardware_only = true", "[class.local_only]", "/class/local_only"),
        ("[class.public]", "[class.public]\nproof_in_date = true", "/class/public"),
        ('[class.restricted]\nleast_isolation = "single_tenant"', "", "/class"),
        ("proof_in_date", "proof_in_dates", "/class/confidential/proof_in_dates"),
        ('hipaa = "hipaa_baa"', "", "/regime"),
        ('hipaa = "hipaa_baa"', 'hipaa = "trust_me"', "/regime/hipaa"),
        ('least_isolation = "vm"', 'least_isolation = "wall"', "/class/confidential/least_isolation"),
        ("[regime]", "[regime", ""),
    ],
)
def test_a_table_that_leaves_something_open_is_refused(old, new, pointer):
    assert old in SHIPPED.text
    with pytest.raises(InvalidInput) as refused:
        read_policy(SHIPPED.text.replace(old, new))
    assert refused.value.pointer == pointer


def test_the_shipped_table_covers_every_class():
    assert set(SHIPPED.rules) == set(DataSensitivity)


def test_an_acceptance_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match="before accepted_on"):
        accepted(expires_on=date(2025, 1, 1))
