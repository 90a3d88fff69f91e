"""POST /estimate: memory and hours of a workload, card by card."""

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from service.api.body import read_json
from service.api.context import context_of
from service.api.model_names import with_model
from service.api.routing import operation, router_of
from service.domain.estimation import EstimateAnswer, EstimateRequest
from service.flows.estimate import make_estimate

router = router_of("plan")
_PROBLEMS = ("unknown-model", "unknown-gpu", "provider-error")  # the last: a repository's configuration was not to be had
_ANSWER = TypeAdapter(EstimateAnswer)


@router.post(
    "/estimate",
    response_model=EstimateAnswer,
    **operation("estimateWorkload", "Estimate memory and hours", problems=_PROBLEMS, body=EstimateRequest),
)
async def post_estimate(request: Request) -> Response:
    """VRAM by part and strategy, and what runs on which card for how many hours, before any price.

    Hours are told when the amount of work is (`tokens`, or `examples` with `mean_tokens`), as a range.
    """
    context = context_of(request)
    asked = await with_model(await read_json(request, EstimateRequest), context)
    answer = await run_in_threadpool(make_estimate, asked, context.calibration)  # every card and count: tens of milliseconds
    return Response(_ANSWER.dump_json(answer), media_type="application/json")
