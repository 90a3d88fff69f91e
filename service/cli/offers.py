"""`gpuplan offers`: what the market sells now, filtered and sorted, as a table, CSV or JSON."""

import csv
import sys
from typing import Annotated, Any

import typer

from service.cli.exits import FOUND, NOTHING_FITS, USAGE, CommandError, guarded

COLUMNS = (
    "provider",
    "tier",
    "gpu",
    "gpu_count",
    "gpu_memory_gb",
    "instance_type",
    "region",
    "country",
    "capacity_type",
    "availability",
    "usd_per_hour",
    "usd_per_gpu_hour",
    "as_of",
    "flags",
)
FIGURES = ("gpu_count", "gpu_memory_gb", "usd_per_hour", "usd_per_gpu_hour")


def offers(
    gpu: Annotated[list[str] | None, typer.Option(help="A family (A100) or a card (H100 SXM); may be repeated.")] = None,
    min_memory_gb: Annotated[float | None, typer.Option(help="Nominal memory of one GPU.")] = None,
    count: Annotated[float | None, typer.Option(help="GPUs of one machine, exactly.")] = None,
    min_count: Annotated[float | None, typer.Option()] = None,
    max_count: Annotated[float | None, typer.Option()] = None,
    provider: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    country: Annotated[list[str] | None, typer.Option(help="ISO code in capitals; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="The provider's own name; may be repeated.")] = None,
    capacity: Annotated[list[str] | None, typer.Option(help="on_demand, spot, reserved, serverless, free_tier.")] = None,
    tenancy: Annotated[list[str] | None, typer.Option(help="community_host, provider_datacenter, hyperscaler.")] = None,
    availability: Annotated[list[str] | None, typer.Option(help="available, limited, unavailable, unknown.")] = None,
    max_usd_per_hour: Annotated[float | None, typer.Option(help="Of the whole machine.")] = None,
    max_usd_per_gpu_hour: Annotated[float | None, typer.Option(help="Of one whole GPU.")] = None,
    sort: Annotated[
        str, typer.Option(help="usd_per_hour, usd_per_gpu_hour, gpu_memory_gb; a leading - is from high to low.")
    ] = "usd_per_gpu_hour",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Rows to show.")] = 50,
    columns: Annotated[str | None, typer.Option(help=f"Columns by comma, of: {', '.join(COLUMNS)}.")] = None,
    csv_: Annotated[bool, typer.Option("--csv", help="CSV on stdout.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="The answer of GET /offers on stdout.")] = False,
) -> int:
    """List the offers of the market, cheapest per GPU first."""
    shown = _columns(columns)
    query: dict[str, Any] = {
        "gpu": gpu,
        "min_memory_gb": min_memory_gb,
        "count": count,
        "min_count": min_count,
        "max_count": max_count,
        "provider": provider,
        "country": country,
        "region": region,
        "capacity_type": capacity,
        "tenancy": tenancy,
        "availability": availability,
        "max_usd_per_hour": max_usd_per_hour,
        "max_usd_per_gpu_hour": max_usd_per_gpu_hour,
        "sort": sort,
        "limit": limit,
    }
    from service.cli.market import open_market

    page = guarded(lambda: open_market().offers({name: value for name, value in query.items() if value is not None}))
    if json_:
        from service.cli.render import print_json

        print_json(page)
    elif csv_:
        _write_csv(page, shown)
    else:
        _show(page, shown)
    return FOUND if page.offers else NOTHING_FITS


def _columns(asked: str | None) -> tuple[str, ...]:
    if asked is None:
        return COLUMNS
    names = tuple(name.strip() for name in asked.split(","))
    if unknown := [name for name in names if name not in COLUMNS]:
        raise CommandError(
            f"--columns: {len(unknown)} of the names are no column", code=USAGE, hint=f"Known: {', '.join(COLUMNS)}"
        )
    return names


def _cell(offer: Any, column: str) -> str:
    from service.cli.render import usd

    if column == "flags":
        flags = [name for name, is_set in (("dated", offer.is_dated), ("suspect", offer.suspect)) if is_set]
        return " ".join([*flags, *(["arm64"] if offer.arch == "arm64" else [])])
    value = getattr(offer, column)
    if column.startswith("usd_"):
        return usd(value)
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _write_csv(page: Any, shown: tuple[str, ...]) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(shown)
    writer.writerows([_cell(offer, column) for column in shown] for offer in page.offers)


def _show(page: Any, shown: tuple[str, ...]) -> None:
    from rich.markup import escape

    from service.cli.render import console, table, usd

    out = console()
    if not page.offers:
        out.print(
            "No offer meets the filters." + (f" Offered and near: {', '.join(page.nearest_gpus)}." if page.nearest_gpus else "")
        )
        return
    made = table(*shown, right=FIGURES)
    for offer in page.offers:
        made.add_row(*(escape(_cell(offer, column)) for column in shown))
    out.print(made)
    for band in page.price_bands:
        quoted = f"{usd(band.low_usd_per_gpu_hour)}-{usd(band.high_usd_per_gpu_hour)}"
        now = "no offer today"
        if band.median_usd_per_gpu_hour is not None:
            apart = "" if not band.difference_fraction else f" {abs(band.difference_fraction):.0%}"
            now = f"median of {band.offers} offers today {usd(band.median_usd_per_gpu_hour)}:{apart} {band.verdict} the band"
        out.print(f"{band.card} {band.capacity_type}, quoted in {band.year}: {quoted} USD a GPU-hour; {now}.", style="dim")
    as_of = f"{page.as_of:%Y-%m-%d %H:%M} UTC" if page.as_of else "an unknown time"
    out.print(
        f"Shown {len(page.offers)} of {page.total:,} offers; prices changed last at {as_of} (snapshot {page.snapshot_id}).",
        style="dim",
    )
