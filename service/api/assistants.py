"""/mcp: the Model Context Protocol for assistants, read-only, where the extra `mcp` is installed; guarded like every path.

Answers are small: the first ten rows and a link to the rest. Every request stands alone, so any replica may answer it.
"""

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from providers.errors import OptimizerError
from service.api.context import Context
from service.chat.complaint import Complaint
from service.chat.core import Asker
from service.chat.market_answers import decision_lines
from service.chat.plan_answer import cards_of, place_of
from service.chat.reading import BreakevenReading, Machine, Terms
from service.chat.render import text_of
from service.chat.request import breakeven_request
from service.domain.offers import OffersQuery
from service.domain.plan import Plan
from service.domain.request import PlanRequest
from service.flows.chat import charged
from service.flows.offers import list_offers
from service.flows.plan import check_request

MOST_ROWS: Final = 10
PATH: Final = "/mcp"
ASKER: Final = "mcp"


def add_to(app: FastAPI, context: Context) -> None:
    """Adds the path where the official SDK is installed and the application has chat behind it."""
    if context.chat is not None and find_spec("mcp") is not None:
        app.router.routes.append(Route(PATH, _Endpoint(mcp_app(context))))


class _Endpoint:
    """An ASGI application as a route's endpoint: a function would be taken for one that answers a request object."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def mcp_app(context: Context) -> ASGIApp:
    """The protocol as an ASGI application. Each request runs in a session of its own that ends with it."""
    from mcp.server import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import ToolAnnotations

    server = MCPServer("gpuplan", instructions="Where a GPU workload is cheapest to run. All tools only read.")
    for tool in _tools(context):
        server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    # Hosts and origins are checked by the gate before this, as for every other path.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        one = server.streamable_http_app(
            streamable_http_path=PATH, json_response=True, stateless_http=True, max_request_body_size=2**20,
            transport_security=security,
        )  # fmt: skip
        async with server.session_manager.run():
            await one({**scope, "path": PATH, "root_path": ""}, receive, send)

    return app


def _tools(context: Context) -> list[Callable[..., dict[str, Any]]]:
    doors = context.require_chat()
    world = doors.world

    def plan(
        workload: dict[str, Any], constraints: dict[str, Any] | None = None, usage: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Rank where a workload is cheapest to run. The arguments are the parts of the body of POST /plan.

        Example: workload {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}, constraints {"residency": ["EU"]}.
        """
        body = {"workload": workload, "constraints": constraints or {}, **({"usage": usage} if usage else {}), "limit": MOST_ROWS}
        return _told(lambda: _plan_shown(context, PlanRequest.model_validate_json(json.dumps(body))))

    def list_market_offers(gpu: str, max_usd_per_gpu_hour: float | None = None, country: str | None = None) -> dict[str, Any]:
        """The cheapest offers of a card or family now, per GPU and hour; country is an ISO code in capital letters."""
        given = {"gpu": [gpu], "max_usd_per_gpu_hour": max_usd_per_gpu_hour, "country": [country] if country else []}

        def shown() -> dict[str, Any]:
            query = OffersQuery.model_validate({**given, "limit": MOST_ROWS})
            page = list_offers(context.require_market(), query)
            names = ("provider", "gpu", "gpu_count", "region", "country", "availability", "usd_per_hour", "usd_per_gpu_hour")
            rows = [
                {name: getattr(one, name) for name in names} | {"capacity_type": one.capacity_type.value} for one in page.offers
            ]
            return {"offers": rows, "total": page.total, "as_of": str(page.as_of), "all": _link(context, f"/offers?gpu={gpu}")}

        return _told(shown)

    def price_history(gpu: str, days: float = 30.0) -> dict[str, Any]:
        """What each provider charged for one GPU and an hour: lowest, median over time, highest, and now."""

        def shown() -> dict[str, Any]:
            rows, is_cut = charged(
                context.engine, gpu=gpu, capacity_types=(), providers=(), days=min(days, 730.0), now=context.clock()
            )
            names = ("provider", "lowest", "median", "highest", "now", "offers")
            kept = [{name: getattr(row, name) for name in names} | {"kind": row.capacity_type.value} for row in rows[:MOST_ROWS]]
            return {"rows": kept, "is_cut": is_cut or len(rows) > MOST_ROWS, "all": _link(context, f"/prices/history?gpu={gpu}")}

        return _told(shown)

    def breakeven(gpu: str, utilization: float, horizon_months: int = 36) -> dict[str, Any]:
        """Rent or own a card at a utilization (0 to 1) over some months, against the dated default box."""

        def shown() -> dict[str, Any]:
            terms = Terms(utilization=utilization, horizon_months=horizon_months)
            request, assumed = breakeven_request(BreakevenReading(machine=Machine(gpu=gpu), terms=terms), text=gpu)
            found = world.plan(request, context.require_market())
            return {"verdict": found.decision.verdict, "lines": decision_lines(found.decision), "assumed": assumed}

        return _told(shown)

    def explain(plan_id: str, option: int = 1) -> dict[str, Any]:
        """One option of a plan with every line of its cost."""
        return _told(lambda: {"text": text_of(doors.core.answer(f"explain {option}", Asker(key=ASKER), plan_id=plan_id))})

    list_market_offers.__name__ = "list_offers"
    return [plan, list_market_offers, price_history, breakeven, explain]


def _plan_shown(context: Context, request: PlanRequest) -> dict[str, Any]:
    check_request(request, context.clock())
    world = context.require_chat().world
    found = world.plan(request, context.require_market())
    world.last_plans.keep(f"{ASKER}:{found.plan_id}", found, request)
    return {"plan_id": found.plan_id, "summary": found.summary, "decision": found.decision.sentence, **_options(found)} | {
        "excluded": sum(one.count for one in found.exclusions),
        "all": _link(context, f"/chat/plans/{found.plan_id}"),
    }


def _options(plan: Plan) -> dict[str, Any]:
    rows = [
        {
            "rank": one.rank, "where": place_of(one), "gpus": cards_of(one), "capacity_type": one.capacity_type,
            "usd_per_hour": one.usd_per_hour, "hours": one.hours.mid, "total_usd": one.cost.ranking_usd,
            "period": one.cost.ranking_period, "flags": one.flags,
        }
        for one in plan.options[:MOST_ROWS]
    ]  # fmt: skip
    return {"options": rows, "options_found": plan.options_found}


def _link(context: Context, path: str) -> str | None:
    base = context.require_chat().world.public_url
    return None if base is None else base.rstrip("/") + path


def _told(shown: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer, or what is refused and what would do: an assistant mends its call by that."""
    from pydantic import ValidationError

    from service.api.problems import Refusal

    try:
        return shown()
    except Complaint as error:
        return {"refused": str(error), "allowed": error.allowed}
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False, include_context=False)
        return {"refused": [f"/{'/'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in faults[:10]]}
    except OptimizerError as error:
        return {"refused": str(error), "pointer": getattr(error, "pointer", ""), "allowed": getattr(error, "allowed", ())}
    except Refusal as error:
        return {"refused": error.detail or error.code}
