"""Core: one line of text to one Answer, the same for every platform, the terminal and `POST /chat`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from providers.errors import InvalidInput
from service.chat.answer import SHOWN_ROWS, Answer, Button
from service.chat.complaint import Complaint
from service.chat.echo import echo_of
from service.chat.market_answers import compare_answer, decision_lines, history_answer, providers_answer
from service.chat.parse import line_of, parse
from service.chat.phrase import machine_phrase
from service.chat.plan_answer import cards_of, excluded_answer, option_answer, place_of, plan_answer
from service.chat.reading import (
    BreakevenReading,
    CompareReading,
    ExplainReading,
    HistoryReading,
    PlainReading,
    PlanReading,
    Reading,
    UnwatchReading,
    WatchReading,
    WhyNotReading,
)
from service.chat.request import breakeven_request, plan_request
from service.chat.watching import list_watches, start_watch, stop_watch
from service.domain.plan import Plan
from service.domain.request import PlanRequest
from service.flows.chat import ChatWorld, by_time, holds_negotiated, repriced, sellers
from service.flows.watches import Target
from service.solver.market import Market
from service.solver.words import about_hours, about_usd, percent, usd

_WITHOUT_PRICES: Final = ("help", "providers")
_NO_PLAN: Final = "There is no plan of yours here in the last 24 hours: ask first, as in: cheapest 70b qlora in EU"
EXAMPLES: Final = (
    "cheapest 70B qlora under $3/h in EU",
    "fastest llama-3.1-8b lora 50M tokens for $500 not vast",
    "compare 2xH100 vs 8xA100 80gb for 72h",
    "breakeven H100 at 45% for 36 months",
    "history h100 spot 30d",
    "watch h100 under $2/gpu/h in EU",
    "explain 2, excluded, more, why not vast (of your last plan)",
    "providers, watches, unwatch ID",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and where an alarm would go. `key` names a user in a channel of a platform."""

    key: str
    target: Target | None = None


class ChatCore:
    """Answers lines."""

    def __init__(self, world: ChatWorld) -> None:
        self._world = world

    def clock(self) -> datetime:
        """The time by which requests are judged."""
        return self._world.clock()

    def holds_negotiated(self) -> bool:
        """Whether answers are for the asker's eyes only."""
        market = self._world.market()
        return market is not None and holds_negotiated(market)

    def answer(self, text: str, asker: Asker, *, plan_id: str | None = None) -> Answer:
        """The answer to a line; a line that is not understood is an answer too. `plan_id` stands for the last plan."""
        market = self._world.market()
        try:
            reading = parse(text, providers=sellers(market) if market is not None else frozenset())
            found = _Asked(self._world, market, line_of(text), asker, plan_id).answer(reading)
        except Complaint as complaint:
            return complaint_answer(complaint)
        except InvalidInput as error:
            near = (f"Did you mean {' or '.join(error.allowed[:5])}?",) if error.allowed else ()
            return Answer(title=f"This cannot be computed: {error}", lines=near, is_refusal=True)
        private = self.holds_negotiated() and not (isinstance(reading, PlainReading) and reading.verb in _WITHOUT_PRICES)
        return replace(found, is_private=private or found.is_private)


def complaint_answer(complaint: Complaint) -> Answer:
    """Where a line goes wrong, and what would do."""
    buttons = (Button("Help", "help"),)
    lines = (complaint.advice,) if complaint.advice else ()
    return Answer(title=f"Not understood: {complaint}", lines=lines, block=complaint.caret, buttons=buttons, is_refusal=True)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One line with everything that its answer needs."""

    world: ChatWorld
    market_now: Market | None
    text: str
    asker: Asker
    plan_id: str | None

    def answer(self, reading: Reading) -> Answer:
        answers: Mapping[type, Callable[[Any], Answer]] = {
            PlanReading: self._plan,
            CompareReading: self._compare,
            BreakevenReading: self._breakeven,
            HistoryReading: self._history,
            ExplainReading: self._explain,
            WhyNotReading: lambda asked: self._why_not(asked.provider, self._last()),
            WatchReading: self._watch,
            UnwatchReading: lambda asked: stop_watch(self.world, self.asker.key, asked.watch_id),
            PlainReading: self._plain,
        }
        return answers[type(reading)](reading)

    def _market(self, change: float | None = None) -> Market:
        if self.market_now is None or self.market_now.offers == 0:
            raise InvalidInput("there is no price yet: no provider was read and no list is loaded")
        return self.market_now if change is None else repriced(self.market_now, change)

    def _echo(self, reading: Reading) -> str:
        return echo_of(reading, self.world.default_sensitivity)

    def _link(self, plan: Plan) -> str | None:
        return None if self.world.public_url is None else f"{self.world.public_url.rstrip('/')}/chat/plans/{plan.plan_id}"

    def _keep(self, plan: Plan, request: PlanRequest) -> None:
        self.world.last_plans.keep(self.asker.key, plan, request)

    def _last(self) -> tuple[Plan, PlanRequest] | None:
        if self.plan_id is not None:
            found = self.world.find(self.plan_id)
            return None if found is None else (found, PlanRequest.model_validate(found.request_echo, strict=False))
        return self.world.last_plans.last(self.asker.key)

    def _plan(self, reading: PlanReading) -> Answer:
        terms = reading.terms
        request, assumed = plan_request(terms, text=self.text, is_fastest=reading.is_fastest)
        plan = self.world.plan(request, self._market(terms.price_change))
        if reading.is_fastest:
            plan = by_time(plan)
            if plan.options_found > len(plan.options):
                assumed = (*assumed, f"the fastest of the {len(plan.options)} cheapest options")
        self._keep(plan, request)
        if terms.price_change is not None:
            assumed = (*assumed, f"every cloud price {terms.price_change * 100:+g} %")
        found = plan_answer(plan, reading=self._echo(reading), assumed=assumed, top=terms.top, link=self._link(plan))
        if reading.is_fastest and plan.options:
            first = plan.options[0]
            hours = f"about {about_hours(first.hours.mid)}, {usd(first.usd_per_hour)} an hour"
            found = replace(found, title=f"The soonest: {cards_of(first)} at {place_of(first)}, {hours}")
        if terms.why_not is not None:
            because = self._why_not(terms.why_not, (plan, request))
            found = replace(found, lines=(*found.lines, because.title, *because.lines))
        return found

    def _compare(self, reading: CompareReading) -> Answer:
        market = self._market(reading.terms.price_change)
        return compare_answer(self.world, market, reading, text=self.text, echo=self._echo(reading))

    def _breakeven(self, reading: BreakevenReading) -> Answer:
        request, assumed = breakeven_request(reading, text=self.text)
        plan = self.world.plan(request, self._market(reading.terms.price_change))
        self._keep(plan, request)
        share = percent(reading.terms.utilization or 0)
        title = f"{machine_phrase(reading.machine)} at {share} utilization: {plan.decision.verdict.replace('_', '-')}"
        base = plan_answer(plan, reading=self._echo(reading), assumed=assumed, top=3, link=self._link(plan))
        return replace(base, title=title, lines=decision_lines(plan.decision))

    def _history(self, reading: HistoryReading) -> Answer:
        return history_answer(self.world, reading, echo=self._echo(reading))

    def _explain(self, reading: ExplainReading) -> Answer:
        kept = self._last()
        if kept is None:
            return Answer(title=_NO_PLAN, is_refusal=True)
        found = option_answer(kept[0], reading.rank, link=self._link(kept[0]))
        if found is None:
            return Answer(
                title=f"The last plan has {len(kept[0].options)} options: there is no number {reading.rank}", is_refusal=True
            )
        return found

    def _why_not(self, provider: str, kept: tuple[Plan, PlanRequest] | None) -> Answer:
        """The same question to this provider alone: what it would cost there, or all that keeps it out."""
        if kept is None:
            return Answer(title=_NO_PLAN, is_refusal=True)
        plan, request = kept[0], kept[1]
        limits = request.constraints.model_copy(update={"providers": (provider,), "exclude_providers": ()})
        alone = self.world.plan(request.model_copy(update={"constraints": limits, "limit": 1}), self._market())
        if alone.options and plan.options:
            first, best = alone.options[0], plan.options[0]
            more = first.cost.ranking_usd - best.cost.ranking_usd
            title = f"Why not {provider}: its best is {cards_of(first)} at {place_of(first)}, {about_usd(first.cost.ranking_usd)}"
            return Answer(title=f"{title}, {about_usd(more)} more than #1" if more > 0 else title, lines=(first.why,))
        others = [one for one in alone.exclusions if one.reason not in ("provider", "providers")]
        lines = tuple(f"{one.explained}{f'; {one.would_admit}' if one.would_admit else ''}" for one in others)
        return Answer(title=f"Why not {provider}: nothing of it fits", lines=lines or ("It sells nothing on this market.",))

    def _watch(self, reading: WatchReading) -> Answer:
        return replace(start_watch(self.world, self.asker.key, self.asker.target, reading), reading=self._echo(reading))

    def _plain(self, reading: PlainReading) -> Answer:
        if reading.verb == "help":
            return Answer(title="What can be asked", lines=EXAMPLES)
        if reading.verb == "watches":
            return list_watches(self.world, self.asker.key)
        if reading.verb == "providers":
            return providers_answer(self.world)
        kept = self._last()
        if kept is None:
            return Answer(title=_NO_PLAN, is_refusal=True)
        if reading.verb == "excluded":
            return excluded_answer(kept[0], link=self._link(kept[0]))
        if len(kept[0].options) <= SHOWN_ROWS:
            return Answer(title="The last plan has no more options")
        return plan_answer(
            kept[0], reading="the rest of the last plan", assumed=(), top=200, link=self._link(kept[0]), start=SHOWN_ROWS
        )
