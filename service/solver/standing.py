"""Standing: what stands beside the prices of a market and binds its plans: policy, acceptances, measured use of pools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from service.domain.acceptance import Acceptance
from service.domain.measured import MeasuredUse
from service.solver.policy_table import SHIPPED, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Of one moment; nothing in it is ever changed."""

    policy: Policy = SHIPPED
    acceptances: Mapping[str, Acceptance] = field(default_factory=dict)  # by name
    measured: Mapping[str, MeasuredUse] = field(default_factory=dict)  # by pool: the newest


NOTHING_ELSE: Final = Standing()
