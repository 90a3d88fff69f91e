"""GET /healthz, /readyz and /metrics: is the process alive, can it answer, what has it done."""

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from service.api.context import context_of
from service.api.problems import Refusal
from service.api.routing import operation, router_of
from service.flows.readiness import backlog, database_answers
from service.metrics import CONTENT_TYPE

router = router_of("service")


@dataclass(frozen=True, slots=True)
class Health:
    """The process answers."""

    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What plans are made from. `degraded`: it answers, but prices of `stale` are older than three refreshes."""

    status: str  # ready or degraded
    offers: int
    prices_as_of: datetime | None
    stale: tuple[str, ...]


@router.get("/healthz", response_model=Health, **operation("getHealth", "Is the process alive"))
async def get_health() -> Health:
    """Answers as long as the process runs, whatever the state of database and providers: for a liveness probe."""
    return Health("ok")


@router.get(
    "/readyz", response_model=Readiness, **operation("getReadiness", "Can it answer", problems=["no-prices", "unavailable"])
)
def get_readiness(request: Request) -> Readiness:
    """Answers 200 when the database answers and there are prices, and says which providers are stale; else 503."""
    context = context_of(request)
    if not database_answers(context.engine):
        raise Refusal("unavailable", "The database does not answer", headers={"Retry-After": "5"})
    market = context.require_market()
    now = context.clock()
    stale = tuple(one.name for one in context.statuses() if one.enabled and one.state != "needs_key" and one.is_stale(now))
    status = "degraded" if stale else "ready"
    return Readiness(status=status, offers=market.offers, prices_as_of=market.as_of, stale=stale)


@router.get("/metrics", response_class=PlainTextResponse, **operation("getMetrics", "Count what the service has done"))
def get_metrics(request: Request) -> PlainTextResponse:
    """Counters of the service in the text form of Prometheus."""
    context = context_of(request)
    found = backlog(context.engine, context.clock())
    context.metrics.database(None if found is None else found.jobs, is_led=found is not None and found.is_led)
    return PlainTextResponse(context.metrics.render(context.market(), context.clock()), media_type=CONTENT_TYPE)
