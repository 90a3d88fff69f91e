"""The three markets that buyers compare, and the work of starting: rules over who sells, as data.

Market tier. A seller of free or metered notebooks is hobbyist; a hyperscaler, whatever the product, is enterprise; every
other seller (clouds of GPU machines, marketplaces and their hosts) is engineer. Colab Enterprise is a product of Google
Cloud, so enterprise. Whether a tier may hold given data is not told by this but by the evidence of that tier.

Effort. notebook: one opens a page and types; managed: one hands in a job and the provider runs the machine; ssh: one
gets a machine and sets it up.
"""

from enum import StrEnum

from providers.offer import Tenancy


class MarketTier(StrEnum):
    """Which of the markets that buyers compare an offer belongs to, from the freest to the most bound."""

    HOBBYIST = "hobbyist"
    ENGINEER = "engineer"
    ENTERPRISE = "enterprise"


class Effort(StrEnum):
    """What starting a job there takes."""

    NOTEBOOK = "notebook"
    MANAGED = "managed"
    SSH = "ssh"


_NOTEBOOKS = frozenset({"colab", "kaggle"})
_MANAGED = frozenset({"sagemaker", "vertex", "azureml"})
_ENTERPRISE_NOTEBOOKS = frozenset({("colab", "enterprise")})


def market_tier(*, provider: str, tier: str, tenancy: Tenancy) -> MarketTier:
    """The market that this seller's tier belongs to; an unknown seller is judged by who runs its machines."""
    if (provider, tier) in _ENTERPRISE_NOTEBOOKS or tenancy is Tenancy.HYPERSCALER:
        return MarketTier.ENTERPRISE
    return MarketTier.HOBBYIST if provider in _NOTEBOOKS else MarketTier.ENGINEER


def effort(provider: str) -> Effort:
    """What it takes to start a job at this seller."""
    if provider in _NOTEBOOKS:
        return Effort.NOTEBOOK
    return Effort.MANAGED if provider in _MANAGED else Effort.SSH
