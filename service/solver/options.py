"""Options: priced rows as the answer shows them, with flags, evidence and the sentences of why."""

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import compress
from math import ceil
from typing import Final

from providers.units import HOURS_PER_MONTH
from service.domain.estimate import Estimate, Range
from service.domain.plan import OptionDeadline, OptionPrice, OptionVram, PlanOption
from service.domain.workload import Task
from service.solver.deadline import NO_DEADLINE, band_of
from service.solver.eligible import Mask
from service.solver.faces import Face, face_of
from service.solver.market import Market
from service.solver.order import Entry
from service.solver.pick import Rows
from service.solver.pricing import MOVING_PRICE, Pricing
from service.solver.rows import PricedRow, cloud_breakdown, priced
from service.solver.tables import SUSPECT
from service.solver.words import about, about_hours, about_usd, laid_out, percent, usd
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
    face: Face
    pricing: Pricing
    estimate: Estimate
    flags: tuple[str, ...]
    on_demand_usd: float | None  # of the same machine, where the spot price is over it
    deadline_hours: float | None


def cloud_entries(market: Market, pricing: Pricing, rows: Rows, mask: Mask, deadline_hours: float | None) -> list[Entry]:
    """The picked rows as entries of the order, each able to become an option."""
    return [_entry(market, pricing, one, mask, deadline_hours) for one in priced(pricing, rows)]


def _entry(market: Market, pricing: Pricing, one: PricedRow, mask: Mask, deadline_hours: float | None) -> Entry:
    face, age, estimate = face_of(market, one), mask.ages[one.source], pricing.shapes.choice.estimates[one.kind]
    kind, listed = face.kind, face.on_demand_usd
    dominated = listed if listed is not None and listed < one.machine_usd else None
    flags = _flags(
        age.stale,
        face.source.is_dated,
        age.undated,
        one.doubt == SUSPECT,
        dominated is not None,
        kind.arch == "arm64",
        mask.sieve.judged.shares_kernel[one.seller],
        estimate.low_headroom,
        face.terms.capacity_type == "spot" and not pricing.job.resumes and not pricing.job.is_service,
        one.sessions > 1,
    )
    return Entry(
        one.sums[0 if pricing.work.runs is not None else 1], one.usd_per_hour, face.price.offer_id or "", one.low_usd,
        one.high_usd, (kind.gpu, kind.gpu_count, one.nodes, estimate.strategy), one.doubt, one.row,
        partial(_option, _One(one, market, face, pricing, estimate, flags, dominated, deadline_hours)),
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _flags(*holds: bool) -> tuple[str, ...]:
    """The names of the flags that hold, along FLAGS."""
    return tuple(compress(FLAGS, holds))


def _option(one: _One, rank: int, tie_group: int) -> PlanOption:
    paid, face, work = one.priced, one.face, one.pricing.work
    low, mid, high = paid.hours
    cost, vram = cloud_breakdown(paid, work), vram_of(one.estimate)
    return PlanOption(
        rank,
        *face.machine,
        paid.nodes,
        *face.place_bought,
        one.estimate.strategy,
        vram,
        Range(low=low, mid=mid, high=high),
        paid.usd_per_hour,
        paid.usd_per_gpu_hour,
        cost,
        per_million_tokens(cost.ranking_usd, work),
        NO_DEADLINE if one.deadline_hours is None else _deadline(one, one.deadline_hours),
        one.flags,
        tie_group,
        _why(one, cost.ranking_usd, vram),
        _price(one),
        market_tier=face.market_tier,
        effort=face.effort,
        sessions=paid.sessions,
    )


def _deadline(one: _One, deadline_hours: float) -> OptionDeadline:
    paid, (low, _, high) = one.priced, one.priced.hours
    return band_of(
        deadline_hours=deadline_hours,
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
    """The row's own evidence; with the range of a price that moves, or the median that stands in for it."""
    paid = one.priced
    ranges = one.pricing.ranges_prices and one.face.moves and not paid.on_median
    if not ranges and not paid.on_median:
        return one.face.price
    key = (paid.row, paid.usd_per_hour, paid.on_median)
    return one.market.memo.get(key, partial(_moving, one.face.price, paid.usd_per_hour, on_median=paid.on_median))


def _moving(said: OptionPrice, usd_per_hour: float, *, on_median: bool) -> OptionPrice:
    low, high = (None if on_median else round(usd_per_hour * side, 6) for side in MOVING_PRICE)
    basis = "median_30d" if on_median else said.basis
    return replace(said, basis=basis, low_usd_per_hour=low, high_usd_per_hour=high)


def _why(one: _One, ranking_usd: float, vram: OptionVram) -> str:
    """Three plain sentences made from the numbers: prices exact, estimates with three digits."""
    work, kind, paid, face = one.pricing.work, one.face.kind, one.priced, one.face
    machine = _machine(paid.nodes, kind.gpu_count, kind.gpu, face.seller.provider, face.place, paid.usd_per_hour)
    bought = face.bought
    if one.on_demand_usd is not None:
        saving = percent(1 - paid.machine_usd / one.on_demand_usd)
        bought += f", which saves {saving} on the on-demand price of {usd(one.on_demand_usd)}"
    need = _need(one.estimate.strategy, kind.gpu_count * paid.nodes, vram.need_gib, vram.usable_gib)
    total = f"{about_usd(ranking_usd)} {work.period_said}"
    again = paid.lines[1][0 if work.runs is not None else 1]
    if again > 0:
        total += f", of which {about_usd(again / 1e6)} is work repeated after interruptions"
    if paid.sessions > 1:
        total += f", in {paid.sessions} sessions"
    return f"{machine} ({bought}). {_takes(paid.hours[1], work)} {need} The expected total is {total}."


@lru_cache(maxsize=8192)
def _machine(nodes: int, gpu_count: float, gpu: str, provider: str, place: str, usd_per_hour: float) -> str:
    machines = "" if nodes == 1 else f"{nodes} machines of "
    return f"{machines}{gpu_count:g} x {gpu} at {provider} {place} for {usd(usd_per_hour)} an hour"


def _takes(hours: float, work: Work) -> str:
    if work.task is Task.INFER:
        return f"The service is up {about_hours(hours)} a month"
    text = f"The work takes about {about_hours(hours)} a run"
    if work.runs_per_month is not None and hours * work.runs_per_month > HOURS_PER_MONTH:
        text += f", {ceil(hours * work.runs_per_month / HOURS_PER_MONTH)} at once for a month's work,"
    return text


@lru_cache(maxsize=8192)
def _need(strategy: str, gpus: float, need_gib: float, usable_gib: float) -> str:
    return f"{laid_out(strategy, gpus)} and needs {about(need_gib)} of the {about(usable_gib)} GiB of a GPU."
