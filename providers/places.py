"""Which country a market's region lies in, and which countries a word like EU takes.

A region that is not known here has no country and so satisfies no residency: nothing is read out of a code's look, but
for RunPod and Vast, whose texts hold the country itself. Region tables: the providers' own lists, read 2026-09.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


MEMBERS_AS_OF = date(2026, 9, 1)
# European Union since 2020-02-01; European Economic Area with Iceland, Liechtenstein and Norway.
EU = _codes("AT BE BG HR CY CZ DE DK EE ES FI FR GR HU IE IT LT LU LV MT NL PL PT RO SE SI SK")
EEA = EU | {"IS", "LI", "NO"}
# The EEA, its western neighbours, the Western Balkans, Moldova and Ukraine: not Russia, Belarus, Turkey or the Caucasus.
EUROPE = EEA | _codes("AD AL BA CH GB GI IM JE GG MC MD ME MK RS SM UA VA XK")

_ISO = frozenset(
    re.findall(
        "..",
        "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCNCOCRCUCVCWCXCYCZ"
        "DEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIOIQIRISIT"
        "JEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNO"
        "NPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTN"
        "TOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSXKYEYTZAZMZW",
    )
)
_CONTINENTS = frozenset({"AF", "AN", "AS", "EU", "NA", "OC", "SA"})

_NAMES = {
    "argentina": "AR", "australia": "AU", "austria": "AT", "belgium": "BE", "brazil": "BR", "bulgaria": "BG", "canada": "CA",
    "chile": "CL", "china": "CN", "croatia": "HR", "czechia": "CZ", "czech republic": "CZ", "denmark": "DK", "estonia": "EE",
    "finland": "FI", "france": "FR", "germany": "DE", "greece": "GR", "hong kong": "HK", "hungary": "HU", "iceland": "IS",
    "india": "IN", "indonesia": "ID", "ireland": "IE", "israel": "IL", "italy": "IT", "japan": "JP", "korea": "KR",
    "south korea": "KR", "latvia": "LV", "lithuania": "LT", "malaysia": "MY", "mexico": "MX", "netherlands": "NL",
    "new zealand": "NZ", "norway": "NO", "philippines": "PH", "poland": "PL", "portugal": "PT", "romania": "RO",
    "saudi arabia": "SA", "singapore": "SG", "slovakia": "SK", "slovenia": "SI", "south africa": "ZA", "spain": "ES",
    "sweden": "SE", "switzerland": "CH", "taiwan": "TW", "thailand": "TH", "turkey": "TR", "ukraine": "UA",
    "united arab emirates": "AE", "united kingdom": "GB", "uk": "GB", "united states": "US", "usa": "US",
    "united states of america": "US", "vietnam": "VN",
}  # fmt: skip


def _by_region(table: Mapping[str, str]) -> dict[str, str]:
    return {region: country for country, regions in table.items() for region in regions.split()}


_AWS = _by_region({
    "US": "us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1", "CA": "ca-central-1 ca-west-1",
    "MX": "mx-central-1", "BR": "sa-east-1", "IE": "eu-west-1", "GB": "eu-west-2", "FR": "eu-west-3",
    "DE": "eu-central-1 eusc-de-east-1", "CH": "eu-central-2", "SE": "eu-north-1", "IT": "eu-south-1", "ES": "eu-south-2",
    "IL": "il-central-1", "BH": "me-south-1", "AE": "me-central-1", "ZA": "af-south-1", "IN": "ap-south-1 ap-south-2",
    "SG": "ap-southeast-1", "AU": "ap-southeast-2 ap-southeast-4", "ID": "ap-southeast-3", "MY": "ap-southeast-5",
    "NZ": "ap-southeast-6", "TH": "ap-southeast-7", "JP": "ap-northeast-1 ap-northeast-3", "KR": "ap-northeast-2",
    "HK": "ap-east-1", "TW": "ap-east-2", "CN": "cn-north-1 cn-northwest-1",
})  # fmt: skip
_LAMBDA = _by_region({
    "US": "us-east-1 us-east-2 us-east-3 us-midwest-1 us-south-1 us-south-2 us-south-3 us-west-1 us-west-2 us-west-3",
    "JP": "asia-northeast-1 asia-northeast-2", "IN": "asia-south-1", "AU": "australia-east-1", "DE": "europe-central-1",
    "IT": "europe-south-1", "IL": "me-west-1",
})  # fmt: skip
_AZURE = _by_region({
    "US": "centralus eastus eastus2 northcentralus southcentralus westcentralus westus westus2 westus3 usgovvirginia"
    " usgovarizona usgovtexas", "CA": "canadacentral canadaeast", "MX": "mexicocentral", "BR": "brazilsouth brazilsoutheast",
    "CL": "chilecentral", "IE": "northeurope", "NL": "westeurope", "GB": "uksouth ukwest", "FR": "francecentral francesouth",
    "DE": "germanywestcentral germanynorth", "CH": "switzerlandnorth switzerlandwest", "SE": "swedencentral swedensouth",
    "NO": "norwayeast norwaywest", "PL": "polandcentral", "IT": "italynorth", "ES": "spaincentral", "AT": "austriaeast",
    "BE": "belgiumcentral", "DK": "denmarkeast", "IL": "israelcentral", "QA": "qatarcentral", "AE": "uaenorth uaecentral",
    "ZA": "southafricanorth southafricawest", "IN": "centralindia southindia westindia jioindiawest jioindiacentral",
    "SG": "southeastasia", "HK": "eastasia", "JP": "japaneast japanwest", "KR": "koreacentral koreasouth",
    "AU": "australiaeast australiasoutheast australiacentral australiacentral2", "NZ": "newzealandnorth",
    "ID": "indonesiacentral", "MY": "malaysiawest", "CN": "chinaeast chinaeast2 chinaeast3 chinanorth chinanorth2 chinanorth3",
})  # fmt: skip
_GCP = _by_region({
    "US": "us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4 us-west8",
    "CA": "northamerica-northeast1 northamerica-northeast2", "MX": "northamerica-south1", "BR": "southamerica-east1",
    "CL": "southamerica-west1", "BE": "europe-west1", "GB": "europe-west2", "DE": "europe-west3 europe-west10",
    "NL": "europe-west4", "CH": "europe-west6", "IT": "europe-west8 europe-west12", "FR": "europe-west9", "FI": "europe-north1",
    "SE": "europe-north2", "PL": "europe-central2", "ES": "europe-southwest1", "IL": "me-west1", "QA": "me-central1",
    "SA": "me-central2", "ZA": "africa-south1", "IN": "asia-south1 asia-south2", "SG": "asia-southeast1", "ID": "asia-southeast2",
    "TW": "asia-east1", "HK": "asia-east2", "JP": "asia-northeast1 asia-northeast2", "KR": "asia-northeast3",
    "AU": "australia-southeast1 australia-southeast2",
})  # fmt: skip
_OCI = _by_region({
    "US": "us-ashburn-1 us-phoenix-1 us-sanjose-1 us-chicago-1", "CA": "ca-toronto-1 ca-montreal-1", "NL": "eu-amsterdam-1",
    "DE": "eu-frankfurt-1", "GB": "uk-london-1 uk-cardiff-1", "CH": "eu-zurich-1", "FR": "eu-paris-1 eu-marseille-1",
    "IT": "eu-milan-1", "ES": "eu-madrid-1", "SE": "eu-stockholm-1", "JP": "ap-tokyo-1 ap-osaka-1", "IN": "ap-mumbai-1"
    " ap-hyderabad-1", "AU": "ap-sydney-1 ap-melbourne-1", "SG": "ap-singapore-1", "BR": "sa-saopaulo-1 sa-vinhedo-1",
})  # fmt: skip
_SMALL = {
    "nebius": _by_region({"FI": "eu-north1", "FR": "eu-west1", "US": "us-central1", "IL": "me-west1"}),
    "digitalocean": _by_region({"CA": "tor1", "US": "nyc1 nyc2 nyc3 sfo2 sfo3 atl1", "NL": "ams3", "DE": "fra1", "GB": "lon1",
                                "IN": "blr1", "SG": "sgp1", "AU": "syd1"}),
    "paperspace": {"east coast (ny2)": "US", "west coast (ca1)": "US", "europe (ams1)": "NL"},
}  # fmt: skip


def country_of(provider: str, region: str | None) -> str | None:
    """The ISO 3166 alpha-2 code of a provider's region or place text; None where it is not known."""
    text = (region or "").strip()
    if not text or text.casefold() == "any":
        return None
    own = _READERS.get(provider)
    return (own(text) if own is not None else None) or _NAMES.get(text.casefold())


def members_of(word: str) -> frozenset[str] | None:
    """The countries a residency word takes: EU, EEA, EUROPE, UK or an ISO code; None for a word that is none of these."""
    wanted = word.strip().upper()
    if wanted in _GROUPS:
        return _GROUPS[wanted]
    return frozenset({wanted}) if wanted in _ISO else None


def _in(table: Mapping[str, str], zone: str) -> Callable[[str], str | None]:
    """Reads a region, or a zone of one whose name adds `zone` to the region's."""
    suffix = re.compile(f"{zone}$")

    def country(text: str) -> str | None:
        code = text.casefold()
        return table.get(code) or table.get(suffix.sub("", code))

    return country


def _of_runpod(text: str) -> str | None:
    """AREA-COUNTRY-NUMBER; in the United States and Canada the middle is a state or a city: US-DE-1 is in Delaware."""
    parts = text.upper().split("-")
    if len(parts) == 1 or parts[0] in ("US", "CA"):
        return parts[0] if parts[0] in _ISO else None
    return (
        parts[1]
        if len(parts) == 3 and parts[0] in ("EU", "EUR", "AP", "OC", "SEA", "AF", "SA", "ME") and parts[1] in _ISO
        else None
    )


def _of_vast(text: str) -> str | None:
    """ "Texas, US", ", US", "US", and with a continent behind it, "Michigan, US, NA"."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) >= 3 and parts[-1].upper() in _CONTINENTS:
        parts.pop()
    last = parts[-1].upper()
    return last if last in _ISO else _NAMES.get(parts[-1].casefold())


_ZONE_LETTER = "(?<=[0-9])[a-z]"  # us-east-1a; a local zone (us-east-1-bue-1a) may lie in another country
_READERS: Mapping[str, Callable[[str], str | None]] = {
    "aws": _in(_AWS, _ZONE_LETTER),
    "sagemaker": _in(_AWS, _ZONE_LETTER),
    "lambda": _in(_LAMBDA, "$"),
    "azure": _in(_AZURE, "$"),
    "azureml": _in(_AZURE, "$"),
    "gcp": _in(_GCP, "-[a-z]"),
    "vertex": _in(_GCP, "-[a-z]"),
    "oci": _in(_OCI, "$"),
    "runpod": _of_runpod,
    "vast": _of_vast,
    **{name: _in(table, "$") for name, table in _SMALL.items()},
}
_GROUPS: Mapping[str, frozenset[str]] = {"EU": EU, "EEA": EEA, "EUROPE": EUROPE, "UK": frozenset({"GB"})}
