"""Registers: options, assumptions, price evidence, what was left out, and what changed since the last review."""

from collections.abc import Sequence

from service.domain.plan import PlanOption
from service.domain.report import ReportPlan
from service.reports.model import Cell, Column, Kind, PlanMoney, Table, Way
from service.reports.risks import compared
from service.solver.change import cost_change

OPTIONS_SHOWN = 10


def options_table(money: PlanMoney, months: int) -> Table:
    """Recommendation, baseline and the other options, cheapest first."""
    names = {id(way): name for name, way in compared(money)}
    factor = months if money.recurring else 1
    first = "A month" if money.recurring else "All runs"
    shown = [way for way in money.ways if id(way) in names or way.rank <= OPTIONS_SHOWN]
    shown += [] if money.own is None or money.own in shown else [money.own]
    rows: list[tuple[Cell, ...]] = [
        (
            names.get(id(way), ""),
            f"{way.label} ({', '.join(way.flags)})" if way.flags else way.label,
            way.usd,
            way.usd * factor,
            way.low_usd * factor,
            way.high_usd * factor,
            way.usd_per_gpu_hour,
            way.usd_per_run,
            way.usd_per_million_tokens,
        )
        for way in shown
    ]
    columns = (
        Column(title="As"),
        Column(title="Option"),
        Column(title=first, kind=Kind.MONEY),
        Column(title=f"{months} months", kind=Kind.MONEY),
        Column(title="Low", kind=Kind.MONEY),
        Column(title="High", kind=Kind.MONEY),
        Column(title="USD per GPU-hour", kind=Kind.ESTIMATE),
        Column(title="USD per run", kind=Kind.ESTIMATE),
        Column(title="USD per million tokens", kind=Kind.ESTIMATE),
    )
    found, listed = money.source.plan.options_found, len(money.source.plan.options)
    more = f" {found - len(shown)} of {found} options are not shown." if found > len(shown) else ""
    note = f"Hardware to be bought is reckoned as an annuity here, as a payment in the cash flow.{more}"
    return Table(name="options", title="Baseline and options", columns=columns, rows=tuple(rows), note=note if listed else more)


def components_table(way: Way, months: int, recurring: bool) -> Table:
    """The lines of the recommendation; they add up."""
    factor = months if recurring else 1
    return Table(
        name="components",
        title=f"What the recommendation is made of: {way.label}",
        columns=(
            Column(title="Cost line"),
            Column(title="A month" if recurring else "All runs", kind=Kind.MONEY),
            Column(title=f"{months} months", kind=Kind.MONEY),
        ),
        rows=tuple((name.replace("_", " "), usd, usd * factor) for name, usd in way.lines.items()),
        total=("Total", way.usd, way.usd * factor),
    )


def assumptions_table(plans: Sequence[ReportPlan], own: Sequence[tuple[str, str, str, str, str]]) -> Table:
    """Value, unit, range, source and date of everything that was assumed; one row for what several plans share."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in plans:
        for assumed in one.plan.assumptions:
            ends = "" if assumed.low is None and assumed.high is None else f"{_figure(assumed.low)} to {_figure(assumed.high)}"
            key = (assumed.name, _figure(assumed.value), assumed.unit, ends, assumed.source, assumed.as_of or "")
            rows.setdefault(key, []).append(one.name)
    listed: list[tuple[Cell, ...]] = [(*key, _names(names, plans)) for key, names in rows.items()]
    listed += [(name, value, unit, "", source, "", "this report") for name, value, unit, source, _ in own]
    titles = ("Assumption", "Value", "Unit", "Low to high", "Source", "Date", "Plans")
    return Table(
        name="assumptions", title="Assumptions", columns=tuple(Column(title=title) for title in titles), rows=tuple(listed)
    )


def _figure(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def evidence_table(plans: Sequence[ReportPlan]) -> Table:
    """Where each price that an option of a plan stands on was read."""
    rows: list[tuple[Cell, ...]] = []
    seen: set[tuple[Cell, ...]] = set()
    for one in plans:
        for option in one.plan.options[:OPTIONS_SHOWN]:
            row = _evidence(option)
            if row is not None and row not in seen:
                seen.add(row)
                rows.append(row)
    columns = (
        *(Column(title=title) for title in ("Provider", "SKU", "Region", "Tier", "How bought", "Basis")),
        Column(title="USD per hour", kind=Kind.PRICE),
        *(Column(title=title) for title in ("Fetched at", "Price of", "Source", "Offer")),
    )
    return Table(name="evidence", title="Price evidence", columns=columns, rows=tuple(rows))


def _evidence(option: PlanOption) -> tuple[Cell, ...] | None:
    price = option.price
    if option.kind == "on_prem":
        return None
    seen = "" if price.observed_at is None else f"{price.observed_at:%Y-%m-%d %H:%M} UTC"
    sku = option.instance_type or f"{option.gpu_count:g} x {option.gpu}"
    place = option.zone or option.region or option.country or ""
    bought = option.capacity_type.replace("_", " ")
    return (
        option.provider, sku, place, option.tier, bought, price.basis.replace("_", " "), option.usd_per_hour, seen,
        price.as_of or "", price.source, price.offer_id or "",
    )  # fmt: skip


def excluded_table(plans: Sequence[ReportPlan]) -> Table:
    """What was left out and why, doing nothing included; one row for what several plans share."""
    found: dict[tuple[Cell, ...], list[str]] = {("do nothing", None, "costs nothing, and the work is not done", "", ""): ["all"]}
    for one in plans:
        for left in one.plan.exclusions:
            reason, miss = left.reason.replace("_", " "), left.nearest_miss or left.example or ""
            found.setdefault((reason, float(left.count), left.explained, miss, left.would_admit or ""), []).append(one.name)
        for missing in one.plan.not_priced:
            key = (f"not priced: {missing.name.replace('_', ' ')}", None, missing.explained, "", "")
            found.setdefault(key, []).append(one.name)
    rows = tuple((_names(names, plans), *key) for key, names in found.items())
    columns = (
        Column(title="Plans"),
        Column(title="Left out"),
        Column(title="Offers", kind=Kind.NUMBER),
        *(Column(title=title) for title in ("Why", "Nearest miss", "What would admit it")),
    )
    return Table(name="excluded", title="Considered and left out", columns=columns, rows=rows)


def _names(names: Sequence[str], plans: Sequence[ReportPlan]) -> str:
    return "all" if len(names) == len(plans) > 1 else ", ".join(names)


def change_table(plans: Sequence[ReportPlan]) -> Table | None:
    """Price, volume and mix since the last review of each plan; None where there was none."""
    rows: list[tuple[Cell, ...]] = []
    for one in plans:
        if one.before is None:
            continue
        moved = cost_change(one.before, one.plan)
        since = "" if one.before_at is None else f"{one.before_at:%Y-%m-%d}"
        rows.append(
            (one.name, since, moved.period.replace("_", " "), moved.before_usd, moved.price_usd, moved.volume_usd, moved.mix_usd,
             moved.after_usd, moved.explained)
        )  # fmt: skip
    if not rows:
        return None
    columns = (
        *(Column(title=title) for title in ("Plan", "Last review", "Period")),
        *(Column(title=title, kind=Kind.MONEY) for title in ("Before", "Price", "Volume", "Mix", "Now")),
        Column(title="In words"),
    )
    note = (
        "Before, price, volume and mix add up to now."
        " Volume: other hours at the old price of the old option; mix: another option is first."
    )
    return Table(name="change", title="Change since the last review", columns=columns, rows=tuple(rows), note=note)
