"""A server's market: the same questions over REST, its problems as this command's errors."""

import json
import os
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import TypeAdapter, ValidationError

from service.cli.exits import OUR_ERROR, USAGE, CommandError
from service.domain.breakeven import Breakeven
from service.domain.offers import OfferPage
from service.domain.plan import Plan

if TYPE_CHECKING:
    from service.domain.breakeven import BreakevenRequest
    from service.domain.request import PlanRequest

TIMEOUT_SECONDS = 60.0


class RemoteMarket:
    """The market of the server at a base URL; GPUPLAN_API_KEY is sent as a bearer token when it is set."""

    def __init__(self, url: str) -> None:
        key = os.environ.get("GPUPLAN_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects=False)

    def plan(self, request: "PlanRequest") -> Plan:
        """The server's plan."""
        body = request.model_dump_json(exclude_unset=True)
        sent = self._ask("POST", "/plan", content=body, headers={"Content-Type": "application/json"})
        answered: Plan = _read(TypeAdapter(Plan), sent)
        return answered

    def breakeven(self, request: "BreakevenRequest") -> Breakeven:
        """The server's breakeven."""
        body = request.model_dump_json(exclude_unset=True)
        sent = self._ask("POST", "/breakeven", content=body, headers={"Content-Type": "application/json"})
        answered: Breakeven = _read(TypeAdapter(Breakeven), sent)
        return answered

    def offers(self, query: dict[str, Any]) -> OfferPage:
        """The server's first page of offers."""
        page: OfferPage = _read(TypeAdapter(OfferPage), self._ask("GET", "/offers", params=query))
        return page

    def call(self, method: str, path: str, **how: Any) -> Any:
        """The server's answer to any operation, as plain values; None where it answers nothing."""
        sent = self._ask(method, path, **how)
        return json.loads(sent) if sent else None

    def read(self, method: str, path: str, **how: Any) -> bytes:
        """The server's answer as it came."""
        return self._ask(method, path, **how)

    def _ask(self, method: str, path: str, **how: Any) -> bytes:
        try:
            answer = self._http.request(method, path, **how)
        except httpx.HTTPError as error:
            raise CommandError(f"the server of GPUPLAN_URL does not answer ({type(error).__name__})") from error
        if answer.is_success:
            return answer.content
        raise _problem(answer)


def _read(adapter: TypeAdapter[Any], content: bytes) -> Any:
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        raise CommandError(
            "the server answered in a form that this version does not know", hint="are both of one version?"
        ) from error


def _problem(answer: httpx.Response) -> CommandError:
    """The server's problem in its own words."""
    code = USAGE if answer.status_code in (400, 413, 415, 422) else OUR_ERROR
    try:
        problem = answer.json()
        faults = [f"{fault['pointer']}: {fault['message']}" for fault in problem.get("errors", [])]
        allowed = [name for fault in problem.get("errors", []) for name in fault.get("allowed") or ()]
        hint = f"Did you mean: {', '.join(allowed)}" if allowed else ""
        return CommandError("\n  ".join([str(problem.get("detail") or problem["title"]), *faults]), code=code, hint=hint)
    except (ValueError, KeyError, TypeError):
        return CommandError(f"the server of GPUPLAN_URL answered {answer.status_code}", code=code)
