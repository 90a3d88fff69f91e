"""Identity: the name of a plan, a hash of everything that decided it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from pydantic_core import to_json

from providers.evidence import EVIDENCE
from service.domain.request import DataSensitivity, OnPremPool
from service.solver.market import Market

SOLVER_VERSION: Final = "1"
_NOT_DECIDING: Final = frozenset({"save", "fields", "evaluated_at", "as_of"})  # they do not change what is answered


def plan_id(
    echo: Mapping[str, Any],
    market: Market,
    data_class: DataSensitivity,
    pools: Sequence[OnPremPool],
    evaluated_at: datetime,
) -> str:
    """32 hex digits: equal for equal request, snapshot, pools, evidence, policy, solver, calibration and instant.

    Args:
        echo: the request with its defaults filled in, as plain JSON values.
    """
    asked = {name: value for name, value in echo.items() if name not in _NOT_DECIDING}
    parts = [
        to_json(asked).decode(),
        market.snapshot_id,
        data_class.value,
        *(pool.model_dump_json() for pool in pools),
        EVIDENCE.version,
        market.standing.policy.version,
        SOLVER_VERSION,
        market.calibration.version,
        evaluated_at.isoformat(),
    ]
    return sha256("\x1f".join(parts).encode()).hexdigest()[:32]
