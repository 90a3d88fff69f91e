"""Watches: keep a condition, see after each refresh whether it came true, and tell so once per crossing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from sqlalchemy import Engine

from providers.errors import InvalidInput, OptimizerError
from providers.offer import Availability
from providers.places import members_of
from service.domain.offers import ListedOffer, OffersQuery
from service.domain.plan import Plan
from service.domain.request import PlanRequest
from service.domain.watch import Delivery, PriceCondition, Watch
from service.flows.offers import list_offers
from service.solver.market import Market
from service.solver.words import usd
from service.store import watches as rows
from service.store.engine import reading, writing

MET, UNMET = "met", "unmet"
MOST_WATCHES: Final = 100  # of one owner
FIRST_RETRY: Final = timedelta(seconds=30)
LONGEST_RETRY: Final = timedelta(hours=2)
GIVE_UP_AFTER: Final = timedelta(days=1)
AT_ONCE: Final = 20  # alarms sent in one go
_IN_STOCK: Final = (Availability.AVAILABLE, Availability.LIMITED)
Planner = Callable[[PlanRequest, Market], Plan]


class UnknownWatch(OptimizerError):
    """The asker has no watch of this id."""

    code = "unknown-watch"


class UndeliverableAlarm(OptimizerError):
    """The other side did not take the alarm; `code` of the message says why, without its words."""

    code = "undeliverable-alarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where alarms of a watch go. `place` is a channel's id, or the address of a webhook; `secret` signs what is sent."""

    kind: str  # webhook, slack, teams, mattermost, discord
    place: str
    secret: str | None = None

    @property
    def shown(self) -> str:
        """Without what only its owner may know: of an address, scheme and host."""
        if self.kind == "webhook":
            return "/".join(self.place.split("/")[:3])
        return f"slack {self.place}" if self.kind == "slack" else f"the channel of the {self.kind} webhook"


class Sender(Protocol):
    """Carries an alarm to a target."""

    def send(self, target: Target, delivery_id: str, text: str, event: Mapping[str, Any]) -> None:
        """Raises UndeliverableAlarm when it was not taken."""


def keep_watch(
    engine: Engine,
    condition: PriceCondition | PlanRequest,
    *,
    owner: str,
    target: Target,
    market: Market,
    plan: Planner,
    now: datetime,
) -> Watch:
    """Stores a watch with the state as it is now: what is met already is no crossing.

    Raises:
        UnknownGpu, InvalidInput: the condition cannot be looked at, or the owner has too many watches.
    """
    state, _ = _look(condition, market, plan)
    values = {"kind": target.kind, "place": target.place, "secret": target.secret}
    kind = "price" if isinstance(condition, PriceCondition) else "verdict"
    with writing(engine) as connection:
        if len(rows.watches_of(connection, owner)) >= MOST_WATCHES:
            raise InvalidInput(f"{MOST_WATCHES} watches are the most: forget one first")
        watch_id = rows.add_watch(
            connection, owner=owner, kind=kind, condition=condition.model_dump(mode="json"), target=values, state=state, now=now
        )
    return Watch(
        watch_id=watch_id, kind=kind, condition=condition, target=target.shown, state=state, created_at=now, checked_at=now,
        secret=target.secret,
    )  # fmt: skip


def watches(engine: Engine, owner: str) -> tuple[Watch, ...]:
    """The owner's watches with their last deliveries, newest first."""
    with reading(engine) as connection:
        return tuple(_watch(row, rows.deliveries_of(connection, row["watch_id"])) for row in rows.watches_of(connection, owner))


def forget_watch(engine: Engine, watch_id: str, owner: str) -> None:
    """Ends a watch. Raises UnknownWatch."""
    with writing(engine) as connection:
        if not rows.drop_watch(connection, watch_id, owner):
            raise UnknownWatch("no watch of yours has this id")


def check_watches(engine: Engine, market: Market, plan: Planner, *, now: datetime) -> int:
    """Looks at every watch; the number of crossings that this process was first to see."""
    with reading(engine) as connection:
        stored = rows.watches_of(connection)
    crossings = 0
    for row in stored:
        try:
            state, words = _look(_condition(row), market, plan)
        except InvalidInput:
            continue  # a card that left the table, or prices that are all gone: it stays as it was
        if state == row["state"]:
            continue
        is_alarm = row["kind"] == "verdict" or state == MET
        event = {"watch_id": row["watch_id"], "kind": row["kind"], "state": state, "before": row["state"], "text": words}
        event |= {"at": now.isoformat(), "snapshot_id": market.snapshot_id}
        with writing(engine) as connection:
            was_first = rows.note_state(
                connection, row["watch_id"], before=row["state"], after=state, now=now, alarm=(words, event) if is_alarm else None
            )
        crossings += was_first and is_alarm
    return crossings


def deliver_alarms(engine: Engine, sender: Sender, clock: Callable[[], datetime]) -> int:
    """Sends what is due; what is not taken is tried again ever later, and given up after a day. How many were taken."""
    with writing(engine) as connection:
        claimed = rows.claim_due(connection, now=clock(), most=AT_ONCE)
    taken = 0
    for row in claimed:
        status, error, again = rows.DELIVERED, None, None
        try:
            sender.send(Target(**row["target"]), row["delivery_id"], row["text"], row["event"])
            taken += 1
        except UndeliverableAlarm as refused:
            error, again = str(refused), clock() + min(FIRST_RETRY * 2 ** min(row["attempts"] - 1, 20), LONGEST_RETRY)
            status = rows.PENDING if again <= row["created_at"] + GIVE_UP_AFTER else rows.GIVEN_UP
        with writing(engine) as connection:
            rows.end_attempt(
                connection, row["delivery_id"], status=status, now=clock(), error=error,
                next_attempt_at=again if status == rows.PENDING else None,
            )  # fmt: skip
    return taken


def _look(condition: PriceCondition | PlanRequest, market: Market, plan: Planner) -> tuple[str, str]:
    """The state now, and what an alarm would say."""
    if isinstance(condition, PlanRequest):
        decision = plan(condition, market).decision
        return decision.verdict, f"The verdict is now {decision.verdict.replace('_', '-')}: {decision.sentence}"
    best = cheapest_met(condition, market)
    if best is None:
        return UNMET, ""
    where = " ".join(part for part in (best.provider, best.region or best.country) if part)
    price = f"{usd(best.usd_per_hour)} per hour ({usd(best.usd_per_gpu_hour)} per GPU)"
    return MET, f"{best.gpu_count:g}x {best.gpu}, {best.capacity_type.value.replace('_', '-')}, at {where}: {price}"


def cheapest_met(condition: PriceCondition, market: Market) -> ListedOffer | None:
    """The cheapest live offer that meets it. Raises UnknownGpu."""
    groups = [members_of(word) for word in condition.residency]
    countries = sorted(set().union(*(group for group in groups if group is not None)))
    regions = [word for word, group in zip(condition.residency, groups, strict=True) if group is None]
    searches: list[dict[str, Any]] = [{"country": countries}] if countries else []
    searches += [{"region": regions}] if regions else []
    found: list[ListedOffer] = []
    for place in searches or [{}]:
        query = OffersQuery(
            gpu=[condition.gpu], count=condition.gpu_count, capacity_type=list(condition.capacity_types),
            provider=list(condition.providers), max_usd_per_hour=condition.max_usd_per_hour,
            max_usd_per_gpu_hour=condition.max_usd_per_gpu_hour, limit=200,
            availability=[Availability.AVAILABLE] if condition.available_only else [*_IN_STOCK, Availability.UNKNOWN], **place,
        )  # fmt: skip
        found += [one for one in list_offers(market, query).offers if not one.suspect and not one.is_dated]
    return min(found, key=lambda one: (one.usd_per_gpu_hour, one.offer_id), default=None)


def _condition(row: Mapping[str, Any]) -> PriceCondition | PlanRequest:
    kind = PriceCondition if row["kind"] == "price" else PlanRequest
    return kind.model_validate(row["condition"], strict=False)


def _watch(row: Mapping[str, Any], deliveries: list[dict[str, Any]]) -> Watch:
    names = ("delivery_id", "status", "attempts", "text", "created_at", "next_attempt_at", "delivered_at", "error")
    return Watch(
        **{name: row[name] for name in ("watch_id", "kind", "state", "created_at", "checked_at")},
        condition=_condition(row),
        target=Target(**row["target"]).shown,
        deliveries=tuple(Delivery(**{name: one[name] for name in names}) for one in deliveries),
    )
