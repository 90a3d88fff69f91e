"""Prices: what the market sells now, by filter, how the prices of a card moved, and how old each provider's are."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from providers.errors import InvalidInput
from providers.gpus import GPUS
from providers.offer import CapacityType
from service.domain.history import HistoryQuery
from service.domain.offers import OffersQuery
from service.flows.history import first_place, list_history
from service.flows.offers import list_offers
from service.reports.figure import Figure
from service.reports.market_charts import price_history
from service.reports.price_series import series_of
from service.web.context import WebContext, context_of
from service.web.render import page
from service.web.site import page_router

router = page_router()

PAGE: Final = 50
MOST: Final = 1000  # intervals that a chart is made of
SORTS: Final = {
    "usd_per_gpu_hour": "Price of a GPU, lowest first",
    "-usd_per_gpu_hour": "Price of a GPU, highest first",
    "usd_per_hour": "Price of the machine, lowest first",
    "-gpu_memory_gb": "Memory of a GPU, largest first",
}
SPANS: Final = {"7": "7 days", "30": "30 days", "90": "90 days"}
_FIELDS: Final = ("gpu", "provider", "country", "capacity_type", "max_usd_per_gpu_hour", "sort", "days", "start")


@dataclass(slots=True)
class _Filter:
    """What the page asks for, and what is wrong with it."""

    values: dict[str, str]
    faults: dict[str, str]
    query: OffersQuery | None

    @property
    def start(self) -> int:
        return int(self.values["start"]) if self.values["start"].isascii() and self.values["start"].isdigit() else 0


@router.get("/ui/prices")
def get_prices(request: Request) -> Response:
    """Offers that meet the filter, cheapest first, and the history of the card that it names."""
    context = context_of(request)
    market = context.require_market()
    chosen = _filter(request)
    found, figure, is_cut = None, None, False
    if chosen.query is not None:
        try:
            found = list_offers(market, chosen.query, start=chosen.start)
            if chosen.query.gpu:
                figure, is_cut = _history(context, chosen)
        except InvalidInput as error:
            near = f" Nearest: {', '.join(map(str, error.allowed[:5]))}." if error.allowed else ""
            chosen.faults[error.pointer.strip("/").partition("/")[0]] = f"{error}.{near}"
    total = found.total if found is not None else 0
    return page(
        request,
        "prices.html",
        chosen=chosen,
        found=found,
        figure=figure,
        is_cut=is_cut,
        cards=sorted(GPUS),
        providers=sorted({word for feed in market.feeds for word in feed.words["provider"]}),
        capacity_types=[kind.value for kind in CapacityType],
        sorts=SORTS,
        spans=SPANS,
        statuses=context.statuses(),
        now=context.clock(),
        earlier=_link(chosen, max(0, chosen.start - PAGE)) if chosen.start else None,
        later=_link(chosen, chosen.start + PAGE) if chosen.start + PAGE < total else None,
    )


def _filter(request: Request) -> _Filter:
    values = {name: request.query_params.get(name, "").strip()[:200] for name in _FIELDS}
    values["sort"], values["days"] = values["sort"] or "usd_per_gpu_hour", values["days"] or "30"
    asked: dict[str, Any] = {"limit": str(PAGE), "sort": values["sort"]}
    for name in ("gpu", "provider", "capacity_type", "country"):
        if values[name]:
            asked[name] = [values[name].upper() if name == "country" else values[name]]
    if values["max_usd_per_gpu_hour"]:
        asked["max_usd_per_gpu_hour"] = values["max_usd_per_gpu_hour"]
    faults = {} if values["days"] in SPANS else {"days": "Choose one of the list."}
    try:
        query = OffersQuery.model_validate(asked)
    except ValidationError as error:
        faults |= {
            str(one["loc"][0]): _advice(str(one["loc"][0])) for one in error.errors(include_url=False, include_input=False)
        }
        return _Filter(values, faults, None)
    return _Filter(values, faults, None if faults else query)


def _advice(name: str) -> str:
    return {
        "country": "Write the two letters of a country, as DE.",
        "max_usd_per_gpu_hour": "Write a plain number, as 2.5.",
    }.get(name, "Choose one of the list.")


def _history(context: WebContext, chosen: _Filter) -> tuple[Figure | None, bool]:
    """The chart; None where nothing is stored. True when there is more than a chart takes."""
    now = context.clock()
    query = HistoryQuery.model_validate(
        {
            "gpu": [chosen.values["gpu"]],
            "provider": [chosen.values["provider"]] if chosen.values["provider"] else [],
            "from": f"{now - timedelta(days=int(chosen.values['days'])):%Y-%m-%dT%H:%M:%SZ}",
            "limit": str(MOST),
        }
    )
    place = first_place(query, now)
    found, more = list_history(context.engine, query, place)
    if not found.intervals:
        return None, False
    series = series_of(chosen.values["gpu"], found.intervals, since=place.since, until=place.until)
    return (price_history(series) if series.spot or series.on_demand else None), more is not None


def _link(chosen: _Filter, start: int) -> str:
    kept = {name: value for name, value in chosen.values.items() if value and name != "start"}
    return f"/ui/prices?{urlencode({**kept, 'start': str(start)})}"
