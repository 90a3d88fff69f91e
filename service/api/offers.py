"""GET /offers: what the market sells now, filtered, ordered, page by page."""

from dataclasses import replace
from typing import Annotated

from fastapi import Header, Query
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from service.api.context import context_of
from service.api.paging import cursor_for, digest_of, is_known_to_client, next_link, place_of
from service.api.routing import operation, router_of
from service.domain.offers import OfferPage, OffersQuery
from service.flows.offers import list_offers

router = router_of("prices")
_PAGE = TypeAdapter(OfferPage)
_PROBLEMS = ("invalid-cursor", "unknown-gpu", "no-prices")


@router.get(
    "/offers",
    response_model=OfferPage,
    **operation(
        "listOffers",
        "List offers",
        problems=_PROBLEMS,
        also={304: {"description": "Unchanged since the answer that If-None-Match names"}},
    ),
)
def get_offers(
    request: Request,
    query: Annotated[OffersQuery, Query()],
    if_none_match: Annotated[str | None, Header(max_length=1000, description="an ETag of an earlier answer")] = None,
) -> Response:
    """Every offer that meets all filters, cheapest per GPU first.

    The answer repeats the filters in force. All pages of a query come from one price snapshot: when prices change
    meanwhile, the cursor is refused and the listing begins again.
    """
    market = context_of(request).require_market()
    asked = query.model_dump(mode="json", exclude={"cursor"})
    binding = digest_of(market.snapshot_id, asked)
    start = place_of(query.cursor, binding, _row_number) if query.cursor is not None else 0
    seen = [(status.name, status.last_success_at, sorted(status.scopes.items())) for status in market.statuses]
    etag = f'"{digest_of(binding, seen, start)[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if is_known_to_client(etag, if_none_match):
        return Response(status_code=304, headers=headers)
    page = list_offers(market, query, start=start)
    if start + query.limit < page.total:
        cursor = cursor_for((start + query.limit).to_bytes(5, "big"), binding)
        page = replace(page, next_cursor=cursor)
        headers["Link"] = next_link(request, cursor)
    return Response(_PAGE.dump_json(page), media_type="application/json", headers=headers)


def _row_number(place: bytes) -> int:
    return int.from_bytes(place, "big")
