"""What is proven of each tier, and when proof grows too old."""

from datetime import date

import pytest

from providers.errors import InvalidInput
from providers.evidence import EVIDENCE, Age, DataClass, TenantIsolation, Wording, age_of, read_evidence

ORDER = list(DataClass)
TODAY = date(2026, 10, 1)

ENTRY = """
[[tier]]
provider = "acme"
tier = "vm"
operator = "Acme"
parent_country = "DE"
isolation = "vm"
tenancy_note = "virtual machines"
highest_class = "confidential"
highest_class_with_acceptance = "restricted"
acceptance_needs = "a contract"
reasons = ["shared hosts"]
read_on = 2026-09-01

[[tier.attestations]]
name = "soc2_type2"
wording = "attested"
scope = "company"
source = "a report"
dated = 2026-09-01
"""


@pytest.mark.parametrize(
    ("provider", "tier", "highest"),
    [
        ("lambda", "on-demand", "internal"),
        ("lambda", "private-cloud", "internal"),  # contract and report are not on file
        ("runpod", "secure", "internal"),
        ("runpod", "community", "public"),
        ("vast", "datacenter", "internal"),
        ("vast", "verified", "public"),
        ("vast", "unverified", "public"),
        ("aws", "ec2", "confidential"),
        ("azure", "confidential-vm", "restricted"),
        ("gcp", "vm", "confidential"),
        ("coreweave", "on-demand", "internal"),  # "align with" is no certificate
        ("nebius", "vm", "confidential"),
        ("colab", "free", "public"),
        ("kaggle", "free", "public"),
    ],
)
def test_the_highest_class_of_a_tier(provider, tier, highest):
    assert EVIDENCE.tier(provider, tier).highest_class == highest


@pytest.mark.parametrize(
    ("provider", "tier"), [("acme", "vm"), ("runpod", ""), ("runpod", "Secure"), ("aws", "secure"), ("", "")]
)
def test_an_unknown_tier_has_no_evidence(provider, tier):
    assert EVIDENCE.tier(provider, tier) is None


def test_an_acceptance_never_lowers_a_class_and_peers_are_never_admitted():
    for tier in EVIDENCE.tiers.values():
        assert ORDER.index(tier.highest_class) <= ORDER.index(tier.highest_class_with_acceptance)
        if "host" in tier.operator or "person" in tier.operator:
            assert tier.highest_class_with_acceptance is DataClass.PUBLIC
            assert not tier.attestations


def test_no_container_tier_holds_confidential_data_by_default():
    for tier in EVIDENCE.tiers.values():
        if tier.isolation is TenantIsolation.CONTAINER:
            assert tier.highest_class in (DataClass.PUBLIC, DataClass.INTERNAL)


def test_confidential_by_default_rests_on_an_attestation_that_counts():
    for tier in EVIDENCE.tiers.values():
        if ORDER.index(tier.highest_class) >= ORDER.index(DataClass.CONFIDENTIAL):
            proofs = [tier.attestation("soc2_type2"), tier.attestation("iso27001")]
            assert any(proof is not None and proof.counts(TODAY) for proof in proofs), tier


@pytest.mark.parametrize(
    ("dated", "today", "age"),
    [
        (date(2025, 10, 1), date(2026, 10, 1), Age.CURRENT),  # twelve months to the day
        (date(2025, 10, 1), date(2026, 10, 2), Age.OLD),
        (date(2025, 4, 1), date(2026, 10, 1), Age.OLD),  # eighteen months to the day
        (date(2025, 4, 1), date(2026, 10, 2), Age.EXPIRED),
        (date(2024, 8, 31), date(2026, 2, 28), Age.OLD),  # 31 August + 18 months = 28 February
        (date(2024, 8, 31), date(2026, 3, 1), Age.EXPIRED),
        (date(2024, 2, 29), date(2025, 2, 28), Age.CURRENT),
        (None, date(2026, 10, 1), Age.UNDATED),
        (date(2027, 1, 1), date(2026, 10, 1), Age.UNDATED),
    ],
)
def test_the_age_of_evidence(dated, today, age):
    assert age_of(dated, today) is age


def attestation(**changed):
    text = ENTRY
    for key, value in changed.items():
        text = "\n".join(
            f"{key} = {value}" if line.startswith(f"{key} =") else line
            for line in text.splitlines()
            if value or not line.startswith(key)
        )
    return read_evidence(text).tier("acme", "vm").attestation("soc2_type2")


@pytest.mark.parametrize("wording", ["aligned", "claimed", "none"])
def test_words_of_the_provider_alone_do_not_count(wording):
    assert not attestation(wording=f'"{wording}"').counts(TODAY)


def test_a_dated_report_counts_until_it_is_too_old():
    assert attestation().counts(TODAY)
    assert attestation().wording is Wording.ATTESTED
    assert attestation(dated="2025-04-02").counts(TODAY)
    assert not attestation(dated="2025-03-31").counts(TODAY)
    assert not attestation(dated="").counts(TODAY)


def test_the_version_follows_the_content():
    assert read_evidence(ENTRY).version == read_evidence(ENTRY).version
    assert read_evidence(ENTRY).version != read_evidence(ENTRY.replace("2026-09-01", "2026-09-02")).version


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ('highest_class = "confidential"', 'highest_class = "secret"', "/tier/0/highest_class"),
        ('operator = "Acme"', "", "/tier/0/operator"),
        ('operator = "Acme"', 'operator = "Acme"\nowner = "x"', "/tier/0/owner"),
        ('wording = "attested"', 'wording = "sworn"', "/tier/0/attestations/0/wording"),
        ("read_on = 2026-09-01", 'read_on = "soon"', "/tier/0/read_on"),
        ('scope = "company"', 'scope = ""', "/tier/0/attestations/0/scope"),
    ],
)
def test_a_faulty_entry_is_refused_where_it_stands(old, new, pointer):
    with pytest.raises(InvalidInput) as caught:
        read_evidence(ENTRY.replace(old, new))
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("text", [ENTRY + ENTRY, "", "tier = [", "x = 1\n" + ENTRY])
def test_a_faulty_file_is_refused(text):
    with pytest.raises(InvalidInput):
        read_evidence(text)
