"""GET /plans/{plan_id}/launch: a ready file or command for one option of a plan."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from service.api.context import context_of
from service.api.problems import Refusal
from service.api.routing import operation, router_of
from service.domain.offers import Whole
from service.domain.watch import PlanId
from service.flows.launch import Launch, LaunchFormat, launch

router = router_of("plan")
_LAUNCH = TypeAdapter(Launch)


class LaunchQuery(BaseModel):
    """Which option, and what for."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    option: Annotated[Whole, Field(ge=1, le=200)] = Field(default=1, description="the option's rank in the plan")
    format: LaunchFormat = Field(description="what starts it", examples=["torchrun"])


@router.get(
    "/plans/{plan_id}/launch",
    response_model=Launch,
    **operation("getLaunch", "Launch an option of a plan", problems=["not-found"]),
)
def get_launch(
    request: Request,
    plan_id: Annotated[
        PlanId, Path(description="of a stored plan, or of an answer of the last 24 hours", examples=["0e05709e57422fcc"])
    ],
    query: Annotated[LaunchQuery, Query()],
) -> Response:
    """Process counts, sharding and batch as the plan counted on them, pinned to its provider, region, card and kind.

    What stands in angle brackets is to be filled in. `notes` say what saves GPU-hours.
    """
    plan = context_of(request).require_chat().world.find(plan_id)
    if plan is None:
        raise Refusal("not-found", "No stored plan and no plan of the last 24 hours has this id")
    found = launch(plan, option=query.option, form=query.format)
    return Response(_LAUNCH.dump_json(found), media_type="application/json", headers={"Cache-Control": "no-store"})
