"""Watching: starts, lists and ends watches from a line of chat."""

from providers.errors import InvalidInput
from service.chat.answer import Answer, Table
from service.chat.phrase import phrase_of
from service.chat.reading import WatchReading
from service.domain.watch import PriceCondition, Watch
from service.flows.chat import ChatWorld
from service.flows.watches import MET, Target, UnknownWatch, cheapest_met, forget_watch, keep_watch, watches
from service.solver.words import usd

_NO_WAY_BACK = "Alarms cannot be sent to where you ask from: POST /watches takes a webhook, a chat needs its outgoing address set"


def start_watch(world: ChatWorld, owner: str, target: Target | None, reading: WatchReading) -> Answer:
    """A new watch; says at once when its price is already there."""
    if target is None:
        return Answer(title=_NO_WAY_BACK, is_refusal=True)
    market = world.market()
    if market is None or market.offers == 0:
        raise InvalidInput("there is no price yet: no provider was read and no list is loaded")
    condition = condition_of(reading)
    made = keep_watch(world.engine, condition, owner=owner, target=target, market=market, plan=world.plan, now=world.clock())
    lines = [f"An alarm goes to {made.target} when the price comes down to it. To end it: unwatch {made.watch_id}"]
    best = cheapest_met(condition, market) if made.state == MET else None
    if best is not None:
        where = " ".join(part for part in (best.provider, best.region) if part)
        lines.insert(0, f"It is met now: {best.gpu_count:g}x {best.gpu} at {where}, {usd(best.usd_per_hour)} per hour.")
    notes = ("live prices only: dated lists, suspect prices and what is sold out do not count",)
    return Answer(title=f"Watching: {phrase_of(reading)}", lines=tuple(lines), notes=notes)


def condition_of(reading: WatchReading) -> PriceCondition:
    """The condition that a line says."""
    return PriceCondition(
        gpu=reading.gpu,
        gpu_count=reading.gpu_count,
        max_usd_per_gpu_hour=reading.max_usd_per_gpu_hour,
        max_usd_per_hour=reading.max_usd_per_hour,
        capacity_types=reading.capacity_types,
        residency=reading.places,
        providers=reading.providers,
        available_only=reading.is_now,
    )


def list_watches(world: ChatWorld, owner: str) -> Answer:
    """The asker's watches with the state of their last alarm."""
    found = watches(world.engine, owner)
    table = Table(head=("id", "of", "state", "last alarm"), rows=tuple(_row(one) for one in found))
    return Answer(title=f"{len(found)} watches" if found else "No watches", tables=(table,) if found else ())


def stop_watch(world: ChatWorld, owner: str, watch_id: str) -> Answer:
    """Ends one of the asker's watches."""
    try:
        forget_watch(world.engine, watch_id, owner)
    except UnknownWatch:
        return Answer(title=f"No watch of yours has the id {watch_id}", is_refusal=True)
    return Answer(title=f"Watch {watch_id} is ended")


def _row(watch: Watch) -> tuple[str, ...]:
    if isinstance(watch.condition, PriceCondition):
        price = watch.condition
        cap = price.max_usd_per_gpu_hour if price.max_usd_per_hour is None else price.max_usd_per_hour
        unit = "/gpu/h" if price.max_usd_per_hour is None else "/h"
        of = f"{price.gpu} under {usd(cap or 0)}{unit}"
    else:
        of = f"verdict of {watch.condition.workload.name or 'a plan'}"
    last = watch.deliveries[0] if watch.deliveries else None
    return watch.watch_id, of, watch.state, "-" if last is None else f"{last.status} {last.created_at:%Y-%m-%d %H:%M}"
