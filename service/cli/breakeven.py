"""`gpuplan breakeven`: rent or own for one pool at one cloud price, or at the cheapest that a plan request may use."""

from typing import Annotated, Any

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, USAGE, CommandError, guarded

Pool = Annotated[str, typer.Option(help="A stored pool's name, \"default\", a JSON object or @FILE with the pool's fields.")]
Price = Annotated[float | None, typer.Option(help="Cloud price of a useful GPU-hour, USD.")]
PlanFile = Annotated[str | None, typer.Option("--plan", help="A plan request (JSON): its cheapest cloud option is the price.")]
Use = Annotated[float | None, typer.Option(help="GPU-hours held by jobs over calendar GPU-hours, 0 to 1.")]
Active = Annotated[float | None, typer.Option(help="Engine busy, 0 to 1: alone it leaves the decision open.")]
DemandFile = Annotated[str | None, typer.Option("--demand", help="CSV with a column gpus: GPUs in use by the hour.")]
MeanGpus = Annotated[float | None, typer.Option(help="Mean GPUs in use; with --peak-gpus.")]
PeakGpus = Annotated[float | None, typer.Option(help="GPUs in use at the peak.")]


def breakeven(
    pool: Pool = "default",
    usd_per_gpu_hour: Price = None,
    plan: PlanFile = None,
    utilization: Use = None,
    active_utilization: Active = None,
    demand: DemandFile = None,
    mean_gpus: MeanGpus = None,
    peak_gpus: PeakGpus = None,
    json_: opt.AsJson = False,
) -> int:
    """Weigh owning a pool against renting: breakeven, payback over 10,000 draws, scenarios, and how many GPUs to own."""
    import json

    from service.cli.market import open_market
    from service.cli.request import on_prem_entries, read_json, without_absent
    from service.domain.breakeven import BreakevenRequest

    curve = {"hourly_gpus": _hourly(demand) if demand else None, "mean_gpus": mean_gpus, "peak_gpus": peak_gpus}
    given = without_absent(curve)
    body = without_absent(
        {
            "pool": on_prem_entries([pool])[0],
            "cloud_usd_per_gpu_hour": usd_per_gpu_hour,
            "plan": read_json(plan, "--plan") if plan else None,
            "utilization": utilization,
            "active_utilization": active_utilization,
            "demand": given or None,
        }
    )
    request = guarded(lambda: BreakevenRequest.model_validate_json(json.dumps(body)))
    answered = guarded(lambda: open_market().breakeven(request))
    if json_:
        from service.cli.render import print_json

        print_json(answered)
    else:
        _show(answered)
    return FOUND


def _hourly(file: str) -> list[float]:
    from service.cli.evaluate import rows_of

    try:
        return [float(row["gpus"]) for row in rows_of(file, needed=frozenset({"gpus"}))]
    except ValueError as error:
        raise CommandError("--demand: the column gpus holds something that is no number", code=USAGE) from error


def _show(found: Any) -> None:
    from rich.markup import escape

    from service.cli.render import about, console, table, usd

    out = console()
    out.print(escape(found.sentence), style="bold")
    made = table("FIGURE", "VALUE", right=("VALUE",))
    shares = found.breakeven_utilization.against_cheapest_allowed
    made.add_row("breakeven utilization", "never" if shares is None else f"{100 * shares:.1f} %")
    made.add_row("cloud, USD a GPU-hour", usd(found.cloud_usd_per_gpu_hour))
    made.add_row("own, USD a month", about(found.own_usd_per_month))
    made.add_row("cloud, USD a month", about(found.cloud_usd_per_month))
    if found.payback_months is not None:
        months = (found.payback_months.p10, found.payback_months.p50, found.payback_months.p90)
        made.add_row("payback months, p10 / p50 / p90", " / ".join("never" if one is None else f"{one:.1f}" for one in months))
    if found.npv is not None:
        values = (found.npv.p10_usd, found.npv.p50_usd, found.npv.p90_usd)
        made.add_row("present value USD, p10 / p50 / p90", " / ".join(about(one) for one in values))
    out.print(made)
    for one in found.scenarios:
        paid = "never" if one.payback_months is None else f"{one.payback_months:.1f} months"
        out.print(f"  {escape(one.name)}: {one.verdict}, paid back: {paid}, present value {about(one.npv_usd)} USD")
    if found.own_and_burst is not None:
        out.print(escape(found.own_and_burst.explained))
