"""POST /breakeven: rent or own for one pool, with the curves for the charts."""

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.context import Context, context_of
from service.api.routing import operation, router_of
from service.domain.breakeven import Breakeven, BreakevenRequest
from service.flows.breakeven import make_breakeven

router = router_of("plan")
_PROBLEMS = ("unknown-model", "unknown-gpu", "no-prices")
_ANSWER = TypeAdapter(Breakeven)


@router.post(
    "/breakeven",
    response_model=Breakeven,
    **operation("makeBreakeven", "Rent or own for one pool", problems=_PROBLEMS, body=BreakevenRequest),
)
async def post_breakeven(request: Request) -> Response:
    """A pool against a cloud price, or against the cheapest offer that a plan request may use.

    Breakeven utilization, payback and present value over 10,000 draws, scenarios, the largest swings, how many GPUs to own
    beside rented ones where a demand is given, and both curves as data. A share of active engines alone leaves the decision
    open: a rented GPU bills the hours that a job holds it.
    """
    asked = await read_json(request, BreakevenRequest)
    answer = await run_in_threadpool(_answer, context_of(request), asked)  # 10,000 draws: tens of milliseconds
    return Response(_ANSWER.dump_json(answer), media_type="application/json", headers={"Cache-Control": "no-store"})


def _answer(context: Context, asked: BreakevenRequest) -> Breakeven:
    return make_breakeven(
        asked,
        context.require_market,
        now=context.clock(),
        pools=context.pools(),
        default_sensitivity=context.default_sensitivity,
    )
