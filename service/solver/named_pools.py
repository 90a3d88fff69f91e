"""Named pools: the own hardware of a request, with stored names and the default box resolved."""

from collections.abc import Mapping
from typing import Final

from providers.errors import InvalidInput
from service.domain.request import OnPremPool, PlanRequest
from service.solver.pool_defaults import default_pool
from service.solver.work import one_card

DEFAULT_POOL: Final = "default"
DEFAULT_CARD: Final = "H100-SXM"


def named_pools(request: PlanRequest, stored: Mapping[str, OnPremPool]) -> tuple[OnPremPool, ...]:
    """The request's pools, names resolved."""
    found = []
    for at, pool in enumerate(request.on_prem):
        if isinstance(pool, OnPremPool):
            found.append(pool)
        elif pool in stored:
            found.append(stored[pool])
        elif pool == DEFAULT_POOL:
            named = request.usage.reference_gpu
            card = one_card(named or DEFAULT_CARD, pointer="/usage/reference_gpu" if named else f"/on_prem/{at}")
            found.append(default_pool(card))
        else:
            raise InvalidInput(
                "no pool of this name is stored", pointer=f"/on_prem/{at}", allowed=(DEFAULT_POOL, *sorted(stored))
            )
    return tuple(found)
