"""GET /docs: all operations on one page, made here: no script, no outside asset, readable in any browser."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

router = APIRouter(include_in_schema=False)

STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid; padding-bottom: .25rem; }
h3 code { font-size: 1rem; }
pre { overflow: auto; padding: .75rem; border: 1px solid; border-radius: .25rem; font-size: .85rem; max-height: 28rem; }
table { border-collapse: collapse; font-size: .9rem; }
td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }
nav li { margin: .15rem 0; }
"""
_CSP: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_MAX_EXAMPLE: Final = 6000  # characters of an answer that the page shows


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """The page."""
    base = str(request.base_url).rstrip("/")
    page = page_of(request.app, base)
    return HTMLResponse(page, headers={"Content-Security-Policy": _CSP, "Cache-Control": "no-cache"})


@router.get("/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    """The document that the page is made of."""
    return JSONResponse(request.app.openapi(), headers={"Cache-Control": "no-cache"})


def page_of(app: FastAPI, base: str) -> str:
    """The whole page. `base` stands in the curl commands."""
    document = app.openapi()
    operations = [
        (method, path, one) for path, methods in document["paths"].items() for method, one in methods.items() if "summary" in one
    ]
    links = "".join(
        f'<li><a href="#{escape(one["operationId"])}"><code>{method.upper()} {escape(path)}</code></a> '
        f"{escape(one['summary'])}</li>"
        for method, path, one in operations
    )
    sections = "".join(_section(method, path, one, base) for method, path, one in operations)
    title = escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title} {escape(document['info']['version'])}</h1>"
        f"<p>{escape(document['info']['description'])}</p>"
        f'<p>The same for machines: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>'
        f"<nav><ul>{links}</ul></nav><main>{sections}</main></body></html>"
    )


def curl_of(method: str, path: str, operation: dict[str, Any], base: str) -> str:
    """A command that can be pasted into a shell."""
    values = {one["name"]: _example_of(one) for one in operation.get("parameters", [])}
    for name, value in values.items():
        path = path.replace("{" + name + "}", str(value))
    verb = "" if method == "get" else f" -X {method.upper()}"
    for one in operation.get("parameters", []):
        if one["in"] == "header" and one["schema"].get("examples"):
            verb += f" -H '{one['name']}: {_example_of(one)}'"
    required = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query" and one.get("required")]
    if required:
        path += "?" + "&".join(f"{name}={values[name]}" for name in required)
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if "example" not in content:
        return f"curl -s{verb} '{base}{path}'"
    body = json.dumps(content["example"]).replace("'", "'\\''")
    return f"curl -s{verb} '{base}{path}' -H 'Content-Type: application/json' -d '{body}'"


def _example_of(parameter: dict[str, Any]) -> Any:
    found = parameter.get("schema", {}).get("examples") or [parameter["name"]]
    return found[0]


def _section(method: str, path: str, operation: dict[str, Any], base: str) -> str:
    answers = [one for status, one in operation["responses"].items() if status.startswith("2")]
    example = answers[0].get("content", {}).get("application/json", {}).get("example") if answers else None
    parameters = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{escape(one.get('description') or one.get('schema', {}).get('description') or '')}</td></tr>"
        for one in operation.get("parameters", [])
    )
    problems = "".join(
        f"<tr><td>{escape(status)}</td><td>{escape(one['description'])}</td></tr>"
        for status, one in operation["responses"].items()
        if not status.startswith("2")
    )
    shown = "" if example is None else json.dumps(example, indent=1)
    cut = shown if len(shown) <= _MAX_EXAMPLE else shown[:_MAX_EXAMPLE] + "\n... (cut here; openapi.json has the whole)"
    return (
        f'<section id="{escape(operation["operationId"])}"><h2>{escape(operation["summary"])}</h2>'
        f"<h3><code>{method.upper()} {escape(path)}</code></h3><p>{escape(operation.get('description', ''))}</p>"
        + (f"<table><tr><th>parameter</th><th>in</th><th>what</th></tr>{parameters}</table>" if parameters else "")
        + f"<pre>{escape(curl_of(method, path, operation, base))}</pre>"
        + (f"<details><summary>Example answer</summary><pre>{escape(cut)}</pre></details>" if example is not None else "")
        + f"<details><summary>Problems</summary><table>{problems}</table></details></section>"
    )
