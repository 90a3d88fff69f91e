"""What RunPod lists of its data centres, the same words in both APIs."""

from collections.abc import Sequence

from providers.base import Json


def compliance_of(data_centers: Sequence[Json]) -> dict[str, frozenset[str]]:
    """What the provider lists for each data centre. An unreadable entry attests nothing."""
    return {
        center["id"]: frozenset(word for word in center["compliance"] if isinstance(word, str))
        for center in data_centers
        if isinstance(center, dict) and isinstance(center.get("id"), str) and isinstance(center.get("compliance"), list)
    }
