"""The country of a region decides residency: known or None, never guessed."""

import csv

import pytest

from providers.places import EEA, EU, EUROPE, country_of, members_of


@pytest.mark.parametrize(
    ("provider", "region", "country"),
    [
        ("aws", "us-east-1", "US"),
        ("aws", "eu-central-2", "CH"),
        ("aws", "eu-west-2", "GB"),
        ("aws", "ap-southeast-5", "MY"),
        ("aws", "us-gov-west-1", "US"),
        ("aws", "cn-north-1", "CN"),
        ("aws", "eu-west-1b", "IE"),
        ("aws", "us-east-1-bue-1a", None),  # a local zone in Buenos Aires
        ("aws", "use1-atl2-az1", None),
        ("aws", "eu-west-9", None),
        ("sagemaker", "eu-north-1", "SE"),
        ("lambda", "europe-central-1", "DE"),
        ("lambda", "asia-northeast-9", None),
        ("azure", "eastus", "US"),
        ("azure", "westeurope", "NL"),
        ("azure", "northeurope", "IE"),
        ("gcp", "europe-west6", "CH"),
        ("gcp", "us-central1-a", "US"),
        ("oci", "eu-amsterdam-1", "NL"),
        ("nebius", "eu-north1", "FI"),
        ("fluidstack", "FINLAND", "FI"),
        ("digitalocean", "tor1", "CA"),
        ("paperspace", "East Coast (NY2)", "US"),
        # the traps of RunPod's names: Delaware, Georgia, California, Illinois, Maryland are states
        ("runpod", "US-DE-1", "US"),
        ("runpod", "US-GA-2", "US"),
        ("runpod", "US-CA-1", "US"),
        ("runpod", "US-IL-1", "US"),
        ("runpod", "CA-MTL-3", "CA"),
        ("runpod", "EUR-IS-1", "IS"),
        ("runpod", "EU-RO-1", "RO"),
        ("runpod", "AP-IN-1", "IN"),
        ("runpod", "OC-AU-1", "AU"),
        ("runpod", "SEA-SG-1", "SG"),
        ("runpod", "EU-XX-1", None),
        ("runpod", "MOON-DE-1", None),
        ("runpod", "CA", "CA"),
        ("vast", "Texas, US", "US"),
        ("vast", "Guangxi, CN", "CN"),
        ("vast", "Ontario, CA", "CA"),
        ("vast", ", US", "US"),
        ("vast", "US", "US"),
        ("vast", ", US, NA", "US"),
        ("vast", "France, FR, EU", "FR"),
        ("vast", "Windhoek, NA", "NA"),
        ("vast", "Sweden", "SE"),
        ("vast", "somewhere", None),
        ("unheard", "us-east-1", None),
        ("unheard", "CA", None),  # California or Canada
        ("unheard", "Germany", "DE"),
        ("aws", "any", None),
        ("aws", None, None),
        ("aws", "", None),
    ],
)
def test_country_of_a_place(provider, region, country):
    assert country_of(provider, region) == country


def test_groups_of_countries():
    assert len(EU) == 27
    assert sorted(EEA - EU) == ["IS", "LI", "NO"]
    assert {"CH", "GB", "RS"} <= EUROPE - EEA
    assert not {"RU", "BY", "TR"} & EUROPE
    assert "GB" not in EU


@pytest.mark.parametrize(
    ("word", "members"), [("EU", EU), ("eea", EEA), ("Europe", EUROPE), ("uk", {"GB"}), (" de ", {"DE"}), ("US", {"US"})]
)
def test_a_residency_word(word, members):
    assert members_of(word) == members


@pytest.mark.parametrize("word", ["", "Mars", "XX", "DEU", "EUR", "Germany"])
def test_an_unknown_residency_word_is_none(word):
    assert members_of(word) is None


def test_every_region_of_the_reference_prices_but_any_has_a_country(shared_data):
    with (shared_data / "reference-prices.csv").open() as table:
        rows = {(row["provider"], row["region"]) for row in csv.DictReader(table)}
    unknown = {row for row in rows if country_of(*row) is None}
    assert {region for _, region in unknown} == {"any"}
