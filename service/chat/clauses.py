"""Clauses: what the parts of a line say, field by field; each figure is checked where it stands, nothing is said twice."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NoReturn

from lark import Token, Tree

from service.chat.complaint import Complaint
from service.chat.reading import Machine

Node = Tree[Token]
By = Mapping[str, Token]
MAX_RANK: Final = 200
_HOURS: Final = {"m": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}
_MONTHS: Final = {"mo": 1, "y": 12}
_HOURS_PER_MONTH: Final = 730.0
_MULTIPLES: Final = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_OF_LIST: Final = {
    "places": ("places", "PLACE"),
    "capacity": ("capacity_types", "CAPACITY"),
    "providers": ("providers", "PROVIDER"),
    "excluded_providers": ("excluded_providers", "PROVIDER"),
    "regime": ("regimes", "REGIME"),
}
_OF_WORD: Final = frozenset({"model", "technique", "precision", "data_class", "why_not"})  # fields of the same name
_OF_FACT: Final = {"inference": "is_inference", "now": "is_now"}
_LISTS: Final = frozenset({"machines", *(name for name, _ in _OF_LIST.values())})


@dataclass(slots=True)
class Said:
    """Fields with their values, and where each stands."""

    text: str
    values: dict[str, Any] = field(default_factory=dict)
    where: dict[str, Token] = field(default_factory=dict)

    def take(self, name: str, value: Any, token: Token) -> None:
        """Notes a field; a list grows. Raises Complaint: it was said before."""
        if name in _LISTS:
            before = self.values.get(name, ())
            if value in before:
                raise at(self.text, token, "this is said twice")
            self.values[name] = (*before, value)
        elif name in self.values:
            raise at(self.text, token, "this was said before in another way: say it once")
        else:
            self.values[name] = value
        self.where.setdefault(name, token)

    def refuse(self, name: str, message: str) -> None:
        """Raises Complaint where the field was said."""
        if name in self.values:
            raise at(self.text, self.where[name], message)

    def refuse_together(self, one: str, other: str, message: str) -> None:
        """Raises Complaint at the later of two fields that exclude each other."""
        if one in self.values and other in self.values:
            raise at(self.text, max(self.where[one], self.where[other], key=lambda token: token.start_pos or 0), message)


def said_by(text: str, clauses: list[Any]) -> Said:
    """What the clauses say together. Raises Complaint."""
    found = Said(text)
    for clause in clauses:
        by = {token.type: token for token in clause.children if isinstance(token, Token)}
        for name, value, token in _fields(text, clause, by):
            found.take(name, value, token)
    return found


def machine_of(text: str, node: Any) -> Machine:
    """A card with its count, written before or behind it. Raises Complaint."""
    by = {token.type: token for token in node.children}
    if "COUNT" in by and "AFTER_COUNT" in by:
        raise at(text, by["AFTER_COUNT"], "the count is given twice")
    count = by.get("COUNT") or by.get("AFTER_COUNT")
    number = None if count is None else whole(text, count, most=1024, message="a machine has from 1 to 1024 GPUs")
    return Machine(gpu=by["GPU"].value, count=number)


def at(text: str, token: Token, message: str, allowed: tuple[str, ...] = ()) -> Complaint:
    """A complaint about one token."""
    return Complaint(message, text=text, start=token.start_pos or 0, end=token.end_pos or 0, allowed=allowed)


def plain(value: float) -> str:
    """A number as people write it, exact and without an exponent."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole(text: str, token: Token, *, most: int, message: str) -> int:
    """A whole number from 1 on."""
    value = int(token.value[0])
    if not 1 <= value <= most:
        raise at(text, token, message)
    return value


def _fields(text: str, clause: Node, by: By) -> Iterator[tuple[str, Any, Token]]:
    """Field, value and place of what a clause says; several for a list."""
    kind = str(clause.data)
    if kind in _OF_LIST:
        name, terminal = _OF_LIST[kind]
        for token in clause.children:
            if isinstance(token, Token) and token.type == terminal:
                yield name, token.value, token
    elif kind in _OF_WORD or kind in _OF_FACT:
        token = list(by.values())[-1]
        yield (kind, token.value, token) if kind in _OF_WORD else (_OF_FACT[kind], True, token)
    elif kind == "a_machine":
        node = next(child for child in clause.children if isinstance(child, Tree))
        yield "machines", machine_of(text, node), _first(node)
    elif kind in _REFUSED:
        _REFUSED[kind](text, by)
    else:
        yield _FIGURES[kind](text, by)


def _first(node: Node) -> Token:
    return next(token for token in node.children if isinstance(token, Token))


def _number(text: str, token: Token, least: float, most: float, message: str) -> float:
    value = float(token.value[0])
    if not least <= value <= most:
        raise at(text, token, message)
    return value


def _usd(text: str, token: Token) -> float:
    return _number(text, token, 1e-6, 1e12, "an amount of money is above 0")


def _months(token: Token) -> float | None:
    """A time in months and years as months; None for shorter units."""
    number, unit = float(token.value[0]), token.value[1].lower()
    factor = next((months for start, months in _MONTHS.items() if unit.startswith(start)), None)
    return None if factor is None else number * factor


def _hours(text: str, token: Token) -> float:
    months = _months(token)
    number, unit = float(token.value[0]), token.value[1].lower()
    hours = number * _HOURS[unit[0]] if months is None else months * _HOURS_PER_MONTH
    if not 0 < hours <= 1e6:
        raise at(text, token, "a time is above 0 and at most 1000000 hours")
    return hours


def _size(text: str, by: By) -> tuple[str, Any, Token]:
    return "params_b", _number(text, by["SIZE"], 0.001, 100_000, "a size is from 0.001b to 100000b"), by["SIZE"]


def _tokens(text: str, by: By) -> tuple[str, Any, Token]:
    token = by["TOKENS"]
    amount = float(token.value[0]) * _MULTIPLES[token.value[1].lower()]
    if not 0 < amount <= 1e18:
        raise at(text, token, "an amount of tokens is above 0 and at most 1000000T")
    return "tokens", amount, token


def _rate(text: str, by: By) -> tuple[str, Any, Token]:
    return "requests_per_second", _number(text, by["RATE"], 1e-9, 1e9, "a rate is above 0 and at most 1000000000"), by["RATE"]


def _runs(text: str, by: By) -> tuple[str, Any, Token]:
    name = "runs_per_month" if "PER_MONTH" in by else "runs"
    return name, _number(text, by["RUNS"], 1e-9, 1e9, "a number of runs is above 0 and at most 1000000000"), by["RUNS"]


def _amount_of_time(text: str, by: By) -> tuple[str, Any, Token]:
    """Months are a horizon, shorter times are hours of work."""
    token = by["DURATION"]
    months = _months(token)
    if months is None:
        return "work_hours", _hours(text, token), token
    if not months.is_integer() or not 1 <= months <= 120:
        raise at(text, token, "a horizon is a whole number of months from 1 to 120")
    return "horizon_months", int(months), token


def _utilization(text: str, by: By) -> tuple[str, Any, Token]:
    _number(text, by["PERCENT"], 1e-6, 100, "a utilization is above 0 and at most 100%")
    return "utilization", _share(by["PERCENT"]), by["PERCENT"]


def _price_change(text: str, by: By) -> tuple[str, Any, Token]:
    token = by["PERCENT"]
    value = float(token.value[0])
    if not token.value[0].startswith(("+", "-")):
        raise at(text, token, "up or down? Write the sign", (f"-{plain(value)}%", f"+{plain(value)}%"))
    if not -100 < value <= 1000 or value == 0:
        raise at(text, token, "a change of prices is over -100% and at most +1000%, and not 0")
    return "price_change", _share(token), token


def _share(token: Token) -> float:
    """Percent to a share by moving the point: 45.1 % is 0.451, not 0.45099999999999996."""
    return float(Decimal(token.value[0]).scaleb(-2))


def _top(text: str, by: By) -> tuple[str, Any, Token]:
    return "top", whole(text, by["INT"], most=MAX_RANK, message=f"top takes a number from 1 to {MAX_RANK}"), by["INT"]


def _cap(name: str) -> Callable[[str, By], tuple[str, Any, Token]]:
    return lambda text, by: (name, _usd(text, by["MONEY"]), by["MONEY"])


def _of_what(text: str, by: By) -> NoReturn:
    amount = plain(_usd(text, by["MONEY"]))
    meant = (f"${amount}/h", f"${amount}/gpu/h", f"total under ${amount}")
    raise at(
        text, by["MONEY"], "is this for the whole instance and an hour, for one GPU and an hour, or for the whole work?", meant
    )


def _per_month(text: str, by: By) -> NoReturn:
    raise at(text, by["MONEY"], "a cap is for an hour (/h, /gpu/h) or for the whole work (total), not for a month")


def _for_an_hour(text: str, by: By) -> NoReturn:
    amount = plain(_usd(text, by["MONEY"]))
    unit = "/h" if "PER_HOUR" in by else "/gpu/h"
    raise at(text, by["FOR"], "for an amount means the whole work; a cap for an hour is under", (f"under ${amount}{unit}",))


_FIGURES: Final[Mapping[str, Callable[[str, By], tuple[str, Any, Token]]]] = {
    "size": _size,
    "tokens": _tokens,
    "rate": _rate,
    "runs": _runs,
    "amount_of_time": _amount_of_time,
    "utilization": _utilization,
    "price_change": _price_change,
    "top": _top,
    "cap_per_hour": _cap("max_usd_per_hour"),
    "cap_per_gpu_hour": _cap("max_usd_per_gpu_hour"),
    "cap_in_total": _cap("max_usd_total"),
    "deadline": lambda text, by: ("deadline_hours", _hours(text, by["DURATION"]), by["DURATION"]),
}
_REFUSED: Final[Mapping[str, Callable[[str, By], NoReturn]]] = {
    "cap_of_what": _of_what,
    "cap_per_month": _per_month,
    "cap_for_an_hour": _for_an_hour,
}
