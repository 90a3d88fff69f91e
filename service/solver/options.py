"""Options: priced rows as the answer shows them, with flags, evidence and the sentences of why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial

from service.domain.estimate import Estimate, Range
from service.domain.plan import OptionPrice, OptionVram, PlanOption
from service.domain.workload import Task
from service.solver.columns import FeedColumns
from service.solver.deadline import band_of
from service.solver.eligible import Age, Mask
from service.solver.market import Market
from service.solver.order import Entry
from service.solver.pick import Row
from service.solver.pricing import Pricing
from service.solver.rows import PricedRow, cloud_breakdown, priced
from service.solver.tables import Kind, Seller, Source, Terms
from service.solver.words import about, about_hours, about_usd, percent, usd
from service.solver.work import Work


@dataclass(frozen=True, slots=True)
class _One:
    """All that one row's option is made from."""

    priced: PricedRow
    market: Market
    pricing: Pricing
    feed: FeedColumns
    feed_row: int
    kind: Kind
    kind_at: int
    seller: Seller
    terms: Terms
    source: Source
    age: Age
    estimate: Estimate
    nodes: int
    usd_per_hour: float
    flags: tuple[str, ...]
    on_demand_usd: float | None  # of the same machine, where the spot price is over it
    deadline_hours: float | None


def cloud_entries(market: Market, pricing: Pricing, rows: Sequence[Row], mask: Mask, deadline_hours: float | None) -> list[Entry]:
    """The picked rows as entries of the order, each able to become an option."""
    return [_entry(market, pricing, one, mask, deadline_hours) for one in priced(pricing, rows)]


def _entry(market: Market, pricing: Pricing, one: PricedRow, mask: Mask, deadline_hours: float | None) -> Entry:
    groups, choice = market.groups, pricing.shapes.choice
    number, feed_row = market.place(one.row)
    kind_at, seller_at, source_at = int(groups.kind[one.group]), int(groups.seller[one.group]), int(groups.source[one.group])
    kind, source = groups.kinds.all[kind_at], groups.sources[source_at]
    estimate, nodes = choice.estimates[kind_at], round(float(pricing.shapes.nodes[kind_at]))
    usd_per_hour = round((one.machine_usd + one.disk_usd) * nodes, 6)
    is_suspect = bool(groups.suspect[one.group])
    twin = int(market.grouped[number].twin[feed_row])
    listed = float(market.feeds[number].usd_per_hour[twin]) if twin >= 0 else None
    dominated = listed if listed is not None and listed < one.machine_usd else None
    terms, age = groups.terms_all[int(groups.terms[one.group])], mask.ages[source_at]
    shares_kernel = bool(mask.judged.shares_kernel[seller_at])
    given = {
        "stale": age.stale,
        "dated": source.is_dated,
        "undated": age.undated,
        "suspect": is_suspect,
        "dominated": dominated is not None,
        "arm64": kind.arch == "arm64",
        "shared_kernel": shares_kernel,
        "low_headroom": estimate.low_headroom,
        "no_resume": terms.capacity_type == "spot" and not pricing.job.resumes and not pricing.job.is_service,
    }
    whole = _One(
        one, market, pricing, market.feeds[number], feed_row, kind, kind_at, groups.sellers.all[seller_at], terms, source, age,
        estimate, nodes, usd_per_hour, tuple(name for name, holds in given.items() if holds), dominated, deadline_hours,
    )  # fmt: skip
    return Entry(
        micro_usd=one.sums[0 if pricing.work.runs is not None else 1],
        usd_per_hour=usd_per_hour,
        name=f"{one.offer_id:016x}",
        low_usd=one.low_usd,
        high_usd=one.high_usd,
        shape=(kind.gpu, kind.gpu_count, nodes, estimate.strategy),
        is_clean=not source.is_dated and not is_suspect,
        row=one.row,
        make=partial(_option, whole),
    )


def _option(one: _One, rank: int, tie_group: int) -> PlanOption:
    shapes, kind, seller, feed, row = one.pricing.shapes, one.kind, one.seller, one.feed, one.feed_row
    hours = Range(low=float(shapes.low[one.kind_at]), mid=float(shapes.mid[one.kind_at]), high=float(shapes.high[one.kind_at]))
    cost, vram = cloud_breakdown(one.priced, one.pricing.work), vram_of(one.estimate)
    region = feed.text("region", row)
    return PlanOption(
        rank=rank,
        kind="cloud",
        provider=seller.provider,
        tier=seller.tier,
        instance_type=feed.text("instance_type", row),
        gpu=kind.gpu,
        form_factor=kind.form_factor,
        gpu_count=kind.gpu_count,
        nodes=one.nodes,
        region=region,
        zone=feed.text("zone", row),
        country=seller.country,
        capacity_type=one.terms.capacity_type,
        tenancy=seller.tenancy,
        availability=one.terms.availability,
        arch=kind.arch,
        strategy=one.estimate.strategy,
        vram=vram,
        hours=hours,
        usd_per_hour=one.usd_per_hour,
        usd_per_gpu_hour=round(one.usd_per_hour / (kind.gpu_count * one.nodes), 6),
        cost=cost,
        usd_per_million_tokens=per_million_tokens(cost.ranking_usd, one.pricing.work),
        deadline=band_of(
            deadline_hours=one.deadline_hours,
            low=hours.low,
            high=hours.high,
            setup_hours=one.pricing.job.setup_hours,
            paid_hours=one.priced.paid_hours,
            stops=one.priced.stops,
        ),
        flags=one.flags,
        tie_group=tie_group,
        why=_why(one, region, hours.mid, cost.ranking_usd, vram),
        price=_price(one),
    )


@lru_cache(maxsize=4096)
def _vram(need: float, point: float, usable: float, headroom: float) -> OptionVram:
    return OptionVram(
        need_gib=round(need, 3), point_gib=round(point, 3), usable_gib=round(usable, 3), headroom_gib=round(headroom, 3)
    )


def vram_of(estimate: Estimate) -> OptionVram:
    """The need beside what the card leaves, per GPU."""
    vram = estimate.vram
    return _vram(vram.safe_gib, vram.point_gib, vram.usable_gib, vram.headroom_gib)


def per_million_tokens(ranking_usd: float, work: Work) -> float | None:
    """USD per million tokens trained, or generated at the rate asked; None where no tokens are counted."""
    if not work.tokens_per_run:
        return None
    runs = 1.0 if work.runs is not None else work.runs_per_month or 1.0
    return round(ranking_usd / (work.tokens_per_run * runs) * 1e6, 6)


def _price(one: _One) -> OptionPrice:
    source, feed = one.source, one.feed
    seen: datetime = feed.observed_at(one.feed_row)
    if not source.is_dated:
        status = one.market.status(source.feed)
        last = None if status is None else status.seen_at(source.scope)
        seen = seen if last is None else max(seen, last)
    return OptionPrice(
        offer_id=f"{one.priced.offer_id:016x}",
        observed_at=seen,
        as_of=None if source.as_of is None else source.as_of.isoformat(),
        source=feed.text("source", one.feed_row) or source.feed,
        basis="median_30d" if one.priced.on_median else one.terms.price_basis,
        feed=source.feed,
    )


def _why(one: _One, region: str | None, hours: float, ranking_usd: float, vram: OptionVram) -> str:
    """Two or three sentences made from the numbers: prices exact, estimates with three digits."""
    work, kind, seller = one.pricing.work, one.kind, one.seller
    machines = "" if one.nodes == 1 else f"{one.nodes} machines of "
    where = region or seller.country or "an unnamed place"
    takes = f"up {about_hours(hours)} a month" if work.task is Task.INFER else f"takes about {about_hours(hours)} a run"
    bought = one.terms.capacity_type.replace("_", " ")
    text = (
        f"{machines}{kind.gpu_count:g} x {kind.gpu} at {seller.provider} in {where} for {usd(one.usd_per_hour)} an hour"
        f" ({bought}). {about(vram.need_gib)} of {about(vram.usable_gib)} GiB a GPU are needed;"
        f" {one.estimate.strategy} {takes}. Expected total {about_usd(ranking_usd)} {work.ranking_period.replace('_', ' ')}"
    )
    again = one.priced.lines[1][0 if work.runs is not None else 1]
    if again > 0:
        text += f", of which {about_usd(again / 1e6)} is work repeated after interruptions"
    if one.on_demand_usd is None:
        return text + "."
    saving = percent(1 - one.priced.machine_usd / one.on_demand_usd)
    return f"{text}. On demand the same machine costs {usd(one.on_demand_usd)}: this spot price saves {saving}."
