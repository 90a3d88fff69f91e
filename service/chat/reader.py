"""Reader: from the parse tree of a line to its Reading."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token, Tree

from service.chat.clauses import MAX_RANK, Node, at, machine_of, said_by, whole
from service.chat.reading import (
    BreakevenReading,
    CompareReading,
    ExplainReading,
    HistoryReading,
    PlainReading,
    PlanReading,
    Reading,
    Terms,
    UnwatchReading,
    WatchReading,
    WhyNotReading,
)

_HOURS_PER_MONTH: Final = 730.0


def reading_of(text: str, tree: Node) -> Reading:
    """The reading of a line whose words stand in an order that says something. Raises Complaint."""
    (verb,) = tree.children
    if not isinstance(verb, Tree):
        raise TypeError("the start rule holds one rule")
    return _VERBS[str(verb.data)](text, verb)


def _token(node: Node, place: int) -> Token:
    found = node.children[place]
    if not isinstance(found, Token):
        raise TypeError("a terminal stands here")
    return found


def _cheapest(text: str, node: Node) -> Reading:
    return PlanReading(is_fastest=_token(node, 0).type == "FASTEST", terms=_terms(text, node.children[1:]))


def _compare(text: str, node: Node) -> Reading:
    trees = [child for child in node.children if isinstance(child, Tree)]
    machines = [tree for tree in trees if tree.data == "machine"]
    found = tuple(machine_of(text, tree) for tree in machines)
    for place, machine in enumerate(found):
        if machine in found[:place]:
            raise at(text, _token(machines[place], 0), "this machine is compared with itself")
    return CompareReading(machines=found, terms=_terms(text, [tree for tree in trees if tree.data != "machine"]))


def _breakeven(text: str, node: Node) -> Reading:
    return BreakevenReading(machine=machine_of(text, node.children[1]), terms=_terms(text, node.children[2:]))


def _history(text: str, node: Node) -> Reading:
    machine = machine_of(text, node.children[1])
    if machine.count is not None and isinstance(node.children[1], Tree):
        raise at(text, _token(node.children[1], 0), "a history is of one GPU's price: leave the count out")
    said = said_by(text, node.children[2:])
    said.refuse("excluded_providers", "a history takes the providers to show, not those to leave out")
    said.refuse_together("work_hours", "horizon_months", "one length of time is enough")
    hours = said.values.pop("work_hours", None) or said.values.pop("horizon_months", 0) * _HOURS_PER_MONTH
    return HistoryReading(gpu=machine.gpu, days=hours / 24 or None, **said.values)


def _explain(text: str, node: Node) -> Reading:
    message = f"an option's number is from 1 to {MAX_RANK}"
    return ExplainReading(rank=whole(text, _token(node, 1), most=MAX_RANK, message=message))


def _why(_: str, node: Node) -> Reading:
    return WhyNotReading(provider=_token(node, 1).value)


def _watch(text: str, node: Node) -> Reading:
    said = said_by(text, node.children[2:])
    said.refuse("excluded_providers", "a watch takes the providers to look at, not those to leave out")
    said.refuse_together("max_usd_per_hour", "max_usd_per_gpu_hour", "one price to wait for is enough")
    if not said.values.keys() & {"max_usd_per_hour", "max_usd_per_gpu_hour"}:
        raise at(text, _token(node, 0), "a watch needs a price to wait for", ("under $2/gpu/h",))
    machine = machine_of(text, node.children[1])
    return WatchReading(gpu=machine.gpu, gpu_count=machine.count, **said.values)


def _unwatch(_: str, node: Node) -> Reading:
    return UnwatchReading(watch_id=_token(node, 1).value)


def _plain(_: str, node: Node) -> Reading:
    return PlainReading(_token(node, 0).type.lower())


_EXCLUDE_EACH_OTHER: Final = (
    ("model", "params_b", "the model is given by name and by size: one is enough"),
    ("technique", "is_inference", "is it training or inference? Both are said"),
    ("technique", "requests_per_second", "a rate of requests is of inference, not of training"),
    ("tokens", "is_inference", "tokens are of training; inference takes a rate: 5 rps"),
    ("tokens", "requests_per_second", "the work is given in tokens and as a rate: one is enough"),
    ("tokens", "work_hours", "the work is given in tokens already; a time limit is: within 72h"),
    ("work_hours", "utilization", "the work is given in hours and as a share: one is enough"),
    ("work_hours", "horizon_months", "the work is given in hours once: a horizon in months has nothing to repeat"),
    ("runs", "runs_per_month", "runs are given once for all and by the month: one is enough"),
    ("runs", "utilization", "the work is given in runs and as a share: one is enough"),
    ("runs_per_month", "utilization", "the work is given in runs and as a share: one is enough"),
    ("runs", "work_hours", "the work is given in runs and in hours: one is enough"),
    ("runs_per_month", "work_hours", "the work is given in runs and in hours: one is enough"),
    ("is_inference", "runs", "a service has no runs: it takes a rate (5 rps) or hours (for 72h)"),
    ("is_inference", "runs_per_month", "a service has no runs: it takes a rate (5 rps) or hours (for 72h)"),
)


def _terms(text: str, clauses: list[Any]) -> Terms:
    said = said_by(text, clauses)
    for one, other, message in _EXCLUDE_EACH_OTHER:
        said.refuse_together(one, other, message)
    for provider in said.values.get("excluded_providers", ()):
        if provider in said.values.get("providers", ()):
            raise at(text, said.where["excluded_providers"], "this provider is asked for and left out")
    return Terms(**said.values)


_VERBS: Final[Mapping[str, Callable[[str, Node], Reading]]] = {
    "cheapest": _cheapest,
    "compare": _compare,
    "breakeven": _breakeven,
    "history": _history,
    "explain": _explain,
    "why": _why,
    "watch": _watch,
    "unwatch": _unwatch,
    "plain": _plain,
}
