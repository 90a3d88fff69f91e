"""The OpenAPI document: what FastAPI makes of the routes, with request bodies, problems and nothing of its own defaults."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter

from service.api.problems import Problem
from service.api.scopes import SECURITY_SCHEMES, security_of
from service.domain.acceptance import Acceptance
from service.domain.breakeven import BreakevenRequest
from service.domain.chat import ChatRequest
from service.domain.estimation import EstimateRequest
from service.domain.report import ReportRequest
from service.domain.request import OnPremPool, PlanRequest
from service.domain.saved import PlanStateChange, ShareRequest
from service.domain.watch import WatchRequest

REF: Final = "#/components/schemas/{model}"
BODIES: Final[tuple[type[BaseModel], ...]] = (
    PlanRequest, EstimateRequest, BreakevenRequest, OnPremPool, Acceptance, ChatRequest, WatchRequest, PlanStateChange,
    ShareRequest, ReportRequest,
)  # fmt: skip
TAGS: Final = {
    "plan": "Where is it cheapest to run, and why.",
    "plans": "Plans that are kept: compared, approved, shared.",
    "reports": "Budget reviews over plans, as documents.",
    "prices": "What the market sells, now and before.",
    "tables": "The GPUs and models that are known.",
    "providers": "Where prices come from and how old they are.",
    "on-prem": "Your own hardware.",
    "acceptances": "Documents on file that admit a provider's tier.",
    "chat": "The same answers to one line of text.",
    "watches": "Be told when prices or verdicts change.",
    "service": "The service itself.",
}
_NOT_OURS: Final = ("HTTPValidationError", "ValidationError")


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """The document of `app`, built once."""
    if app.openapi_schema is None:
        app.openapi_schema = _build(app)
    return app.openapi_schema


def _build(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        license_info={"name": "MIT", "identifier": "MIT"},
        tags=[{"name": name, "description": words} for name, words in TAGS.items()],
        servers=[{"url": "/", "description": "this service"}],
        separate_input_output_schemas=True,  # no type is both asked and answered under one name: see _own_schemas
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in _NOT_OURS:
        schemas.pop(name, None)
    schemas.update(_own_schemas())
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    document["components"]["securitySchemes"] = SECURITY_SCHEMES
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["security"] = security_of(method.upper(), path)
            if not operation["security"]:
                for status in ("401", "403"):
                    operation["responses"].pop(status, None)
            refused = operation["responses"].get("422", {}).get("content", {})
            refused.pop("application/json", None)  # FastAPI's own shape
            _add_examples(operation, examples().get(operation["operationId"], {}))
    return document


def _add_examples(operation: dict[str, Any], example: dict[str, Any]) -> None:
    if "request" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None and "answer" in example:
            content["example"] = example["answer"]


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Example request and answer per operation: recorded from the app itself, compared by a test."""
    found: dict[str, dict[str, Any]] = json.loads(files("service.api").joinpath("examples.json").read_text(encoding="utf-8"))
    return found


def _own_schemas() -> dict[str, Any]:
    """Schemas of all bodies and of Problem, made in one pass so that a shared part has one name."""
    asked = [(model.__name__, "validation", TypeAdapter(model)) for model in BODIES]
    told = (Problem.__name__, "serialization", TypeAdapter(Problem))
    _, made = TypeAdapter.json_schemas([*asked, told], by_alias=True, ref_template=REF)  # type: ignore[list-item]  # mode is a Literal, a tuple display widens it
    definitions: dict[str, Any] = made["$defs"]
    return definitions
