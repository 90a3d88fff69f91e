"""Plan shares: read-only links to a saved plan that end by themselves or are revoked, with negotiated prices hidden."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Engine

from service.domain.saved import Share, SharedPlan
from service.flows.plan_kept import PLAN
from service.flows.saved_plans import state_of
from service.store import plans as rows
from service.store.engine import reading, writing

HIDDEN: Final = "hidden: it could tell a negotiated price"
_TOLD: Final = tuple(f.name for f in fields(Share) if f.name != "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewShare:
    """A link that was just made. The token is nowhere else."""

    share: Share
    token: str


def make_share(engine: Engine, plan_id: str, *, valid_hours: float, now: datetime) -> NewShare:
    """A new link to a saved plan. Raises UnknownPlan."""
    token = secrets.token_urlsafe(32)
    ends = now + timedelta(hours=valid_hours)
    share = Share(share_id=uuid4().hex[:16], plan_id=plan_id, created_at=now, expires_at=ends)
    with writing(engine) as connection:
        rows.plan_row(connection, plan_id, lock=True)
        rows.add_share(connection, {**{name: getattr(share, name) for name in _TOLD}, "token_hash": _hash(token)})
        detail = f"until {ends:%Y-%m-%d %H:%M} UTC"
        rows.add_event(connection, plan_id, event="shared", by=share.share_id, at=now, detail=detail)
    return NewShare(share=share, token=token)


def shares(engine: Engine, plan_id: str) -> tuple[Share, ...]:
    """Every link of a plan, the newest first. Raises UnknownPlan."""
    with reading(engine) as connection:
        rows.plan_row(connection, plan_id)
        found = rows.shares_of(connection, plan_id)
    return tuple(Share(**{name: row[name] for name in _TOLD}) for row in found)


def revoke_share(engine: Engine, plan_id: str, share_id: str, now: datetime) -> None:
    """Ends a link now. Raises UnknownPlan, UnknownShare."""
    with writing(engine) as connection:
        rows.plan_row(connection, plan_id, lock=True)
        rows.revoke_share(connection, plan_id, share_id, at=now)
        rows.add_event(connection, plan_id, event="revoked", by=share_id, at=now)


def shared_plan(engine: Engine, token: str, now: datetime) -> SharedPlan:
    """What the link of this token shows. Raises UnknownShare."""
    with reading(engine) as connection:
        share = rows.share_by_token(connection, _hash(token), at=now)
        row = rows.plan_row(connection, share["plan_id"])
    plan: dict[str, Any] = PLAN.dump_python(PLAN.validate_json(row["answer"]), mode="json")
    private = frozenset(row["market"]["negotiated_feeds"])
    if private:
        plan = without_negotiated(plan, private)
    hidden = (f"negotiated prices ({', '.join(sorted(private))}) and what could tell them",) if private else ()
    return SharedPlan(
        name=row["name"],
        state=state_of(row, now),
        created_at=row["created_at"],
        expires_at=share["expires_at"],
        hidden=hidden,
        plan=plan,
    )


def without_negotiated(plan: Mapping[str, Any], private_feeds: frozenset[str]) -> dict[str, Any]:
    """The plan as plain values without figures of private offers, nor any that a private price went into.

    Sentences, verdict figures, near misses and surcharges are made from whatever was cheapest: they go as a whole.
    """
    told = dict(plan)
    told["summary"] = f"{plan['prices']['explained']} Prices of some options are negotiated and hidden."
    told["options"] = [_option(one, private_feeds) for one in plan["options"]]
    told["best_by_market_tier"] = [
        {**one, "option": None if one["option"] is None else _option(one["option"], private_feeds)}
        for one in plan["best_by_market_tier"]
    ]
    told["decision"] = _decision(plan["decision"])
    told["exclusions"] = [{**one, "example": None, "nearest_miss": None, "would_admit": None} for one in plan["exclusions"]]
    told["policy_price"] = None
    told["leaders"] = {
        name: {**leader, "reason": None if leader["reason"] is None else HIDDEN} for name, leader in plan["leaders"].items()
    }
    echo, limits = plan["request_echo"], ("max_usd_per_hour", "max_usd_per_gpu_hour", "max_usd_total")
    told["request_echo"] = {**echo, "constraints": {**echo["constraints"], **dict.fromkeys(limits)}}
    return told


def _decision(decision: Mapping[str, Any]) -> dict[str, Any]:
    figures = ("utilization", "breakeven_utilization", "payback_months", "default_box_wins_from_utilization")
    words = {
        "sentence": f"The verdict is {decision['verdict']}; its figures are hidden.",
        "flips_if": [],
        "rule_of_thumb": HIDDEN,
    }
    return {**decision, **words, **dict.fromkeys(figures)}


def _option(option: Mapping[str, Any], private_feeds: frozenset[str]) -> dict[str, Any]:
    told = {**option, "managed_surcharge": None, "flags": [flag for flag in option["flags"] if flag != "dominated"]}
    if option["price"]["feed"] not in private_feeds:
        return {**told, "why": ""}
    lines = [{"name": line["name"], **_nulls(line, ("usd_per_run", "usd_per_month", "usd_over_horizon")), "explained": ""}
             for line in option["cost"]["lines"]]  # fmt: skip
    cost = {**dict.fromkeys(option["cost"]), "lines": lines, "ranking_period": option["cost"]["ranking_period"]}
    price = {**option["price"], "low_usd_per_hour": None, "high_usd_per_hour": None}
    figures = dict.fromkeys(("usd_per_hour", "usd_per_gpu_hour", "usd_per_million_tokens"))
    return {**told, **figures, "cost": cost, "price": price, "why": "The price is negotiated and hidden."}


def _nulls(line: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: None for name in names if name in line}


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()
