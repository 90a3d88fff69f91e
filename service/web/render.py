"""Render: templates to pages, with the headers that let nothing run or load but our own assets."""

import secrets
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from service.reports.figure import Figure, Look, svg_of
from service.web.words import FILTERS

PROOF_COOKIE: Final = "gpuplan_form"
PROOF_FIELD: Final = "proof"
ASSETS: Final = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_NAVIGATION: Final = (
    ("/", "Plan"),
    ("/ui/prices", "Prices"),
    ("/ui/providers", "Providers"),
    ("/ui/reports", "Plans and reports"),
    ("/docs", "API"),
)


@cache
def asset(name: str) -> bytes:
    """A file that we serve with the pages."""
    return files("service.web").joinpath("static", name).read_bytes()


def asset_url(name: str) -> str:
    """Its address, which changes with its content: it may be kept for a year."""
    return f"/ui/static/{name}?v={sha256(asset(name)).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("service.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(FILTERS)
    made.globals.update(asset_url=asset_url, navigation=_NAVIGATION, proof_field=PROOF_FIELD, picture=picture)
    return made


def picture(figure: Figure) -> Markup:
    """The SVG of a chart in the colours of the page's style sheet."""
    return Markup(svg_of(figure, Look.PAGE))  # noqa: S704 - drawn by us; every text in it is escaped by the renderer


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template. Every page carries the proof that forms which write must send back."""
    proof = request.cookies.get(PROOF_COOKIE) or secrets.token_urlsafe(24)
    html = _environment().get_template(template).render(path=request.url.path, proof=proof, **values)
    answer = HTMLResponse(html, status_code=status)
    answer.headers["Content-Security-Policy"] = _POLICY
    answer.headers["Cache-Control"] = "no-store"
    if request.cookies.get(PROOF_COOKIE) != proof:
        answer.set_cookie(PROOF_COOKIE, proof, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer
