"""GET /prices/history: what was charged, as intervals of time."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from service.api.context import context_of
from service.api.paging import cursor_for, digest_of, next_link, place_of
from service.api.routing import operation, router_of
from service.domain.history import HistoryPage, HistoryQuery, utc
from service.flows.history import Place, first_place, list_history

router = router_of("prices")
_PAGE = TypeAdapter(HistoryPage)


@router.get(
    "/prices/history",
    response_model=HistoryPage,
    **operation("listPriceHistory", "List past prices", problems=["invalid-cursor", "unknown-gpu", "unavailable"]),
)
def get_history(request: Request, query: Annotated[HistoryQuery, Query()]) -> Response:
    """Every interval in which an offer of these cards had one price, oldest first, where it overlaps the time asked for.

    A price that still holds has no `valid_to`. History grows with changes, not with refreshes.
    """
    context = context_of(request)
    binding = digest_of(query.model_dump(mode="json", exclude={"cursor"}))
    place = first_place(query, context.clock()) if query.cursor is None else place_of(query.cursor, binding, _place)
    page, more = list_history(context.engine, query, place)
    headers = {"Cache-Control": "private, no-cache"}
    if more is not None:
        cursor = cursor_for(_packed(more), binding)
        page = replace(page, next_cursor=cursor)
        headers["Link"] = next_link(request, cursor)
    return Response(_PAGE.dump_json(page), media_type="application/json", headers=headers)


def _packed(place: Place) -> bytes:
    moment, feed, offer_id = place.after or (place.since, "", "")
    return json.dumps([place.since.isoformat(), place.until.isoformat(), moment.isoformat(), feed, offer_id]).encode()


def _place(packed: bytes) -> Place:
    since, until, moment, feed, offer_id = json.loads(packed)
    return Place(_moment(since), _moment(until), (_moment(moment), str(feed), str(offer_id)))


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("an instant without its offset")
    return utc(moment)
