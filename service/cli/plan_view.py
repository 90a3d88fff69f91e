"""A plan for a person: the verdict, the ranking, what was left out, and what was assumed."""

from rich.markup import escape

from service.cli.render import about, cards, console, table, usd
from service.domain.plan import BestOfMarketTier, Plan, PlanOption

ASSUMPTIONS_SHOWN = 8


def show_plan(plan: Plan, *, explain: int | None = None) -> None:
    """Writes the plan to stdout; `explain` adds the cost lines and reasons of that rank."""
    out = console()
    out.print(f"[bold]{escape(plan.summary)}[/bold]")
    out.print(escape(plan.decision.sentence))
    if plan.options:
        out.print(_ranking(plan))
        if plan.options_found > len(plan.options):
            out.print(f"Shown {len(plan.options)} of {plan.options_found} options; --limit shows more.", style="dim")
    for option in plan.options:
        if option.rank == (explain or 1):
            out.print(_explained(option))
            out.print(escape(option.why))
            if option.managed_surcharge is not None:
                out.print(escape(f"Managed: {option.managed_surcharge.explained}."))
    for best in plan.best_by_market_tier:
        out.print(escape(_market(best)), style="dim")
    if plan.exclusions:
        out.print(_exclusions(plan))
    if plan.policy_price is not None:
        out.print(f"Data class: {escape(plan.policy_price.reason)}")
    _footer(plan)


def _market(best: BestOfMarketTier) -> str:
    """One line for a market: its best option, or why it has none."""
    option = best.option
    if option is None:
        return f"{best.market_tier}: {best.reason}"
    where = f"{option.provider} ({option.tier}), {cards(option.gpu, option.gpu_count, option.nodes)}"
    sessions = f", {option.sessions} sessions" if option.sessions > 1 else ""
    total = f"{about(option.cost.ranking_usd)} USD {option.cost.ranking_period.replace('_', ' ')}"
    return f"best of {best.market_tier}: {where}, {usd(option.usd_per_hour)} an hour, {total} ({option.effort}{sessions})"


def _period(plan: Plan) -> str:
    period = plan.options[0].cost.ranking_period if plan.options else "per_run"
    return {"per_run": "USD/run", "per_month": "USD/month", "over_horizon": "USD/horizon"}.get(period, "USD")


def _ranking(plan: Plan) -> object:
    total = _period(plan)
    figures = ("#", "NEED/USABLE GiB", "HOURS", "USD/h", total)
    made = table("#", "WHERE", "GPUS", "INSTANCE", "REGION", "KIND", "STRATEGY", *figures[1:], "FLAGS", right=figures)
    for option in plan.options:
        tie = f" ~{option.tie_group}" if _tied(plan, option) else ""
        made.add_row(
            f"{option.rank}{tie}",
            escape(f"{option.provider} ({option.tier})"),
            escape(cards(option.gpu, option.gpu_count, option.nodes)),
            escape(option.instance_type or "-"),
            escape("/".join(part for part in (option.country, option.zone or option.region) if part) or "-"),
            f"{option.capacity_type}{'' if option.availability == 'available' else f' ({option.availability})'}",
            option.strategy,
            f"{about(option.vram.need_gib)}/{about(option.vram.usable_gib)}",
            about(option.hours.mid),
            usd(option.usd_per_hour),
            f"{about(option.cost.ranking_usd)} ({about(option.cost.low_usd)}-{about(option.cost.high_usd)})",
            " ".join(option.flags),
            style="bold" if option.rank == 1 else None,
        )
    return made


def _tied(plan: Plan, option: PlanOption) -> bool:
    return sum(other.tie_group == option.tie_group for other in plan.options) > 1


def _explained(option: PlanOption) -> object:
    figures = ("USD/run", "USD/month", "USD over horizon")
    made = table("COST LINE", *figures, "HOW", right=figures, title=f"Cost of #{option.rank}")
    for line in option.cost.lines:
        made.add_row(
            line.name, usd(line.usd_per_run), usd(line.usd_per_month), usd(line.usd_over_horizon), escape(line.explained)
        )
    cost = option.cost
    made.add_row("total", usd(cost.usd_per_run), usd(cost.usd_per_month), usd(cost.usd_over_horizon), "", style="bold")
    return made


def _exclusions(plan: Plan) -> object:
    made = table("LEFT OUT", "OFFERS", "WHY", "NEAREST MISS", right=("OFFERS",))
    for exclusion in plan.exclusions:
        miss = exclusion.nearest_miss or exclusion.example or "-"
        if exclusion.would_admit:
            miss = f"{miss}; {exclusion.would_admit}"
        made.add_row(exclusion.reason, f"{exclusion.count:,}", escape(exclusion.explained), escape(miss))
    return made


def _footer(plan: Plan) -> None:
    out = console()
    shown = plan.assumptions[:ASSUMPTIONS_SHOWN]
    for one in shown:
        out.print(f"assumed: {escape(one.name)} = {escape(str(one.value))} {one.unit} ({escape(one.source)})", style="dim")
    if len(plan.assumptions) > len(shown):
        out.print(f"assumed: {len(plan.assumptions) - len(shown)} more; --json lists all", style="dim")
    for missing in plan.not_priced:
        out.print(f"not in the total: {escape(missing.name)}: {escape(missing.explained)}", style="dim")
    out.print(f"prices: {escape(plan.prices.explained)} (snapshot {plan.prices.snapshot_id}, plan {plan.plan_id})", style="dim")
