"""The REST doors: one FastAPI application, built from what it is given. It reads no setting, no clock and no environment."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service.api import (
    acceptances,
    assistants,
    breakeven,
    chat,
    docs,
    estimate,
    health,
    history,
    jobs,
    launch,
    offers,
    on_prem,
    plan,
    plans,
    problem_pages,
    providers,
    reports,
    tables,
    watches,
)
from service.api.access import AccessGate
from service.api.context import Context
from service.api.deadline import Deadline
from service.api.document import openapi_of
from service.api.faults import parameter_faults
from service.api.gate import Gate
from service.api.problems import Refusal, problem_response, refusal_of_status
from service.api.scopes import Rules
from service.metrics import Metrics
from service.store.engine import make_engine

VERSION = "0.1.0"  # as pyproject.toml has it; a test compares
DESCRIPTION = (
    "Where is a GPU workload cheapest to run: which cloud offer, on demand or spot, or your own hardware. "
    "Every answer is dated, every dollar is a named line, and what was left out is counted with its reason. "
    "Bodies and answers are JSON; every error is application/problem+json (RFC 9457)."
)
_ANSWERS = (plan, launch, estimate, breakeven, offers, history, tables)
_RESOURCES = (*_ANSWERS, plans, reports, providers, jobs, on_prem, acceptances, chat, watches, problem_pages, health, docs)


def create_app(context: Context) -> FastAPI:
    """The application. `context` is what its operations read: prices, database, clock."""
    app = FastAPI(
        title="gpu-cost-optimizer",
        summary="Where to run a GPU workload at the least cost.",
        description=DESCRIPTION,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={RequestValidationError: _invalid_parameters, HTTPException: _refused_by_router},
    )
    app.state.context = context
    for resource in _RESOURCES:
        app.include_router(resource.router)
    assistants.add_to(app, context)
    app.add_middleware(AccessGate, access=context.access, rules=lambda: Rules(_operations(app)))
    app.add_middleware(Deadline, seconds=context.request_seconds)
    app.add_middleware(Gate, observe=context.metrics.observe)
    app.openapi = lambda: openapi_of(app)  # type: ignore[method-assign]  # FastAPI's documented way to replace it
    return app


def _operations(app: FastAPI) -> Iterator[Any]:
    """Every operation; a mounted application has none of its own, and is then asked for as an unknown path."""
    for route in app.routes:
        routes = route.original_router.routes if hasattr(route, "original_router") else [route]
        yield from (one for one in routes if hasattr(one, "path_regex") and hasattr(one, "methods"))


async def _invalid_parameters(request: Request, error: Any) -> Response:
    faults = parameter_faults(error.errors())
    first = f"{faults[0]['pointer']}: {faults[0]['message']}" if faults else ""
    return problem_response(Refusal("invalid-input", first, faults), request.scope["request_id"])


async def _refused_by_router(request: Request, error: Any) -> Response:
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() in ("allow", "retry-after")}
    return problem_response(refusal_of_status(error.status_code, headers), request.scope["request_id"])


def bare_app() -> FastAPI:
    """The application without anything behind it: enough to describe itself."""

    return create_app(
        Context(clock=lambda: datetime.now(UTC), market=lambda: None, engine=make_engine("sqlite://"), metrics=Metrics())
    )
