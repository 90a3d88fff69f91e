"""No pool: the decision where no own hardware can do the work, with the utilization at which a default box would win."""

from collections.abc import Sequence
from functools import lru_cache

from providers.gpus import GPUS, Gpu
from service.domain.plan import Decision, PlanOption
from service.solver.amortize import PoolCost, breakeven_utilization
from service.solver.onprem import OwnHardware
from service.solver.pool_defaults import cost_of, default_pool
from service.solver.words import percent
from service.solver.work import Work


def decided_without_pool(own: Sequence[OwnHardware], cheapest: PlanOption | None, work: Work) -> Decision:
    if cheapest is None:
        blocked = own[0].exclusion.explained if own and own[0].exclusion else "no offer is allowed and fits"
        return _plain("infeasible", f"Nothing fits: {blocked}.", own, None)
    card = GPUS[cheapest.gpu]
    box = _default_box(card)
    cards = cheapest.gpu_count * cheapest.nodes
    hours = cheapest.hours.mid * cards
    per_run = cheapest.cost.ranking_usd if work.runs is not None else cheapest.cost.ranking_usd / work.runs_each_month
    wins = breakeven_utilization(box, per_run / hours)
    if own and own[0].exclusion:
        text = f"Rent: {own[0].exclusion.explained}."
    else:
        text = (
            f"Rent: no own hardware was given; a default box of {box.gpus} x {card.name} would"
            f" {'win from ' + percent(wins) + ' utilization' if wins <= 1 else 'not win at any utilization'} against this price."
        )
    return _plain("cloud", text, own, shown_share(wins))


@lru_cache(maxsize=256)
def _default_box(card: Gpu) -> PoolCost:
    return cost_of(default_pool(card), card)[0]


def _plain(verdict: str, sentence: str, own: Sequence[OwnHardware], wins: float | None) -> Decision:
    return Decision(
        verdict=verdict,
        sentence=sentence,
        pool=own[0].pool.name if own else None,
        utilization=round(own[0].utilization, 6) if own and own[0].utilization else None,
        breakeven_utilization=None,
        payback_months=None,
        usd_per_useful_gpu_hour=None,
        flips_if=() if wins is None else (f"utilization over {percent(wins)} of a whole box",),
        rule_of_thumb="The rule of thumb (rent under 30 %, own over 60 %) needs own hardware to be compared with.",
        default_box_wins_from_utilization=wins,
    )


def shown_share(value: float) -> float | None:
    """A share with six decimals; None over 1: never."""
    return None if value > 1 else round(value, 6)
