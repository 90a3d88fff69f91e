"""Site: adds the pages and their assets to the application; errors of a page are pages too."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.requests import Request
from starlette.responses import Response

from providers.errors import InvalidInput, OptimizerError
from service.web.context import WebContext
from service.web.refusals import PageRefusal
from service.web.render import ASSETS, asset, page


class PageRoute(APIRoute):
    """A route whose refusals are pages. What nobody foresaw goes on to the outermost layer, which logs it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await answer(request)
            except PageRefusal as refusal:
                return _refused(request, refusal)
            except InvalidInput as error:
                return _refused(request, PageRefusal(422, "A value is refused", str(error)))
            except OptimizerError as error:
                if not error.code.startswith("unknown-") and not error.code.endswith("-conflict"):
                    raise
                status = 404 if error.code.startswith("unknown-") else 409
                return _refused(
                    request, PageRefusal(status, "Nothing is here" if status == 404 else "Not possible now", _told(error))
                )
            except (OperationalError, InterfaceError):
                detail = "The database does not answer. Try again in a few seconds."
                return _refused(request, PageRefusal(503, "Not available now", detail))

        return shown


ROUTER_ARGUMENTS: Final[dict[str, Any]] = {"include_in_schema": False, "route_class": PageRoute}


def page_router() -> APIRouter:
    """A router of pages: not part of the API's document."""
    return APIRouter(**ROUTER_ARGUMENTS)


_assets = page_router()


@_assets.get("/ui/static/{name}")
async def get_asset(name: str) -> Response:
    """A style sheet, script or picture of ours."""
    if name not in ASSETS:
        raise PageRefusal(404, "Nothing is here", "No asset has this name.")
    return Response(asset(name), media_type=ASSETS[name], headers={"Cache-Control": "public, max-age=31536000, immutable"})


def add_pages(app: FastAPI, context: WebContext) -> None:
    """Adds every page to an application that has the REST doors already."""
    from service.web import plan_pages, prices, providers, reports, saved

    app.state.web = context
    for router in (_assets, plan_pages.router, saved.router, prices.router, providers.router, reports.router):
        app.include_router(router)


def _refused(request: Request, refusal: PageRefusal) -> Response:
    return page(request, "refusal.html", status=refusal.status, title=refusal.title, detail=refusal.detail, link=refusal.link)


def _told(error: OptimizerError) -> str:
    if error.code == "unknown-plan":
        return "No saved plan has this id. A plan is kept only when it is saved."
    return str(error) if error.code.endswith("-conflict") else "It is not known, or it is no longer kept."
