"""What RunPod lists of its data centres, the same words in both APIs, in the names that evidence.toml uses."""

from collections.abc import Sequence

from providers.base import Json

# "HIPAA" and "GDPR" are the provider's words for a site: neither is a signed agreement (hipaa_baa, gdpr_dpa).
_NAMES = {
    "SOC_1_TYPE_2": "soc1_type2",
    "SOC_2_TYPE_2": "soc2_type2",
    "SOC_3_TYPE_2": "soc3_type2",
    "ISO_IEC_27001": "iso27001",
    "ISO_14001": "iso14001",
}


def compliance_of(data_centers: Sequence[Json]) -> dict[str, frozenset[str]]:
    """What the provider lists for each data centre. An unreadable entry attests nothing."""
    return {
        center["id"]: frozenset(_NAMES.get(word, word.lower()) for word in center["compliance"] if isinstance(word, str))
        for center in data_centers
        if isinstance(center, dict) and isinstance(center.get("id"), str) and isinstance(center.get("compliance"), list)
    }
