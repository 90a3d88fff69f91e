"""Plan kept: what is stored of a plan: its request, its exact answer, and the hash of all that decided it."""

from dataclasses import asdict
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from pydantic import TypeAdapter

from providers.evidence import EVIDENCE
from service.domain.plan import Plan
from service.domain.request import DataSensitivity, PlanRequest, SaveSpec
from service.domain.saved import OwnHardwareInputs, PlanHashes, PlanState
from service.estimate.calibration import Calibration
from service.flows.chat import NEGOTIATED
from service.solver.change import label_of
from service.solver.identity import SOLVER_VERSION
from service.solver.market import FeedStatus, Market
from service.solver.onprem import OwnHardware
from service.solver.pool_defaults import cost_of

PLAN: Final = TypeAdapter(Plan)
STATUSES: Final = TypeAdapter(tuple[FeedStatus, ...])
_TABLES: Final = (
    ("providers", "gpus.csv"), ("service.estimate", "models.csv"), ("service.estimate", "memory_constants.toml"),
    ("service.estimate", "time_constants.toml"),
)  # fmt: skip


def kept_values(
    request: PlanRequest,
    save: SaveSpec,
    plan: Plan,
    market: Market,
    own: list[OwnHardware],
    default_sensitivity: DataSensitivity,
    now: datetime,
) -> dict[str, Any]:
    """The columns of a plan that is saved for the first time."""
    asked, answer = request.model_dump_json(exclude_unset=True), PLAN.dump_json(plan).decode()
    kept = [asdict(own_inputs(one)) for one in own]
    first = plan.options[0] if plan.options else None
    return {
        "plan_id": plan.plan_id,
        "name": save.name,
        "owner": save.owner,
        "note": save.note,
        "state": PlanState.DRAFT.value,
        "approval": None,
        "request": asked,
        "answer": answer,
        "hashes": asdict(_hashes(asked, answer, plan, market, kept)),
        "market": _market_as_kept(market, default_sensitivity),
        "own": kept,
        "told": {
            "verdict": plan.decision.verdict,
            "sentence": plan.decision.sentence,
            "recommended": None if first is None else label_of(first),
            "ranking_usd": None if first is None else first.cost.ranking_usd,
            "ranking_period": None if first is None else first.cost.ranking_period,
        },
        "solver_version": plan.solver_version,
        "evaluated_at": plan.evaluated_at,
        "as_of": plan.prices.as_of,
        "created_at": now,
        "changed_at": now,
    }


def _market_as_kept(market: Market, default_sensitivity: DataSensitivity) -> dict[str, Any]:
    """Which feeds there were and how they stood: their prices are in the history."""
    private = [
        name for name, feed in zip(market.feed_names, market.feeds, strict=True) if NEGOTIATED in feed.words["price_basis"]
    ]
    return {
        "feeds": list(market.feed_names),
        "statuses": STATUSES.dump_python(market.statuses, mode="json"),
        "negotiated_feeds": private,
        "default_sensitivity": default_sensitivity.value,
        "calibration": _calibration_as_kept(market.calibration),
    }


def _calibration_as_kept(made: Calibration) -> dict[str, Any] | None:
    """The tables that `calibration_from` reads; None when nothing is calibrated."""
    if not made.version:
        return None
    tables = {"memory": dict(made.memory), "seconds": dict(made.seconds), "cards": dict(made.cards)}
    return {**tables, "about": {"as_of": made.as_of, "rows": made.rows}}


def own_inputs(one: OwnHardware) -> OwnHardwareInputs:
    """A pool with its cost and every figure that it was reckoned with, defaults included."""
    pool = one.pool.model_dump(mode="json")
    listed = {assumed.name.rpartition(".")[2]: assumed.value for assumed in cost_of(one.pool, one.gpu)[1]}
    figures = {name: value for name, value in {**listed, **pool}.items() if isinstance(value, int | float)}
    missing = {name: float(value) for name, value in listed.items() if isinstance(value, int | float)}
    return OwnHardwareInputs(
        pool=pool,
        cost=asdict(one.cost),
        figures={
            **{name: float(value) for name, value in figures.items()},
            **missing,
            "utilization": one.utilization,
            "busy_gpu_hours_per_month": one.busy_gpu_hours_per_month,
        },
    )


def _hashes(asked: str, answer: str, plan: Plan, market: Market, own: list[dict[str, Any]]) -> PlanHashes:
    pools = TypeAdapter(list[dict[str, Any]]).dump_json([one["pool"] for one in own]).decode()
    parts = {
        "request": _hash(asked),
        "snapshot_id": plan.prices.snapshot_id,
        "pools": _hash(pools),
        "evidence": EVIDENCE.version,
        "policy": market.standing.policy.version,
        "tables": tables_hash(),
        "calibration": market.calibration.version,
    }
    whole = _hash("\x1f".join([*parts.values(), SOLVER_VERSION, plan.evaluated_at.isoformat()]))
    return PlanHashes(**parts, answer=_hash(answer), input=whole)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


@cache
def tables_hash() -> str:
    """Of the shipped tables that a plan is reckoned with."""
    content = [files(package).joinpath(name).read_bytes() for package, name in _TABLES]
    return sha256(b"\x1f".join(content)).hexdigest()[:32]
