"""Market answers: machines side by side, what was charged, and where prices come from."""

from collections.abc import Sequence
from typing import Final

from service.chat.answer import Answer, Table
from service.chat.phrase import machine_phrase
from service.chat.plan_answer import cards_of, place_of
from service.chat.reading import CompareReading, HistoryReading
from service.chat.request import side_requests
from service.domain.plan import Decision, PlanOption
from service.flows.chat import ChargedRow, ChatWorld, best_of, charged
from service.solver.market import Market
from service.solver.words import about, about_usd, age, usd

HISTORY_DAYS: Final = 30.0


def compare_answer(world: ChatWorld, market: Market, reading: CompareReading, *, text: str, echo: str) -> Answer:
    """The cheapest offer of each machine."""
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for machine in reading.machines:
        requests, assumed = side_requests(reading.terms, machine, text=text)
        option, plan = best_of(world, requests, market)
        notes += [f"assumed: {one}" for one in assumed if f"assumed: {one}" not in notes]
        if option is None:
            notes.append(f"{machine_phrase(machine)}: {plan.decision.sentence}")
        rows.append((machine_phrase(machine), *_side(option)))
    head = ("asked", "where", "GPUs", "kind", "$/h", "hours", "total")
    title = f"The cheapest of each: {' against '.join(machine_phrase(machine) for machine in reading.machines)}"
    return Answer(title=title, reading=echo, tables=(Table(head=head, rows=tuple(rows)),), notes=tuple(notes))


def _side(option: PlanOption | None) -> tuple[str, ...]:
    if option is None:
        return ("none", "-", "-", "-", "-", "-")
    kind = option.capacity_type.replace("_", "-")
    figures = usd(option.usd_per_hour), about(option.hours.mid), about_usd(option.cost.ranking_usd)
    return (place_of(option), cards_of(option), kind, *figures)


def decision_lines(decision: Decision) -> tuple[str, ...]:
    """Rent or own: the verdict with its condition, the breakeven, the payback and what would flip it."""
    lines = [decision.sentence]
    if decision.breakeven_utilization is not None:
        lines.append(f"Breakeven utilization: {decision.breakeven_utilization.explained}.")
    if decision.payback_months is not None:
        months = decision.payback_months.p50
        lines.append("Payback: never within its life." if months is None else f"Payback: about {about(months)} months.")
    lines += [f"It flips with {one}." for one in decision.flips_if]
    return (*lines, decision.rule_of_thumb)


def history_answer(world: ChatWorld, reading: HistoryReading, *, echo: str) -> Answer:
    """What each seller charged for one GPU and an hour."""
    days = reading.days or HISTORY_DAYS
    rows, is_cut = charged(
        world.engine, gpu=reading.gpu, capacity_types=reading.capacity_types, providers=reading.providers, days=days,
        now=world.clock(),
    )  # fmt: skip
    if not rows:
        return Answer(title=f"No price of {reading.gpu} is known in the last {days:g} days", reading=echo)
    head = ("provider", "kind", "now", "lowest", "median", "highest", "offers")
    notes = ["dollars for one GPU and an hour; the median is over time, each price by how long it held"]
    if is_cut:
        notes.append("there is more than one answer can read: name a provider or fewer days")
    return Answer(
        title=f"{reading.gpu}: what was charged in the last {days:g} days",
        reading=echo,
        tables=(Table(head=head, rows=_charged_rows(rows)),),
        notes=tuple(notes),
    )


def _charged_rows(rows: Sequence[ChargedRow]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            row.provider,
            row.capacity_type.value.replace("_", "-"),
            "-" if row.now is None else usd(row.now),
            usd(row.lowest),
            usd(row.median),
            usd(row.highest),
            str(row.offers),
        )
        for row in rows
    )


def providers_answer(world: ChatWorld) -> Answer:
    """Every adapter with its state and the age of its prices."""
    now, rows = world.clock(), []
    for status in world.statuses():
        hours = status.age_hours(now)
        rows.append((status.name, status.state, "-" if hours is None else age(hours), f"{status.offers:,}", status.error or ""))
    table = Table(head=("provider", "state", "age", "offers", "error"), rows=tuple(rows))
    return Answer(title="Where prices come from", tables=(table,) if rows else ())
