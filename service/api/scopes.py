"""Scopes: what a caller needs for each operation, in one table; an operation that is not named takes its method's scope."""

from collections.abc import Iterable
from dataclasses import dataclass
from re import Pattern
from typing import Any, Final

from service.domain.access import Scope

# Nobody is asked for a key here: they hold no data, or they are signed or secret by themselves.
PUBLIC: Final = frozenset(
    {
        "/healthz", "/readyz", "/docs", "/openapi.json", "/problems", "/problems/{code}", "/shared/{token}", "/ui/static/{name}",
        "/chat/slack", "/chat/teams", "/chat/mattermost", "/chat/discord",
    }
)  # fmt: skip
_OF_METHOD: Final = {"GET": Scope.READ, "POST": Scope.PLAN}  # every other method: admin
_EXCEPTIONS: Final = {
    ("DELETE", "/watches/{watch_id}"): Scope.PLAN,
    ("DELETE", "/plans/{plan_id}/share/{share_id}"): Scope.PLAN,
    ("POST", "/providers/{name}/refresh"): Scope.ADMIN,
    ("POST", "/ui/providers/{name}/refresh"): Scope.ADMIN,
    ("GET", "/chat/plans/{plan_id}"): Scope.PLAN,
}
UNKNOWN_PATH: Final = Scope.PLAN  # a path of no operation: a caller without a key does not learn which paths exist
_COMPUTES: Final = frozenset({"/", "/plan", "/estimate", "/breakeven", "/chat"})  # they change nothing unless they say so


def scope_of(method: str, path: str) -> Scope | None:
    """The scope that the operation of this path template asks for; None: nobody is asked."""
    if path in PUBLIC:
        return None
    return _EXCEPTIONS.get((method, path)) or _OF_METHOD.get(method, Scope.ADMIN)


def security_of(method: str, path: str) -> list[dict[str, list[str]]]:
    """The same as OpenAPI tells it: either way to send the key, with the scope that it needs."""
    scope = scope_of(method, path)
    return [] if scope is None else [{"bearer": [scope.value]}, {"apiKey": [scope.value]}]


SECURITY_SCHEMES: Final[dict[str, dict[str, str]]] = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key (`gpuplan keys create`), or a token of the identity provider where one is set. "
        "A service on loopback without any key asks nobody.",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key, as a header of its own."},
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One operation: its path template, what it asks for, and whether it changes something."""

    path: str
    scope: Scope | None
    is_write: bool
    route: Any = None


class Rules:
    """Finds the rule of a request without asking the router: a path without a parameter by one look-up."""

    def __init__(self, routes: Iterable[Any]) -> None:
        self._exact: dict[tuple[str, str], Rule] = {}
        self._templates: list[tuple[frozenset[str], Pattern[str], dict[str, Rule]]] = []
        for route in routes:
            methods = frozenset(route.methods or ())
            rules = {method: _rule(method, route) for method in methods}
            if "{" in route.path:
                self._templates.append((methods, route.path_regex, rules))
            else:
                self._exact.update({(method, route.path): rule for method, rule in rules.items()})

    def find(self, method: str, path: str) -> Rule:
        """The rule of a request."""
        found = self._exact.get((method, path))
        if found is not None:
            return found
        for methods, pattern, rules in self._templates:
            if method in methods and pattern.match(path):
                return rules[method]
        return Rule("unknown", UNKNOWN_PATH, is_write=False)


def _rule(method: str, route: Any) -> Rule:
    is_write = method not in ("GET", "HEAD") and route.path not in _COMPUTES
    return Rule(route.path, scope_of(method, route.path), is_write, route)
