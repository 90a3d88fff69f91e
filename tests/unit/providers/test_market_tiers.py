"""Market tiers and effort: who belongs where."""

import pytest

from providers.market_tiers import Effort, MarketTier, effort, market_tier
from providers.offer import Tenancy


@pytest.mark.parametrize(
    ("provider", "tier", "tenancy", "market"),
    [
        ("colab", "pro", Tenancy.PROVIDER_DATACENTER, "hobbyist"),
        ("colab", "enterprise", Tenancy.PROVIDER_DATACENTER, "enterprise"),
        ("kaggle", "free", Tenancy.PROVIDER_DATACENTER, "hobbyist"),
        ("lambda", "on-demand", Tenancy.PROVIDER_DATACENTER, "engineer"),
        ("runpod", "community", Tenancy.COMMUNITY_HOST, "engineer"),
        ("vast", "verified", Tenancy.COMMUNITY_HOST, "engineer"),
        ("aws", "ec2", Tenancy.HYPERSCALER, "enterprise"),
        ("sagemaker", "training", Tenancy.HYPERSCALER, "enterprise"),
        ("my own reseller", "", Tenancy.PROVIDER_DATACENTER, "engineer"),
        ("my own reseller", "", Tenancy.HYPERSCALER, "enterprise"),
    ],
)
def test_a_market_is_told_by_who_sells_and_runs_the_machine(provider, tier, tenancy, market):
    assert market_tier(provider=provider, tier=tier, tenancy=tenancy) is MarketTier(market)


def test_effort_follows_what_one_is_handed():
    found = {name: effort(name) for name in ("kaggle", "colab", "sagemaker", "vertex", "azureml", "aws", "vast", "anyone")}
    assert found == {
        "kaggle": Effort.NOTEBOOK,
        "colab": Effort.NOTEBOOK,
        "sagemaker": Effort.MANAGED,
        "vertex": Effort.MANAGED,
        "azureml": Effort.MANAGED,
        "aws": Effort.SSH,
        "vast": Effort.SSH,
        "anyone": Effort.SSH,
    }
