"""Options: priced rows as the answer shows them, with flags, evidence and the sentences of why."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import compress
from math import ceil
from typing import Final

from providers.market_tiers import effort
from providers.units import HOURS_PER_MONTH
from service.domain.estimate import Estimate, Range
from service.domain.plan import OptionDeadline, OptionPrice, OptionVram, PlanOption
from service.domain.workload import Task
from service.solver.columns import FeedColumns
from service.solver.deadline import NO_DEADLINE, band_of
from service.solver.eligible import Age, Mask
from service.solver.market import Market
from service.solver.market_tiers import market_of
from service.solver.order import Entry
from service.solver.pick import Rows
from service.solver.pricing import MOVING_PRICE, Pricing
from service.solver.rows import PricedRow, cloud_breakdown, priced
from service.solver.tables import SUSPECT, Kind, Seller, Source, Terms
from service.solver.words import about, about_hours, about_usd, percent, usd
from service.solver.work import Work

FLAGS: Final = (
    "stale", "dated", "undated", "suspect", "dominated", "arm64", "shared_kernel", "low_headroom", "no_resume",
    "session_split",
)  # fmt: skip


@dataclass(slots=True)
class _One:
    """All that one row's option is made from."""

    priced: PricedRow
    market: Market
    pricing: Pricing
    feed: FeedColumns
    feed_row: int
    kind: Kind
    seller: Seller
    terms: Terms
    source: Source
    age: Age
    estimate: Estimate
    usd_per_hour: float
    flags: tuple[str, ...]
    on_demand_usd: float | None  # of the same machine, where the spot price is over it
    deadline_hours: float | None


def cloud_entries(market: Market, pricing: Pricing, rows: Rows, mask: Mask, deadline_hours: float | None) -> list[Entry]:
    """The picked rows as entries of the order, each able to become an option."""
    return [_entry(market, pricing, one, mask, deadline_hours) for one in priced(pricing, rows)]


def _entry(market: Market, pricing: Pricing, one: PricedRow, mask: Mask, deadline_hours: float | None) -> Entry:
    groups, (number, feed_row) = market.groups, market.place(one.row)
    kind, source, terms = groups.kinds.all[one.kind], groups.sources[one.source], groups.terms_all[one.terms]
    estimate, age = pricing.shapes.choice.estimates[one.kind], mask.ages[one.source]
    usd_per_hour = round((one.machine_usd + one.disk_usd) * one.nodes, 6)
    listed = None if terms.capacity_type != "spot" else _on_demand(market, number, feed_row)
    dominated = listed if listed is not None and listed < one.machine_usd else None
    holds = (
        age.stale,
        source.is_dated,
        age.undated,
        one.doubt == SUSPECT,
        dominated is not None,
        kind.arch == "arm64",
        mask.judged.shares_kernel[one.seller],
        estimate.low_headroom,
        terms.capacity_type == "spot" and not pricing.job.resumes and not pricing.job.is_service,
        one.sessions > 1,
    )
    whole = _One(
        one, market, pricing, market.feeds[number], feed_row, kind, groups.sellers.all[one.seller], terms, source, age, estimate,
        usd_per_hour, tuple(compress(FLAGS, holds)), dominated, deadline_hours,
    )  # fmt: skip
    return Entry(
        one.sums[0 if pricing.work.runs is not None else 1], usd_per_hour, one.offer_id, one.low_usd, one.high_usd,
        (kind.gpu, kind.gpu_count, one.nodes, estimate.strategy), one.doubt, one.row,
        partial(_option, whole),
    )  # fmt: skip


def _on_demand(market: Market, number: int, feed_row: int) -> float | None:
    """The price of the same machine at the same place on demand."""
    twin = int(market.grouped[number].twin[feed_row])
    return None if twin < 0 else float(market.feeds[number].usd_per_hour[twin])


def _option(one: _One, rank: int, tie_group: int) -> PlanOption:
    kind, seller, feed, row, paid = one.kind, one.seller, one.feed, one.feed_row, one.priced
    low, mid, high = paid.hours
    cost, vram, region = cloud_breakdown(paid, one.pricing.work), vram_of(one.estimate), feed.text("region", row)
    return PlanOption(
        rank=rank,
        kind="cloud",
        provider=seller.provider,
        tier=seller.tier,
        instance_type=feed.text("instance_type", row),
        gpu=kind.gpu,
        form_factor=kind.form_factor,
        gpu_count=kind.gpu_count,
        nodes=paid.nodes,
        region=region,
        zone=feed.text("zone", row),
        country=seller.country,
        capacity_type=one.terms.capacity_type,
        tenancy=seller.tenancy,
        availability=one.terms.availability,
        arch=kind.arch,
        strategy=one.estimate.strategy,
        vram=vram,
        hours=Range(low=low, mid=mid, high=high),
        usd_per_hour=one.usd_per_hour,
        usd_per_gpu_hour=round(one.usd_per_hour / (kind.gpu_count * paid.nodes), 6),
        cost=cost,
        usd_per_million_tokens=per_million_tokens(cost.ranking_usd, one.pricing.work),
        deadline=_deadline(one),
        flags=one.flags,
        tie_group=tie_group,
        why=_why(one, region, mid, cost.ranking_usd, vram),
        price=_price(one),
        market_tier=market_of(seller).value,
        effort=effort(seller.provider).value,
        sessions=paid.sessions,
    )


def _deadline(one: _One) -> OptionDeadline:
    if one.deadline_hours is None:
        return NO_DEADLINE
    paid, (low, _, high) = one.priced, one.priced.hours
    return band_of(
        deadline_hours=one.deadline_hours,
        low=low + paid.wait_hours,
        high=high + paid.wait_hours,
        setup_hours=one.pricing.job.setup_hours,
        paid_hours=paid.paid_hours,
        stops=paid.stops,
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
    return round(usd_per_million(ranking_usd, work.tokens_per_run * runs), 6)


def usd_per_million(usd: float, tokens: float) -> float:
    """USD per million tokens."""
    return usd / tokens * 1e6


def _price(one: _One) -> OptionPrice:
    source, feed = one.source, one.feed
    seen: datetime = feed.observed_at(one.feed_row)
    if one.age.seen_at is not None:
        seen = max(seen, one.age.seen_at)
    low = high = None
    if one.pricing.ranges_prices and not one.priced.on_median and (one.terms.capacity_type == "spot" or one.kind.is_market):
        low, high = (round(one.usd_per_hour * side, 6) for side in MOVING_PRICE)
    return OptionPrice(
        offer_id=one.priced.offer_id,
        observed_at=seen,
        as_of=None if source.as_of is None else source.as_of.isoformat(),
        source=feed.text("source", one.feed_row) or source.feed,
        basis="median_30d" if one.priced.on_median else one.terms.price_basis,
        feed=source.feed,
        low_usd_per_hour=low,
        high_usd_per_hour=high,
    )


def _why(one: _One, region: str | None, hours: float, ranking_usd: float, vram: OptionVram) -> str:
    """Two or three sentences made from the numbers: prices exact, estimates with three digits."""
    work, kind, seller = one.pricing.work, one.kind, one.seller
    machines = "" if one.priced.nodes == 1 else f"{one.priced.nodes} machines of "
    where = region or seller.country or "an unnamed place"
    takes = f"up {about_hours(hours)} a month" if work.task is Task.INFER else f"takes about {about_hours(hours)} a run"
    if work.task is not Task.INFER and work.runs_per_month is not None and hours * work.runs_per_month > HOURS_PER_MONTH:
        takes += f", {ceil(hours * work.runs_per_month / HOURS_PER_MONTH)} at once for a month's work"
    bought = one.terms.capacity_type.replace("_", " ")
    text = (
        f"{machines}{kind.gpu_count:g} x {kind.gpu} at {seller.provider} in {where} for {usd(one.usd_per_hour)} an hour"
        f" ({bought}). {about(vram.need_gib)} of {about(vram.usable_gib)} GiB a GPU are needed;"
        f" {one.estimate.strategy} {takes}. Expected total {about_usd(ranking_usd)} {work.ranking_period.replace('_', ' ')}"
    )
    again = one.priced.lines[1][0 if work.runs is not None else 1]
    if again > 0:
        text += f", of which {about_usd(again / 1e6)} is work repeated after interruptions"
    if one.priced.sessions > 1:
        text += f", in {one.priced.sessions} sessions"
    if one.on_demand_usd is None:
        return text + "."
    saving = percent(1 - one.priced.machine_usd / one.on_demand_usd)
    return f"{text}. On demand the same machine costs {usd(one.on_demand_usd)}: this spot price saves {saving}."
