"""Words of a report: the recommendation in one line with its condition, and what each plan says. Estimates have three digits."""

import math
from collections.abc import Sequence

from service.domain.report import ReportInputs
from service.reports.model import PlanMoney
from service.solver.words import about

CENT = 0.005


def recommendation(money: Sequence[PlanMoney], inputs: ReportInputs) -> str:
    """What to do, what it costs, and what would change it."""
    chosen = math.fsum(month.chosen_usd for one in money for month in one.months)
    baseline = math.fsum(month.baseline_usd for one in money for month in one.months)
    difference = baseline - chosen
    saved = f"{amount(abs(difference), inputs)} {'less' if difference > 0 else 'more'} than renting on demand"
    if abs(difference) < CENT:
        saved = "which is renting on demand at the least price"
    text = f"{_what(money)}: {amount(chosen, inputs)} over {inputs.horizon_months} months, {saved}"
    first = next((one.source for one in money if one.source.plan.decision.flips_if), None)
    if first is None:
        return f"{text}."
    where = f" ({first.name})" if len(money) > 1 else ""
    return f"{text}. What would change it{where}: {first.plan.decision.flips_if[0]}."


def _what(money: Sequence[PlanMoney]) -> str:
    rented = sum(1 for one in money if one.chosen is not None and one.chosen.kind == "cloud")
    owned = sum(1 for one in money if one.chosen is not None and one.chosen.kind == "on_prem")
    missing = len(money) - rented - owned
    if len(money) == 1:
        way = money[0].chosen
        verb = "Own" if owned else "Rent"
        return "Nothing fits" if way is None else f"{verb} {way.label}"
    parts = [f"rent for {rented} of {len(money)} plans" if rented else "", f"own for {owned}" if owned else ""]
    parts.append(f"nothing fits {missing}" if missing else "")
    text = ", ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def amount(usd: float, inputs: ReportInputs) -> str:
    """An estimate in the report's currency."""
    value = usd * inputs.rate.per_usd
    return f"${about(value)}" if inputs.rate.currency == "USD" else f"{about(value)} {inputs.rate.currency}"


def sentence_of(money: PlanMoney) -> tuple[str, ...]:
    """The plan's verdict, the reason for its first option, and the note that was saved with it."""
    plan = money.source.plan
    way = money.chosen
    chosen = None if way is None else next(one for one in plan.options if one.rank == way.rank)
    found = [plan.decision.sentence, "" if chosen is None else chosen.why, plan.decision.rule_of_thumb]
    if money.source.note:
        found.append(f"Note: {money.source.note}")
    return tuple(sentence for sentence in found if sentence)
