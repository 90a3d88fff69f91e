"""GET /problems/{code}: what a problem means and what helps; the page that `type` of every problem points to."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel

from service.api.problems import KINDS, Refusal
from service.api.routing import operation, router_of

router = router_of("service")


class ProblemPage(BaseModel):
    """One problem type."""

    type: str
    code: str
    status: int
    title: str
    explained: str


Code = Annotated[str, Path(max_length=64, description="the `code` of a problem", examples=["unknown-gpu"])]


@router.get(
    "/problems/{code}", response_model=ProblemPage, **operation("getProblem", "Explain a problem", problems=["not-found"])
)
async def get_problem(code: Code) -> ProblemPage:
    """What the problem means, its HTTP status, and what helps."""
    kind = KINDS.get(code)
    if kind is None:
        raise Refusal("not-found", "No problem has this code")
    return ProblemPage(type=f"/problems/{code}", code=code, status=kind.status, title=kind.title, explained=kind.explained)
