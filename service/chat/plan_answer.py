"""Plan answer: a plan, one option of it, or what it left out, as an Answer."""

from collections.abc import Sequence

from service.chat.answer import SHOWN_ROWS, Answer, Button, Table
from service.domain.plan import CostBreakdown, CostLine, Plan, PlanOption
from service.solver.words import about, about_hours, about_usd, usd

_PERIODS = {"per_run": "a run", "per_month": "a month", "over_horizon": "over the horizon"}


def plan_answer(plan: Plan, *, reading: str, assumed: Sequence[str], top: int | None, link: str | None, start: int = 0) -> Answer:
    """The first options from number `start` on; the rest is counted and one line away."""
    count = top or SHOWN_ROWS
    shown = plan.options[start : start + count]
    left = plan.options_found - start - len(shown)
    notes = [f"assumed: {one}" for one in assumed]
    if left > 0:
        notes.append(f"{left:,} more options")
    if plan.exclusions:
        notes.append(f"left out: {sum(one.count for one in plan.exclusions):,} offers, for {len(plan.exclusions)} reasons")
    notes.append(plan.prices.explained)
    buttons = [Button("Explain", f"explain {shown[0].rank}")] if shown else []
    buttons += [Button("Show excluded", "excluded")] if plan.exclusions else []
    buttons += [Button("More", "more")] if start + len(shown) < len(plan.options) else []
    lines = [] if plan.decision.sentence in plan.summary else [plan.decision.sentence]
    if plan.policy_price is not None:
        lines.append(plan.policy_price.reason)
    return Answer(
        title=plan.summary,
        reading=reading,
        lines=tuple(lines),
        tables=(options_table(shown),) if shown else (),
        notes=tuple(notes),
        buttons=tuple(buttons),
        link=link,
        plan=plan,
    )


def options_table(options: Sequence[PlanOption]) -> Table:
    """One row per option; prices exact, estimates rounded."""
    period = _PERIODS.get(options[0].cost.ranking_period, "")
    head = ("#", "where", "GPUs", "kind", "$/h", "hours", f"total {period}".strip(), "notes")
    return Table(head=head, rows=tuple(_row(option) for option in options))


def cards_of(option: PlanOption) -> str:
    """8x H100-SXM; 2 x 8x H100-SXM for two machines."""
    one = f"{option.gpu_count:g}x {option.gpu}"
    return one if option.nodes == 1 else f"{option.nodes} x {one}"


def place_of(option: PlanOption) -> str:
    """The provider with its region."""
    return " ".join(part for part in (option.provider, option.zone or option.region or option.country) if part)


def _row(option: PlanOption) -> tuple[str, ...]:
    kind = option.capacity_type.replace("_", "-")
    stock = "" if option.availability == "available" else f" ({option.availability})"
    return (
        str(option.rank),
        place_of(option),
        cards_of(option),
        kind + stock,
        usd(option.usd_per_hour),
        about(option.hours.mid),
        about_usd(option.cost.ranking_usd),
        ", ".join(option.flags),
    )


def option_answer(plan: Plan, rank: int, *, link: str | None) -> Answer | None:
    """One option with every line of its cost; None where the plan has no such number."""
    option = next((one for one in plan.options if one.rank == rank), None)
    if option is None:
        return None
    vram = option.vram
    facts = (
        option.why,
        f"Memory: {about(vram.need_gib)} GiB needed of {about(vram.usable_gib)} GiB usable on each GPU, {option.strategy}.",
        f"Hours: {about_hours(option.hours.mid)} ({about_hours(option.hours.low)} to {about_hours(option.hours.high)}).",
        f"Price: {option.price.source}, {option.price.basis.replace('_', ' ')}"
        + (f", read {option.price.observed_at:%Y-%m-%d %H:%M} UTC." if option.price.observed_at else "."),
    )
    return Answer(
        title=f"#{option.rank}: {cards_of(option)} at {place_of(option)}, {usd(option.usd_per_hour)} per hour",
        lines=tuple(fact for fact in facts if fact.strip(" .,")),
        tables=(_cost_table(option.cost),),
        notes=tuple(f"{flag.replace('_', ' ')}" for flag in option.flags),
        link=link,
        plan=plan,
    )


def _cost_table(cost: CostBreakdown) -> Table:
    period = cost.ranking_period
    rows = [(line.name, _money(line, period), line.explained) for line in cost.lines]
    rows.append(("total", _money(cost, period), f"{about_usd(cost.low_usd)} to {about_usd(cost.high_usd)}"))
    return Table(head=("line", _PERIODS[period], "how"), rows=tuple(rows))


def _money(line: CostLine | CostBreakdown, period: str) -> str:
    value: float | None = getattr(line, f"usd_{period}")
    return "-" if value is None else about_usd(value)


def excluded_answer(plan: Plan, *, link: str | None) -> Answer:
    """What was left out, why, and what came nearest."""
    rows = tuple(
        (one.reason.replace("_", " "), f"{one.count:,}", one.explained, one.would_admit or one.nearest_miss or "")
        for one in plan.exclusions
    )
    table = Table(head=("reason", "offers", "why", "what would admit it"), rows=rows)
    return Answer(
        title="Left out of the last plan" if rows else "Nothing was left out of the last plan",
        tables=(table,) if rows else (),
        link=link,
        plan=plan,
    )
