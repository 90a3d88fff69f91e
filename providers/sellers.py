"""What a table of prices may leave out about a seller: the words it is written with, its only tier, who runs its machines."""

from providers.offer import Tenancy

_HYPERSCALERS = frozenset({"aws", "sagemaker", "gcp", "vertex", "azure", "azureml", "oci"})
# Sellers with one tier in these tables; RunPod and Vast have several, and which one it is decides what it may hold.
_ONLY_TIER = {
    "aws": "ec2",
    "sagemaker": "sagemaker",
    "gcp": "vm",
    "vertex": "vertex",
    "azure": "vm",
    "azureml": "azureml",
    "oci": "vm",
    "lambda": "on-demand",
    "nebius": "vm",
    "coreweave": "on-demand",
    "hyperstack": "vm",
    "verda": "vm",
    "fluidstack": "on-demand",
    "paperspace": "on-demand",
    "digitalocean": "on-demand",
}
_KNOWN = frozenset(_ONLY_TIER) | {"runpod", "vast", "colab", "kaggle", "salad"}


def seller_named(text: str) -> str:
    """The seller's name as the adapters write it; one that is not known keeps its spelling."""
    return text.casefold() if text.casefold() in _KNOWN else text


def is_known_seller(name: str) -> bool:
    """Is it the name of a seller that adapters or shipped tables write."""
    return name in _KNOWN


def tier_of(seller: str) -> str:
    """Its only tier, "" where it has several or is not known: nothing is then proven of it."""
    return _ONLY_TIER.get(seller, "")


def tenancy_of(seller: str, tier: str) -> Tenancy:
    """Who runs the machines; a marketplace without a tier is taken for its weakest one."""
    if seller in _HYPERSCALERS:
        return Tenancy.HYPERSCALER
    is_peer = (seller == "runpod" and tier != "secure") or (seller == "vast" and tier != "datacenter") or seller == "salad"
    return Tenancy.COMMUNITY_HOST if is_peer else Tenancy.PROVIDER_DATACENTER
